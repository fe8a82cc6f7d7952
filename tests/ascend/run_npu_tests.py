"""torch_npu's own tests on the emulated NPU, and the table of them in docs/ascend.md.

    MINDTORCH_ORACLE_PYTHON=... PYTHON run_npu_tests.py CHECKOUT OUT [FOLDER...] [--page docs/ascend.md]

CHECKOUT: of github:Ascend/pytorch; FOLDERs and files in its `test`, by default nn, npu, custom_ops and
trans_contiguous. PYTHON: with this package, pytest and pytest-timeout. OUT takes a line of JSON for each test, and what
was printed; what stands there is not run again. Every folder has a process of its own, and another one behind a test
that ended it. --page: the table is written into that page. The last line tells how many of the tests pass that ask for
nothing which only torch_npu's own build has.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ["nn", "custom_ops", "npu", "trans_contiguous"]
PLUGINS = ["mindtorch_proxy", "npu_testing"]
# what only an NPU, or torch_npu's own build, has: files that are about nothing else. They are not run
INTERNALS = [
    (
        "captured graphs of kernels (`NPUGraph`)",
        r"npu/test_(aclgraph|aclnn_random_aclgraph|compile_aclgraph|graph_tree|npugraph)",
    ),
    (
        "the allocator's settings, segments, pools and records",
        r"npu/test_(allocator|custom_segment|expandable|large_segment|roundup|memory_viz|mempool|no_npu_memory)",
    ),
    (
        "the allocator's settings, segments, pools and records",
        r"npu/test_(multi_stream_lazy|per_process_memory|swapped_memory|pin_memory_host_register)",
    ),
    (
        "faults, repair, sanitizers and tracing of the runtime",
        r"npu/test_(fault_mode|recovery|uce|sanitizer|stream_check|kernel_check|mstx|emit_itt|ld_preload)",
    ),
    (
        "faults, repair, sanitizers and tracing of the runtime",
        r"npu/test_(npu_sleep|npurt|ipc_event|check_over_flow|inf_nan_mode|errcode)",
    ),
    ("switches of torch_npu's own backends", r"npu/test_torch_(backends|fftplancache)"),
    (
        "options of CANN's compiler",
        r"npu/test_(aoe|option|jit_compile|jit_ops_fusion|cann_version|soc_version|deterministic_level)",
    ),
    ("torch_npu's lists of its own names", r"npu/test_(public_bindings|compatibility|ops_doc|unsupport_api)"),
    ("private memory formats", r"custom_ops/test_npu_format_cast"),
    (
        "`torch_npu._C`",
        r"npu/test_(empty_strided_npu|npu_format|serialization_format|combine_tensors|cpu_fallback_control)",
    ),
    ("several NPUs in one process, or hccl", r"npu/test_(multi_devices|c10d|parallelism)"),
    ("names of kernels in a profile", r"trans_contiguous/"),
    ("PyTorch's own harness", None),
]
# the same of single tests, by what they failed with
WANTED = [
    ("private memory formats", r"memory format \d+ of a|allow_internal_format"),
    (
        "several NPUs in one process, or hccl",
        r"HCCL|hccl|MindSpore drives one NPU|invalid device ordinal|common_distributed",
    ),
    ("captured graphs of kernels (`NPUGraph`)", r"NPUGraph|graph_pool"),
    (
        "`torch_npu._C`",
        r"torch_npu.*_C\b|torch_npu\.npu\.\w+'|torch_npu\.utils|torch_npu\._inductor|torch\.npu' has no attribute "
        r"'_|PathManager",
    ),
    ("the status registers of floating-point units", r"float_status|overflow_flag"),
]


def internal(file, text):
    """Why a file is not run, or None."""
    if "torch.testing._internal" in text:
        return "PyTorch's own harness"
    return next((why for why, pattern in INTERNALS if pattern and re.match(pattern, file)), None)


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def run(o, where, files, record):
    command = [
        sys.executable,
        HERE / "emulator" / "launch.py",
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "pytest",
        "-q",
        "--import-mode=importlib",
        "--tb=short",
    ]
    command += [
        "--rootdir",
        where,
        "-c",
        os.devnull,
        "-W",
        "ignore",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "--timeout",
        str(o.limit),
    ]
    command += [x for p in PLUGINS for x in ("-p", p)] + files
    environment = os.environ | {
        "NPU_CHECKOUT": str(o.checkout),
        "NPU_RECORD": str(record),
        "PYTHONPATH": str(HERE),
        "GLOG_v": "4",
    }
    before = -1
    while before < len(lines(record)):  # until a process begins no test
        before = len(lines(record))
        with open(record.with_suffix(".log"), "a") as log:
            code = subprocess.run(
                command, cwd=where, env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            ).returncode
        if code in (0, 1, 5):
            break


def folder(o, name):
    """(results of a folder's tests {id: (what became of it, why)}, why its other files are not run {why: how many
    tests}).
    """
    where = o.checkout / "test" / name
    files, unfit = [], Counter()
    for file in sorted(where.rglob("test_*.py")) if where.is_dir() else [where]:
        text = file.read_text()
        why = internal(str(file.relative_to(o.checkout / "test")), text)
        unfit[why] += len(re.findall(r"^ +def test_", text, re.M)) if why else files.append(file) or 0
    del unfit[None]
    record = o.out / (name.removesuffix(".py").replace("/", ".") + ".jsonl")
    if files:
        run(o, where if where.is_dir() else where.parent, files, record)
    found = {r["id"]: (r["result"], r["why"]) for r in map(json.loads, lines(record))}
    return found, unfit


def row(name, found, unfit):
    """(the table's row, how many pass, how many are counted)"""
    failed = Counter()
    for result, why in found.values():
        if result in ("passed", "skipped"):
            continue
        wanted = next((wants for wants, pattern in WANTED if re.search(pattern, why)), None)
        if wanted:
            unfit[wanted] += 1
        else:
            failed[re.sub(r"\s+", " ", why if result != "started" else "ended its process").replace("|", "/")[:90]] += 1
    passed, skipped = (sum(result == r for result, _ in found.values()) for r in ("passed", "skipped"))
    told = (
        "; ".join(f"{n} `{why}`" if why else str(n) for why, n in failed.most_common()),
        ", ".join(f"{n} {why}" for why, n in unfit.most_common()),
    )
    return (
        f"| `test/{name}` | {passed} | {failed.total()} | {told[0]} | {skipped} | {told[1]} |",
        passed,
        passed + failed.total(),
    )


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkout", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("folders", nargs="*", default=FOLDERS)
    ap.add_argument("--page", type=Path)
    ap.add_argument("--limit", type=int, default=120, help="seconds for a test")
    o = ap.parse_args()
    o.checkout, o.out = o.checkout.resolve(), o.out.resolve()
    o.out.mkdir(parents=True, exist_ok=True)
    rows = [row(name, *folder(o, name)) for name in o.folders]
    passed, counted = (sum(r[i] for r in rows) for i in (1, 2))
    head = [
        "| folder | pass | fail | what fails | skip themselves | need what only torch_npu's build or an NPU has (not "
        "counted) |",
        "|---|---|---|---|---|---|",
    ]
    said = (
        f"{passed} of {counted} tests that need none of torch_npu's internals pass "
        f"({100 * passed / max(counted, 1):.1f} %)"
    )
    table = "\n".join([*head, *(r[0] for r in rows), "", said + "."])
    print(table)
    if o.page:
        o.page.write_text(
            re.sub(
                r"(?<=<!-- torch_npu's tests -->\n).*?(?=<!-- end of them -->)",
                lambda m: table + "\n",
                o.page.read_text(),
                flags=re.S,
            )
        )


if __name__ == "__main__":
    main()
