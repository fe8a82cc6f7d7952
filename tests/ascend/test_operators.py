"""Every operator on the emulated NPU beside the CPU, on samples of PyTorch's OpInfos: forward, gradients, in-place,
out=.
"""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import mindspore
import pytest
from names import NAMES
from npu_results import PROPERTY, share

from mindtorch_proxy.backends.ascend import bindings, table

PARTS = 12
RUNNER = Path(__file__).resolve().parent / "run_samples.py"
# operators of which some sample differs, and why; one that differs no longer fails the test
DIFFERS = {
    "digamma": "gradients of a bfloat16 argument beside a pole",
    "special.digamma": "as digamma",
    "special.psi": "as digamma",
    "special.airy_ai": "below -10 PyTorch rounds the phase to float32",
    "linalg.matrix_exp": "gradients of up to 4,000 beside ones of 1, in float32",
    "matrix_exp": "as linalg.matrix_exp",
    "logcumsumexp": "gradients are quotients of exponentials, in float32",
    "native_layer_norm": "the gradient of one element's weight, a difference of equal numbers",
    "nn.functional.interpolate": "uint8: PyTorch's weights are integers of their own width",
    "nn.functional.upsample_bilinear": "as nn.functional.interpolate",
}


# primitives that no sample reaches, and why
NOT_COMPARED = {
    **dict.fromkeys(
        (
            "FlashAttentionScore FlashAttentionScoreGrad ReplicationPad3D ReplicationPad3DGrad RotaryPositionEmbedding "
            "Swiglu SwigluGrad"
        ).split(),
        "in test_fused.py, by value",
    ),
    **dict.fromkeys(("DropoutExt", "DropoutGradExt"), "in test_random.py: they draw on the device alone"),
}
SIGNATURES = Path(__file__).resolve().parent / "emulator" / "signatures.py"


FEW = 8  # samples of an operator that every run compares, spread over all of them; every night all are compared


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.nightly)], ids=["few", "all"])
def test_operators_on_npu(few, part, oracle, npu, tmp_path, tmp_path_factory, record_property):
    names = []
    for name in NAMES[part::PARTS]:
        found = oracle("samples", name, tmp_path, "samples")()
        if found:
            names.append(name)
            given = [sample for sample, _ in found]
            (tmp_path / f"{name}.pkl").write_bytes(pickle.dumps(given[:: -(-len(given) // FEW)] if few else given))
    # launches that wait take a quarter less here, where every result is read at once; every night both are run
    blocking = os.environ.get("ASCEND_LAUNCH_BLOCKING", "1")
    report = tmp_path / "report"
    npu(
        RUNNER,
        tmp_path,
        tmp_path / "out",
        *names,
        timeout=290,
        EMULATED_CANN_REPORT=report,
        ASCEND_LAUNCH_BLOCKING=blocking,
    )
    rows = {row["name"]: row for row in map(json.loads, (tmp_path / "out").read_text().splitlines())}
    assert rows.keys() == set(names)
    called = map(json.loads, report.read_text().splitlines())
    ran, computed = (
        {p for row in rows.values() for p in row["primitives"]},
        {c["function"] for c in called if c["calls"] > c["failed"]},
    )
    problems, refused = [], set()
    results = Counter(kind for row in rows.values() for kind in kinds(row))
    record_property(PROPERTY, dict(results))
    for name, row in rows.items():
        differing = [why for why in row["why"] if why[0] == "differs"]
        if differing and name not in DIFFERS or name in DIFFERS and not (differing or few):
            problems.append(f"{name}: {differing[0][1:] if differing else 'no longer differs: take it off the list'}")
        refused |= {why[1] for why in row["why"] if why[0] == "refused"}
    unexplained = {r for r in refused if not explained(r)}
    assert not problems and not unexplained, "\n".join([*problems, *sorted(unexplained)])
    done = tmp_path_factory.getbasetemp()
    done = done.parent if "PYTEST_XDIST_WORKER" in os.environ else done  # which workers share
    (done / f"npu-{few}-{part}").write_text(json.dumps([sorted(ran), sorted(computed), results]))
    parts = [json.loads(file.read_text()) for file in done.glob(f"npu-{few}-*[0-9]")]
    if len(parts) == PARTS:  # whoever comes last
        if not few:
            sets = list(zip(*parts, strict=True))[:2]
            every_bound_function_was_compared_by_value(*(set().union(*found) for found in sets))
        assert share(sum((Counter(counts) for *_, counts in parts), Counter())) >= 0.99


def by_dtype(refusal):
    """Whether a refusal is by the dtypes that CANN states for a function, or by one that no aclnn function computes
    in.
    """
    return "CANN states no" in refusal or "is not supported on device npu: " in refusal


def explained(refusal):
    """Whether a refusal is by a dtype, or by a view that this MindSpore lacks."""
    return by_dtype(refusal) or refusal.startswith("view(dtype)")


def kinds(row):
    """What became of each result of an operator's samples."""
    refused = [by_dtype(what) for kind, what, *_ in row["why"] if kind == "refused"]
    return (
        ["equal"] * row["equal"]
        + ["differs"] * row["differs"]
        + ["refused by dtype" if dtype else "refused otherwise" for dtype in refused]
    )


def every_bound_function_was_compared_by_value(ran, called):
    """Each primitive that the table binds ran for equal results, or the aclnn functions that it reaches were
    computed.
    """
    listed = subprocess.run(
        [sys.executable, SIGNATURES, mindspore.__path__[0], "--primitives"], capture_output=True, text=True, check=True
    ).stdout
    reaches = {name: set(functions) for name, *functions in (line.split("\t") for line in listed.splitlines())}
    bound = {p for p in table.bound() if bindings.exists(p)}
    assert len(bound) > 200
    assert {p for p in bound - ran if not reaches.get(p, set()) & called} == NOT_COMPARED.keys()
