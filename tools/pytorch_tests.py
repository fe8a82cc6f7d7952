"""Writes docs/pytorch-tests.md from what the runner of PyTorch's own test files found.

    python tools/pytorch_tests.py "TREE, at most N tests a file=RUN.json" ...

RUN.json: of a run with `--json`: for each file how many tests the real torch passes, how many pass here, and the
message of each that does not.
Of a file that several runs have, the last one counts; of files that none has, the page keeps what it says.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "pytorch-tests.md"

HEAD = """# PyTorch's own test files

Unmodified test files of PyTorch were run on the real torch 2.13 and on this package, on the same machine and under
PyTorch's own harness (`torch.testing._internal` of its wheel). Only tests that the real torch passes are counted. The
test files are from April 2023 (pt), and from August 2026 with changes for NPUs, but run on the CPU (npu). If a file has
more tests than the stated number, a sample is run, which has the same tests each time. Processes that a test of
distributed/ spawns get the same harness as their parent.
`python tools/pytorch_tests.py` wrote this page from the results of the runner.

| file | source and sample | real torch passes | pass here | | causes of the others |
|---|---|---|---|---|---|
"""
# the first pattern that a failure's message or name has says why it fails
CAUSES = [
    ("a builtin function asked for", r"doesn't work on Python functions"),
    ("functions expected to be untraceable, or in C", r"TestFunctionalTracing"),
    ("quantized tensors", r"quanti[sz]e|affine_quantized|Q(U)?Int\d|qint|is_quantized|qconfig"),
    ("named tensors", r"[Nn]amed tensors|\bnames\b"),
    ("MKL-DNN layouts", r"mkldnn|MKL-DNN"),
    ("tests that need MKL", r"without MKL support"),
    ("a time limit on the busy machine", r"Timeout|not reached|ended before it|took the process with it"),
    ("`torch.jit` scripts", r"_jit|script|RuntimeError not raised.*jit"),
    ("the profiler's internals", r"kineto|profiler"),
    (
        "PyTorch's internals",
        r"_convolution_double_backward|convolution_backward|will_engine|'(cloned|tid_to_weakhandle)'",
    ),
    ("the harness's gradcheck, another class than the tests ask for", r"torch\.autograd\._judge"),
    (
        "PyTorch's internals",
        r"has no attribute "
        r"'_|_C\._|'(_resize_|slow_conv3d|unique_dim)'|AutogradMultipleDispatch|load_inline|_calculate_shape|Resize\.apply",
    ),
    (
        "PyTorch's internals",
        r"(compare_tensor_meta|_broadcast_shapes|dtype_to_type|assert_metadata_eq|corresponding_complex_dtype) is "
        r"absent",
    ),
    (
        "parts of `torch.fx` that no library uses",
        r"(TensorType|RewritingTracer|CSEPass) is absent|TestCommonPass::.*CSEPass",
    ),
    ("vmap over operations that it cannot batch", r"vmap|Batched"),
]


def cause(test, message):
    """The name of the cause of one failure, or the head of its message."""
    for name, pattern in CAUSES:
        if re.search(pattern, f"{test} {message}"):
            return name
    return "others"


def row(file, where, found):
    missed = found.get("missed", {})
    left = Counter(cause(test, " ".join(why)) for test, why in missed.items())
    share = 100 * found["ours"] / max(found["real"], 1)
    said = ", ".join(f"{n} {name}" for name, n in left.most_common())
    return f"| {file} | {where} | {found['real']} | {found['ours']} | {share:.0f} % | {said} |"


def kept():
    """(file -> its row, file -> its lines among the others) of the page as it is."""
    rows, others = {}, {}
    for line in PAGE.read_text().splitlines():
        if found := re.match(r"\| ([\w/]+\.py) \|", line):
            rows[found[1]] = line
        elif found := re.match(r"- ([\w/]+\.py): ", line):
            others.setdefault(found[1], []).append(line)
    return rows, others


def main(*runs):
    rows, others = kept()
    for run in runs:
        where, _, path = run.rpartition("=")
        with open(path) as f:
            files = {name: found for name, found in json.load(f).items() if "ours" in found}
        for name, found in files.items():
            rows[name] = row(name, where, found)
            left = {test: " ".join(why) for test, why in found.get("missed", {}).items()}
            others[name] = [
                f"- {name}: `{test}`: {why.splitlines()[0][:160]}"
                for test, why in left.items()
                if cause(test, why) == "others"
            ]
    counts = [[int(n) for n in line.split("|")[3:5]] for line in rows.values()]
    real, ours = map(sum, zip(*counts))
    lines = [
        *(rows[name] for name in sorted(rows)),
        "",
        f"{ours} of {real} tests ({100 * ours / max(real, 1):.1f} %).",
        "",
        "## The others",
        "",
    ]
    PAGE.write_text(HEAD + "\n".join([*lines, *(line for name in sorted(others) for line in others[name])]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
