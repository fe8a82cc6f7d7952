"""torch._weight_int8pack_mm and related functions: matrix products with 8-bit or packed 4-bit integer weights."""

import functools
import inspect

import torch
from mindtorch_proxy.runtime.call.overrides import handle_torch_function, overridden_by_programs
from mindtorch_proxy.runtime.dtypes import scalar_name

_FLOATS = (torch.float32, torch.bfloat16, torch.float16)
_GROUPS = (32, 64, 128, 256)
_BLOCK = 64  # the number of rows of a weight that are packed together


def _operator(compute):
    """Make a function over tensors an operator without a derivative.

    It respects __torch_function__, and its backward raises RuntimeError.
    """
    name, signature = compute.__name__, inspect.signature(compute)

    class Undifferentiated(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            return compute(*args)

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError(f"derivative for aten::{name} is not implemented")

    @functools.wraps(compute)
    def public(*args, **kwargs):
        args = signature.bind(*args, **kwargs).args
        if overridden_by_programs(args):
            return handle_torch_function(public, args, *args)
        return Undifferentiated.apply(*args)

    return public


def _need(ok, what):
    if not ok:
        raise RuntimeError(what)


def _looked_at(name, a, b, dtype):
    """Check the operands of a product in PyTorch's order; return (N of the weight, K of the input)."""
    n, k = b.size(0), a.size(1)
    _need(a.dtype in _FLOATS, f"{name} : expect A to be either 32-bit or 16-bit float tensor.")
    _need(b.dtype is dtype, f"{name} : expect B to be {str(dtype)[6:]} tensor.")
    _need(b.is_contiguous(), f"{name} : expect B to be contiguous.")
    return n, k


def _same_dtype(a, scales):
    _need(scales.dtype is a.dtype, f"expected scalar type {scalar_name(a.dtype)} but found {scalar_name(scales.dtype)}")


@_operator
def _weight_int8pack_mm(input, mat2, scales):
    """Return ``input @ mat2.T * scales`` for a torch.int8 weight with one scale for each row.

    Args:
        input: (M, K), float32, bfloat16 or float16.
        mat2: (N, K), contiguous.
        scales: (N,), of the input's dtype.

    Raises:
        RuntimeError: other sizes, dtypes or strides.
    """
    name = "_weight_int8pack_mm_cpu"
    _need(input.dim() < 2 or input.stride(-1) == 1, f"{name} : A must be contiguous on the last dimension.")
    n, k = _looked_at(name, input, mat2, torch.int8)
    _need(mat2.size(1) == k, f"{name} : expect B.size(1) == {k}")
    _need(tuple(scales.shape) == (n,), f"{name} : expect scales to be 1d tensor with size {n}")
    _same_dtype(input, scales)
    return (input.float() @ mat2.float().t() * scales.float()).to(input.dtype)


def _nibbles(weight):
    """Return the 4-bit values of a block that go into the low and the high halves of its packed bytes, in order."""
    if weight.size(0) < _BLOCK:
        return weight[0::2].t(), weight[1::2].t()
    low, middle, high, top = weight.t().split(_BLOCK // 4, dim=1)
    return torch.cat((low, middle), 1), torch.cat((high, top), 1)


@_operator
def _convert_weight_to_int4pack_for_cpu(input, innerKTiles):
    """Pack a weight of integers from 0 to 15 two to a byte, in the order of PyTorch's kernels for AVX-512.

    Args:
        input: (N, K), torch.int32; 16 divides N, and 2 divides K.
        innerKTiles: unused on the CPU.

    Raises:
        RuntimeError: another dtype or size.
    """
    name = "_convert_weight_to_int4pack_cpu"
    _need(input.dim() == 2, f"{name} : expect weight to be 2D tensor.")
    _need(input.dtype is torch.int32, f"{name} : expect weight to be kInt.")
    _need(input.size(0) % 16 == 0, f"{name} : expect N to be dividable by 16")
    _need(input.size(1) % 2 == 0, "_convert_weight_to_int4pack: expect K to be dividable by 2")
    blocks = []
    for block in (input & 255).to(torch.uint8).split(_BLOCK):
        low, high = _nibbles(block)
        blocks.append((high << 4 | low).reshape(-1))
    return torch.cat(blocks).reshape(input.size(0), input.size(1) // 2)


def _unpacked(packed, k):
    """Return the integers of a packed weight as a tensor of shape (N, K)."""
    rows = []
    for block in packed.split(_BLOCK):
        n = block.size(0)
        low, high = (half.reshape(k, n // 2).t() for half in (block.reshape(-1) & 15, block.reshape(-1) >> 4))
        rows.append(torch.stack((low, high), 1).reshape(n, k) if n < _BLOCK else torch.cat((low, high)))
    return torch.cat(rows)


@_operator
def _weight_int4pack_mm_for_cpu(input, mat2, qGroupSize, qScaleAndZeros):
    """Return ``input @ weight.T`` for a packed 4-bit weight, whose values are ``(w - 8) * scale + zero``.

    Args:
        input: (M, K), float32, bfloat16 or float16, contiguous.
        mat2: (N, K / 2), from ``_convert_weight_to_int4pack_for_cpu``.
        qGroupSize: how many columns share a scale: 32, 64, 128 or 256.
        qScaleAndZeros: (K / qGroupSize, N, 2), of the input's dtype.

    Raises:
        RuntimeError: other sizes, dtypes or strides.
    """
    name = "_weight_int4pack_mm_cpu"
    _need(input.is_contiguous(), f"{name} : expect A to be contiguous.")
    n, k = _looked_at(name, input, mat2, torch.uint8)
    _need(mat2.size(1) == k // 2, f"{name} : expect B.size(1) to be K/2, got {mat2.size(1)}")
    _need(qGroupSize in _GROUPS, f"{name}: expect qGroupSize to be 32, 64, 128 or 256, got {qGroupSize}")
    sizes = tuple(qScaleAndZeros.shape)
    _need(
        len(sizes) == 3 and sizes[1:] == (n, 2), f"{name}: expect qScaleAndZeros to be 3d tensor with sizes [:, {n}, 2]"
    )
    _same_dtype(input, qScaleAndZeros)
    _need(
        sizes[0] * qGroupSize >= k, f"{name}: {sizes[0]} groups of {qGroupSize} are fewer than the {k} columns"
    )  # PyTorch reads beyond the end of the scales here
    scales, zeros = qScaleAndZeros.float().repeat_interleave(qGroupSize, 0)[:k].permute(2, 1, 0)
    weight = (_unpacked(mat2, k).float() - 8) * scales + zeros
    return (input.float() @ weight.t()).to(input.dtype)


def _accelerators_alone(name, parameters):
    def f(input, *args):
        raise NotImplementedError(f"Could not run 'aten::{name}': {input.dtype} on {input.device} is not supported")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{name}({parameters}): NotImplementedError; PyTorch has it for CUDA alone."
    return f


_convert_weight_to_int4pack = _accelerators_alone("_convert_weight_to_int4pack", "input, innerKTiles")
_weight_int4pack_mm = _accelerators_alone("_weight_int4pack_mm", "input, mat2, qGroupSize, qScaleAndZeros")
