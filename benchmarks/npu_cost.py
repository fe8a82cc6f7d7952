"""Python time above the bare primitive on npu beside that on cpu, in one process by turns, on an emulated CANN whose
calls compute nothing.

    EMULATED_CANN_EMPTY=1 PYTHON tests/ascend/emulator/launch.py PYTHON -m mindtorch_proxy benchmarks/npu_cost.py
    [--rounds 60]
MINDTORCH_ORACLE_PYTHON names a Python with PyTorch, as for the tests. Aim: the medians on npu at most 10 % above cpu's;
below them they may lie, since the CPU's kernels compute and leave cold caches behind. Compared are the operators whose
kernel is the primitive on both: where NumPy computes on the CPU, there is no MindSpore call that Python's time could
stand above.
"""

import argparse
import statistics

from call_cost import measure, operators

import mindtorch_proxy


def elsewhere(call):
    """Whether a call is computed by something else than a primitive of PyBoost's."""

    def others():
        return sum(
            row["calls"]
            for row in mindtorch_proxy.report()["kernels"]
            if row["kind"] != "pyboost" and row["role"] == "compute"
        )

    before = others()
    call()
    return others() > before


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=60)
    opt = ap.parse_args()
    cpu, npu = operators("cpu"), operators("npu")
    cpu = {n: calls for n, calls in cpu.items() if not (elsewhere(calls[0]) or elsewhere(npu[n][0]))}
    rows = dict(zip(cpu, measure([(*cpu[n], *npu[n]) for n in cpu], opt.rounds)))
    print(
        f"{'us above':12s} {'cpu':>7s} {'npu':>7s} {'ratio':>6s}   {'cpu grad':>8s} {'npu grad':>8s} {'ratio':>6s}   "
        f"{'bare cpu':>8s} {'bare npu':>8s}"
    )
    found = []
    for name, (plain, grad, bare, there, there_grad, there_bare) in rows.items():
        found.append((plain - bare, there - there_bare, grad - bare, there_grad - there_bare))
        c, n, cg, ng = found[-1]
        print(
            f"{name:12s} {c:7.2f} {n:7.2f} {n / c:6.2f}   {cg:8.2f} {ng:8.2f} {ng / cg:6.2f}   {bare:8.2f} "
            f"{there_bare:8.2f}"
        )
    c, n, cg, ng = map(statistics.median, zip(*found))
    met = "met" if max(n / c, ng / cg) <= 1.1 else "missed"
    print(
        f"median us above the primitive: cpu {c:.2f}, npu {n:.2f} ({n / c:.2f}); with gradients cpu {cg:.2f}, "
        f"npu {ng:.2f} ({ng / cg:.2f}): aim {met}"
    )


if __name__ == "__main__":
    main()
