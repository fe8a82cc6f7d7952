"""What is seen below autograd of PyTorch's own samples of every function, here and in the real torch: python
tools/dispatched.py --oracle PYTHON [--only NAME]

Compared are the operators that a dispatch mode sees forward and backward, in their order but for detach(), and the
names of the nodes that are left behind. The samples are those of the OpInfos in float32, up to five of each, with
gradients. Run by the Python that has mindtorch_proxy.
"""

import argparse
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path

_TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:1] = [
    str(_TESTS / "oracle"),
    str(_TESTS / "differential"),
]  # in place of this folder, which has a coverage.py of its own
PARTS = ("forward", "nodes", "backward")
SECONDS = 20  # for one sample


def draw(file):
    """In the real torch: write the samples as plain data."""
    import torch
    from samples import encode
    from torch.testing._internal.common_methods_invocations import op_db

    found = []
    for info in op_db:
        if torch.float32 not in info.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        drawn = list(islice(info.sample_inputs("cpu", torch.float32, requires_grad=info.supports_autograd), 30))
        for s in drawn[:3] + drawn[len(drawn) // 2 : len(drawn) // 2 + 1] + drawn[-1:]:
            try:
                found.append((info.name, encode(torch, (s.input, *s.args)), encode(torch, s.kwargs)))
            except TypeError:
                continue  # a function, a sparse tensor
    Path(file).write_bytes(pickle.dumps(found))


def look(samples, file):
    """In either torch: write, for each sample, its three parts, or the error's type."""
    import torch
    from cases.dispatched import Seen, graph
    from samples import decode, resolve, tensors

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    found = []
    for name, args, kwargs in pickle.loads(Path(samples).read_bytes()):
        signal.alarm(SECONDS)
        try:
            torch.manual_seed(0)
            args, kwargs = decode(torch, args), decode(torch, kwargs)
            with Seen() as forward:
                results = [*tensors(torch, resolve(torch, name)(*args, **kwargs))]
            parts = [forward.names, graph(results), []]
            results, inputs = (
                [t for t in results if t.requires_grad],
                [t for t in tensors(torch, [args, kwargs]) if t.requires_grad],
            )
            if results:
                gradients = [torch.ones_like(t) for t in results]
                with Seen() as backward:
                    torch.autograd.grad(results, inputs, gradients, allow_unused=True)
                parts[2] = backward.names
            found.append((name, parts))
        except Exception as e:  # an error is a result
            found.append((name, type(e).__name__))
        finally:
            signal.alarm(0)
    Path(file).write_bytes(pickle.dumps(found))


def compare(ours, theirs):
    counts, differing = Counter(), {part: defaultdict(list) for part in PARTS}
    for (name, here), (_, there) in zip(ours, theirs):
        if isinstance(there, str):
            continue
        counts["samples"] += 1
        if isinstance(here, str):
            print(f"{name}: {here}, PyTorch has a result")
            counts["errors"] += 1
            continue
        for part, a, b in zip(PARTS, here, there):
            counts[part] += a == b
            if a != b:
                differing[part][name].append((a, b))
    for part, names in differing.items():
        print(f"\n{part}: {counts[part]} of {counts['samples']} samples as in PyTorch; others:")
        for name, pairs in sorted(names.items()):
            a, b = pairs[0]
            print(f"  {name} ({len(pairs)})\n    here     {' '.join(a)}\n    PyTorch  {' '.join(b)}")
    print(
        f"\n{counts['samples']} samples: "
        + ", ".join(f"{part} {counts[part]}" for part in PARTS)
        + f"; {counts['errors']} errors"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oracle", required=True, metavar="PYTHON", help="a Python with the real torch")
    parser.add_argument("--only", metavar="NAME", help="functions whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        samples, ours, theirs = (str(Path(folder) / name) for name in ("samples", "ours", "theirs"))
        subprocess.run([options.oracle, __file__, "draw", samples], check=True)
        if options.only:
            kept = [s for s in pickle.loads(Path(samples).read_bytes()) if options.only in s[0]]
            Path(samples).write_bytes(pickle.dumps(kept))
        running = subprocess.Popen([options.oracle, __file__, "look", samples, theirs])
        subprocess.run([sys.executable, "-m", "mindtorch_proxy", __file__, "look", samples, ours], check=True)
        if running.wait():
            raise SystemExit("the oracle failed")
        compare(*(pickle.loads(Path(file).read_bytes()) for file in (ours, theirs)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["draw"]:
        draw(sys.argv[2])
    elif sys.argv[1:2] == ["look"]:
        look(*sys.argv[2:])
    else:
        main()
