"""What a chip lacks is computed by what it has: values, gradients and running statistics beside the CPU's.

Run on the emulated NPU. A line for each operator: its name, and whether everything agrees.
"""

import torch

F = torch.nn.functional
SPECIAL = torch.tensor([0.0, -0.0, 1, -1, float("inf"), -float("inf"), float("nan"), 2, -0.3])
A, B = torch.meshgrid(SPECIAL, SPECIAL, indexing="ij")
IMAGES, ROWS = torch.rand(2, 3, 7, 9), torch.rand(4, 8)


def trained(fn, *inputs):
    """The result of fn and the gradients of a sum of its cubes, on the CPU."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = fn(*leaves)
    out.pow(3).sum().backward()
    return [t.detach().cpu() for t in (out, *(x.grad for x in leaves))]


def both(fn, *inputs):
    """Whether fn gives the same on both devices, gradients too where the inputs are finite."""
    if inputs[0].is_floating_point() and all(x.isfinite().all() for x in inputs):
        pairs = zip(trained(fn, *inputs), trained(fn, *(x.npu() for x in inputs)), strict=True)
    else:
        pairs = [(fn(*inputs), fn(*(x.npu() for x in inputs)).cpu())]
    return all(torch.allclose(p.float(), q.float(), 1e-4, 1e-5, equal_nan=True) for p, q in pairs)


def batch_norm(x):
    layer = torch.nn.BatchNorm2d(3).to(x.device)
    out = layer(x), layer.eval()(x), layer.running_mean, layer.running_var
    return torch.cat([t.reshape(-1) for t in out])


POOLS = [
    dict(kernel_size=2),
    dict(kernel_size=3, stride=2, padding=1),
    dict(kernel_size=(3, 2), stride=(2, 3), padding=(1, 1), ceil_mode=True),
    dict(kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    dict(kernel_size=2, divisor_override=3),
]
INDEX, WHOLE = torch.tensor([[0, 2, 1], [3, 3, 0]]), torch.randint(-9, 9, (20,))
CASES = {
    "atan2": (torch.atan2, A, B),
    "atan2, trained": (torch.atan2, ROWS - 0.5, ROWS.flip(0) - 0.4),
    "remainder": (torch.remainder, A, B),
    "remainder by a number": (lambda x: x % 0.3, SPECIAL),
    "remainder of integers": (lambda x: x % torch.tensor([3, -4] * 10, device=x.device), WHOLE),
    "isclose": (lambda a, b: torch.isclose(a, b, equal_nan=True), A, B),
    "where": (lambda a, b: torch.where(a > 0, a, b), A, B),
    "where, trained": (lambda a, b: torch.where(a > 0.5, a, b * 2), ROWS, ROWS.flip(0)),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.7), ROWS, ROWS.flip(0)),
    "lerp by a tensor": (lambda a, b: torch.lerp(a, b, b), ROWS, ROWS.flip(0)),
    "gather": (lambda x: x.gather(0, INDEX.to(x.device)), ROWS),
    "gather from the end": (lambda x: x.gather(-1, INDEX.to(x.device)), ROWS),
    "flip": (lambda x: x.flip(0, 3), IMAGES),
    "dot": (lambda a, b: torch.dot(a, b), ROWS[0], ROWS[1]),
    "softplus": (lambda x: F.softplus(x, 2, 1), ROWS),
    "mish": (F.mish, ROWS - 0.5),
    "layer_norm": (lambda x: F.layer_norm(x, (8,), x[0], x[1]), ROWS),
    "batch_norm": (batch_norm, IMAGES),
    **{f"avg_pool2d {kw}": (lambda x, kw=kw: F.avg_pool2d(x, **kw), IMAGES) for kw in POOLS},
}

if __name__ == "__main__":
    for name, (fn, *inputs) in CASES.items():
        print(name, both(fn, *inputs), sep=": ")
