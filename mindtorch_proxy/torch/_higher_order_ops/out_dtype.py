"""out_dtype: runs an operator with a given dtype for the result; the precision of the computation is not specified."""

import torch
import torch.utils._pytree as pytree
from torch._C import DispatchKey
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    maybe_handle_decomp,
    track_tensor_tree,
)

aten = torch.ops.aten
ALLOWABLE_OPS = [
    aten.linear.default,
    aten.mm.default,
    aten.conv2d.default,
    aten.convolution.default,
    aten.mul.Tensor,
    aten.mul.Scalar,
    aten.div.Tensor,
    aten.div.Scalar,
]


class OutDtypeOperator(HigherOrderOperator):
    """out_dtype(op, dtype, *args) computes op in a dtype to which the arguments and dtype promote.

    The result is converted to dtype.
    """

    def __init__(self):
        super().__init__("out_dtype")

    def __call__(self, op, output_dtype, *args):
        if not isinstance(op, torch._ops.OpOverload):
            raise ValueError("out_dtype's first argument must be an OpOverload")
        if op._schema.is_mutable:
            raise ValueError("out_dtype's first argument needs to be a functional operator")
        returns = [r.type for r in op._schema.returns]
        if [str(r) for r in returns] != ["Tensor"]:
            raise ValueError(f"out_dtype's can only apply to ops that return a single tensorInstead got {returns}")
        if op not in ALLOWABLE_OPS:
            raise ValueError(f"out_dtype only allows the following operators: {ALLOWABLE_OPS}.")
        return super().__call__(op, output_dtype, *args)


out_dtype = OutDtypeOperator()


@out_dtype.py_impl(FakeTensor)
@out_dtype.py_impl(DispatchKey.CompositeExplicitAutograd)
def out_dtype_dense(op, output_dtype, *args):
    """Compute in the dtype that the arguments and the result promote to."""
    wide = output_dtype
    for x in pytree.tree_leaves(args):
        if isinstance(x, (torch.Tensor, bool, int, float, complex)):
            wide = torch.result_type(torch.empty(1, dtype=wide, device="meta"), x)
    return op(*pytree.tree_map_only(torch.Tensor, lambda x: x.to(wide), args)).to(output_dtype)


class _Undifferentiable(torch.autograd.Function):
    """Passes on the result of an operator without a derivative; its backward raises RuntimeError."""

    @staticmethod
    def forward(ctx, result, *inputs):
        return result.view_as(result)

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(
            "Trying to backward through out_dtype but no autograd formula was registered. If you need autograd, "
            "please file an issue."
        )


@out_dtype.py_impl(DispatchKey.Autograd)
def _autograd(op, output_dtype, *args):
    with torch._C._AutoDispatchBelowAutograd():
        result = out_dtype(op, output_dtype, *args)
    inputs = [x for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)]
    tracked = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    return (
        _Undifferentiable.apply(result, *inputs)
        if tracked and (result.is_floating_point() or result.is_complex())
        else result
    )


@out_dtype.py_impl(FakeTensorMode)
def _fake(mode, op, output_dtype, *args):
    with mode:
        return out_dtype_dense(op, output_dtype, *args)


@out_dtype.py_impl(ProxyTorchDispatchMode)
def _trace(mode, op, output_dtype, *args):
    found = maybe_handle_decomp(mode, out_dtype, (op, output_dtype, *args), {})
    if found is not NotImplemented:
        return found
    with disable_proxy_modes_tracing():
        result = op(*args).to(output_dtype)
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, (op, output_dtype, *args))
    return track_tensor_tree(
        result,
        mode.tracer.create_proxy("call_function", out_dtype, proxies, {}, name="out_dtype"),
        constant=None,
        tracer=mode.tracer,
    )
