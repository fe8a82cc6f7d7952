"""Functions of functions, and checks."""

from attempts import attempts
from comparing import STRICT

TOLERANCE = STRICT
STRIDES = False  # results of batched calls may lie in memory otherwise


def case_associative_scan(torch):
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    x = torch.arange(1.0, 14).reshape(13, 1) / 5
    y = x.clone().requires_grad_()
    return attempts(
        *[
            lambda n=n, r=r: scan(lambda p, q: p + q, x[:n], 0, reverse=r, combine_mode="generic")
            for n in (1, 2, 3, 4, 7, 13)
            for r in (False, True)
        ],
        lambda: scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (x, x * 2), 0, combine_mode="generic"),
        lambda: scan(lambda p, q: p + q, x.T, -1, combine_mode="generic"),
        lambda: scan(lambda p, q: p + q, x, 0),
        lambda: scan(3, x, 0),
        lambda: torch.autograd.grad(scan(lambda p, q: p * q, y, 0, combine_mode="generic").sum(), y)[0],
        lambda: torch.cond(torch.tensor(True), lambda a: a + 1, lambda a: a - 1, (x,)),
    )


def case_checks(torch):
    some, true = torch.tensor([True, False]), torch.tensor([True])
    return attempts(
        lambda: torch._check(True),
        lambda: torch._check(False),
        lambda: torch._check(1),
        lambda: torch._check(True, "x"),
        lambda: torch._check(False, "x"),
        lambda: torch._check_index(False),
        lambda: torch._check_value(False),
        lambda: torch._check_type(False),
        lambda: torch._check_not_implemented(False),
        lambda: torch._check_with(KeyError, False, lambda: "m"),
        lambda: torch._check_tensor_all(some),
        lambda: torch._check_tensor_all(true),
        lambda: torch._check_tensor_all_with(IndexError, some),
        lambda: torch._check_tensor_all_with(IndexError, True),
        lambda: torch._check_tensor_all(torch.tensor([1])),
        lambda: torch._check(true),
    )


def case_out_dtype(torch):
    from torch._higher_order_ops.out_dtype import out_dtype
    from torch.fx.experimental.proxy_tensor import make_fx

    aten = torch.ops.aten
    x, w = torch.arange(4, dtype=torch.int8).reshape(2, 2), torch.ones(2, 2, requires_grad=True)
    graph = make_fx(lambda a: out_dtype(aten.mm.default, torch.int32, a, a))(x)
    return attempts(
        lambda: out_dtype(aten.mm.default, torch.int32, x * 50, x),
        lambda: out_dtype(aten.mul.Scalar, torch.int32, x, 3.0),
        lambda: out_dtype(aten.mul.Tensor, torch.float64, x, w.detach()),
        lambda: graph(x + 1),
        lambda: graph.code,
        lambda: [(n.name, str(n.target)) for n in graph.graph.nodes],
        lambda: out_dtype(aten.mm.default, torch.int32, w, w).requires_grad,
        lambda: out_dtype(aten.mm.default, torch.float64, w, w).sum().backward(),
        lambda: out_dtype(torch.add, torch.int32, x, x),
        lambda: out_dtype(aten.add_.Tensor, torch.int32, x, x),
        lambda: out_dtype(aten.add.Tensor, torch.int32, x, x),
    )


def case_what_chooses_a_branch(torch):
    from functorch.experimental import control_flow

    def told(pred, operands=(torch.ones(2),)):
        try:
            return control_flow.cond(pred, lambda x: x + 1, lambda x: x - 1, operands)
        except RuntimeError as e:
            return str(e)

    traced = None
    try:
        torch.fx.symbolic_trace(lambda x: torch.cond(x[0] == 0, torch.sin, torch.cos, [x]))
    except RuntimeError as e:
        traced = str(e)
    return [
        told(1),
        told("a"),
        told(None),
        told(torch.tensor([1, 2])),
        told(torch.tensor([True])),
        told(torch.tensor(True), 3),
        traced,
    ]
