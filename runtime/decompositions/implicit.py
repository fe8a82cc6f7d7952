"""Operators that PyTorch decomposes above its dispatcher but that run as one kernel here.

These functions call the operators that PyTorch would, for interceptors of calls below autograd.
"""

import math

from ..call.geometry import broadcast_shapes
from ..call.promotion import result_dtype
from ..call.tracing import TracedInt
from ..classes import NUMBERS
from ..context import CONTEXT
from ..device import HOST
from ..ops.matmul import rows
from ..registry import ATEN, F, M, T, implicit
from ..symbolic import SymInt
from .matmul import attention_scores


@implicit("_linear")
def linear(input, weight, bias):
    rank = len(input._shape)
    if bias is not None and rank in (1, 3) and input.is_contiguous() and input.device is HOST:
        rows = M.view(input, (math.prod(input._shape[:-1]), input._shape[-1]))
        return M.view(T.addmm(bias, rows, T.t(weight)), (*input._shape[:-1], weight._shape[0]))
    transposed = T.t(weight)
    if bias is None:
        return T.matmul(input, transposed)
    return T.addmm(bias, input, transposed) if rank == 2 else T.add(T.matmul(input, transposed), bias)


@implicit("_mm")
def folded(self, mat2):
    """Multiply a stack of matrices by one matrix, as one matrix product."""
    rows = T.mm(T.reshape(self, (math.prod(self._shape[:-1]), self._shape[-1])), mat2)
    return ATEN._unsafe_view(rows, (*self._shape[:-1], mat2._shape[-1]))


@implicit("_over_rows")
def over_rows(self, mat2):
    """Return the sum of the outer products of corresponding rows, as one matrix product."""
    return T.mm(T.t(rows(self)), rows(mat2))


implicit("_attention_scores")(attention_scores)


@implicit("dropout", traced=False)
def dropout(input, p, train):
    """Apply dropout, with the noise in a tensor of its own."""
    if p == 0 or not train or not input.numel():
        return input
    if p == 1:
        return T.mul(input, T.zeros((), dtype=input.dtype, device=input.device))
    noise = T.empty_like(input).bernoulli_(1 - p)
    return T.mul(input, noise.div_(1 - p))


@implicit("elu_backward", traced=False)
def elu_backward(grad_output, self, alpha):
    return NotImplemented if _recorded(grad_output, self) else ATEN.elu_backward(grad_output, alpha, 1, 1, False, self)


@implicit("leaky_relu_backward", traced=False)
def leaky_relu_backward(grad_output, self, negative_slope):
    return (
        NotImplemented
        if _recorded(grad_output, self)
        else ATEN.leaky_relu_backward(grad_output, self, negative_slope, False)
    )


def _recorded(*tensors):
    """Whether gradients are recorded for these tensors.

    A call that PyTorch writes differently is then left as it is, since the operators that it would call would be
    recorded.
    """
    return CONTEXT.grad and any(t._requires_grad for t in tensors)


@implicit("_C._nn.max_pool1d_with_indices", traced=False)
def max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode):
    """Pool rows as planes of height 1."""
    out = F.max_pool2d(
        T.unsqueeze(self, -2),
        (1, *kernel_size),
        (1, *stride),
        (0, *padding),
        (1, *dilation),
        ceil_mode,
        return_indices=True,
    )
    return tuple(T.squeeze(t, -2) for t in out)


@implicit("_C._nn.avg_pool1d", traced=False)
def avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    out = F.avg_pool2d(
        T.unsqueeze(self, -2), (1, *kernel_size), (1, *stride), (0, *padding), ceil_mode, count_include_pad
    )
    return T.squeeze(out, -2)


@implicit("_bmm")
def stacked(self, mat2):
    """Multiply stacks of matrices that broadcast, as one product of stacks."""
    batch = (
        broadcast_shapes(self._shape[:-2], mat2._shape[:-2])
        if self._shape[:-2] != mat2._shape[:-2]
        else self._shape[:-2]
    )
    n = math.prod(batch)
    a, b = (T.reshape(M.expand(t, (*batch, *t._shape[-2:])), (n, *t._shape[-2:])) for t in (self, mat2))
    return ATEN._unsafe_view(T.bmm(a, b), (*batch, self._shape[-2], mat2._shape[-1]))


_CLIPPED_LATER = frozenset((TracedInt, SymInt))


@implicit("_basic_index")
def basic_index(self, index):
    """Index one step at a time: numbers select, slices slice, None adds a dimension."""
    out, dim = self, 0
    given = sum(i is not None and i is not Ellipsis for i in index)
    for i in index:
        if i is None:
            out, dim = T.unsqueeze(out, dim), dim + 1
        elif i is Ellipsis:
            dim += len(self._shape) - given
        elif isinstance(i, slice):
            if i != slice(None):
                if _CLIPPED_LATER.isdisjoint((type(i.start), type(i.stop), type(out._shape[dim]))):
                    start, stop, step = i.indices(out._shape[dim])
                else:  # the graph clips them when it runs
                    start, stop, step = i.start or 0, i.stop, 1 if i.step is None else i.step
                out = T._slice(out, dim, start, 2**63 - 1 if i.stop is None else stop, step)
            dim += 1
        else:
            out = T.select(out, dim, i)
    return T._alias(out) if out is self else out


@implicit("_where", traced=False)
def where(condition, self, other):
    """Call where() with numbers converted to tensors of the dtype that both operands promote to.

    If both are numbers, each keeps its own dtype.
    """
    numbers = [v.__class__ in NUMBERS for v in (self, other)]
    if not any(numbers):
        return NotImplemented
    dtype = result_dtype((self, other)) if not all(numbers) else None
    dtypes = [dtype or result_dtype((v,)) for v in (self, other)]
    parts = [self, other]
    for i in (1, 0):
        parts[i] = (
            ATEN.scalar_tensor(parts[i], dtype=dtypes[i], device=condition.device)
            if numbers[i]
            else parts[i].to(dtypes[i])
        )
    return T.where(condition, *parts)


@implicit("_distinct", traced=False)
def distinct(self, dim, sort):
    """Call PyTorch's operator for the distinct elements of a whole tensor."""
    return NotImplemented if dim is not None or not sort or _recorded(self) else T._unique2(self, True, True, True)


@implicit("square")
def square(self):
    return T.pow(self, 2)


@implicit("selu")
def selu(self):
    return F.elu(self, 1.6732632423543772) * 1.0507009873554805
