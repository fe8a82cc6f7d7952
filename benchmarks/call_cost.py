"""Call cost of common operators on tiny tensors as a ratio to the bare PyBoost primitive, with and without recording,
in one process.

    python -m mindtorch_proxy benchmarks/call_cost.py [--rounds 9]
The bare primitive is the public class of mindspore.ops.auto_generate with its target set, called on MindSpore tensors
of the same shape.
Both sides take turns; the minimum of the rounds counts. Aims: median 1.25 without gradients, 1.5 with; views below
PyBoost's.
"""

import argparse
import statistics
import time

import torch

from mindtorch_proxy.runtime import pyboost


def measure(pairs, rounds, calls=30):
    best = [[float("inf")] * len(p) for p in pairs]
    for _ in range(rounds):
        for i, p in enumerate(pairs):
            for j, f in enumerate(p):
                f()
                start = time.perf_counter()
                for _ in range(calls):
                    f()
                best[i][j] = min(best[i][j], (time.perf_counter() - start) / calls * 1e6)
    return best


def bare(device, name, *args):
    """A call of the public class of a primitive, on the MindSpore tensors behind ours."""
    prim = pyboost.primitive_class(name)()
    prim.set_device({"cpu": "CPU", "npu": "Ascend"}[device])
    args = [x._mstensor() if isinstance(x, torch.Tensor) else x for x in args]
    return lambda: prim(*args)


def operators(device):
    """{name: (a call, the same recorded for gradients, the bare primitive)} of common operators on tiny tensors."""
    a, b, m = ((torch.rand(shape) + 0.5).to(device) for shape in ((3, 4), (3, 4), (4, 4)))
    ag, bg, mg = (t.clone().requires_grad_() for t in (a, b, m))
    return {
        "add": (lambda: a + b, lambda: ag + bg, bare(device, "Add", a, b)),
        "sub": (lambda: a - b, lambda: ag - bg, bare(device, "Sub", a, b)),
        "mul": (lambda: a * b, lambda: ag * bg, bare(device, "Mul", a, b)),
        "div": (lambda: a / b, lambda: ag / bg, bare(device, "Div", a, b)),
        "mul scalar": (lambda: a * 2.0, lambda: ag * 2.0, bare(device, "Mul", a, torch.tensor(2.0, device=device))),
        "exp": (lambda: a.exp(), lambda: ag.exp(), bare(device, "Exp", a)),
        "sqrt": (lambda: a.sqrt(), lambda: ag.sqrt(), bare(device, "Sqrt", a)),
        "relu": (lambda: torch.relu(a), lambda: torch.relu(ag), bare(device, "ReLU", a)),
        "eq": (lambda: a == b, lambda: ag == bg, bare(device, "Equal", a, b)),
        "sum": (lambda: a.sum(), lambda: ag.sum(), bare(device, "SumExt", a)),
        "matmul": (lambda: m @ m, lambda: mg @ mg, bare(device, "MatMulExt", m, m)),
        "softmax": (lambda: a.softmax(-1), lambda: ag.softmax(-1), bare(device, "Softmax", a)),
    }


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=90)
    opt = ap.parse_args()
    ms, a, cases = pyboost.mindspore(), torch.rand(3, 4) + 0.5, operators("cpu")
    names, rows = list(cases), measure(list(cases.values()), opt.rounds)
    print(f"{'operator':12s} {'bare us':>8s} {'plain':>8s} {'grad':>8s} {'ratio':>6s} {'with grad':>9s}")
    for n, (plain, grad, prim) in zip(names, rows):
        print(f"{n:12s} {prim:8.2f} {plain:8.2f} {grad:8.2f} {plain / prim:6.2f} {grad / prim:9.2f}")
    print(
        f"median ratio {statistics.median(r[0] / r[2] for r in rows):.2f}, "
        f"with gradients {statistics.median(r[1] / r[2] for r in rows):.2f}"
    )
    x = ms.Tensor(a.numpy())

    def view(name, *args):
        prim = pyboost.primitive_class(name)()
        prim.set_device("CPU")
        return lambda: prim(*args)

    views = {
        "transpose": (lambda: a.transpose(0, 1), view("Transpose", x, (1, 0))),
        "reshape": (lambda: a.reshape(4, 3), view("Reshape", x, (4, 3))),
        "a[0]": (lambda: a[0], view("SelectExtView", x, 0, 0)),
        "unsqueeze": (lambda: a.unsqueeze(0), view("ExpandDims", x, 0)),
    }
    print(f"{'view':12s} {'bare us':>8s} {'ours':>8s} {'ratio':>6s}")
    for n, (ours, prim) in zip(views, measure(list(views.values()), opt.rounds)):
        print(f"{n:12s} {prim:8.2f} {ours:8.2f} {ours / prim:6.2f}")


if __name__ == "__main__":
    main()
