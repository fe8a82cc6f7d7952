"""The samples of operators on npu beside cpu: python -m mindtorch_proxy run_samples.py FOLDER OUT NAME... (FOLDER holds
NAME.pkl, lists of samples).

A line of JSON for each operator: equal, refused (with reasons), and the others with what differs; the primitives that
ran for equal results.
"""

import json
import pickle
import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("oracle", "differential")]
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import samples  # noqa: E402
import torch  # noqa: E402
from comparing import by_dtype, differences, tidy  # noqa: E402
from run_cases import plain  # noqa: E402

from mindtorch_proxy.backends.ascend import BACKEND  # noqa: E402

TIES = {"kthvalue", "topk", "mode", "median", "nanmedian"}  # of equal values any position
# eigenvectors have a sign or a phase, eigenvalues of any matrix any order, bases of a space are many
MANY = {
    "linalg.eig",
    "linalg.eigvals",
    "linalg.eigh",
    "linalg.svd",
    "svd",
    "pca_lowrank",
    "svd_lowrank",
    "lobpcg",
    "geqrf",
    "linalg.lstsq",
    "symeig",
}
FREE = MANY | {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}  # memory as it was found


def tolerance(dtype, expected):
    rtol, atol = by_dtype(dtype, expected)
    if dtype == "float" or not rtol:
        return rtol, atol
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    return 4 * rtol, 4 * max(atol, rtol * largest)  # sums in another order, half types rounded at other places


def compare(name, sample):
    """{kind: None where equal, ("refused", why) or ("differs", what)} for forward, gradients, in-place and out=."""
    # layouts of gradients and what a node saves follow the kernels, which differ here
    here, there = (samples.run(torch, sample, plain, device=d, without=("layout", "saved")) for d in ("cpu", "npu"))
    found = {}
    for kind, expected in here.items():
        got = there[kind]
        if (
            isinstance(got, tuple)
            and got[:2] == ("raises", "NotImplementedError")
            and not (isinstance(expected, tuple) and expected[:2] == got[:2])
        ):
            found[kind] = "refused", got[2]
            continue
        how = {"values": name not in FREE, "strides": kind != "gradients"}
        pair = tidy(got, **how), tidy(expected, **how)
        if name in TIES and all(isinstance(x, list) and len(x) > 1 for x in pair):
            pair = pair[0][:1], pair[1][:1]
        lines = list(differences(*pair, kind, tolerance))
        found[kind] = ("differs", lines[0]) if lines else None
    return found


def main(folder, out, *names):
    with open(out, "a") as f:
        for name in names:
            started = time.perf_counter()
            row, before = (
                {"name": name, "equal": 0, "refused": 0, "differs": 0, "why": []},
                {plan: plan.calls for plan in BACKEND.plans},
            )
            for sample in pickle.loads(Path(folder, f"{name}.pkl").read_bytes()):
                for kind, result in compare(name, sample).items():
                    row[result[0] if result else "equal"] += 1
                    if result:
                        row["why"].append([*result, kind, sample["label"]])
            ran = {plan.primitive for plan in BACKEND.plans if plan.calls != before.get(plan, 0) and plan.primitive}
            row["primitives"] = sorted(ran) if row["equal"] and not row["differs"] else []
            row["seconds"] = round(time.perf_counter() - started, 2)
            f.write(json.dumps(row) + "\n")
            f.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
