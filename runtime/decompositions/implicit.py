"""What PyTorch decomposes above its dispatcher and runs here as one kernel: how it is seen by those to whom calls below autograd are handed over."""

import math

from ..call.geometry import broadcast_shapes
from ..call.tracing import TracedInt
from ..device import HOST
from ..ops.matmul import rows
from ..registry import F, M, T, implicit


@implicit("_linear")
def linear(input, weight, bias):
    transposed = T.t(weight)
    rank = len(input._shape)
    if bias is None:
        return T.matmul(input, transposed)
    if rank == 2:
        return T.addmm(bias, input, transposed)
    if rank == 3 and input.is_contiguous() and input.device is HOST:
        out = T.addmm(bias, M.view(input, (-1, input._shape[-1])), transposed)
        return M.view(out, (*input._shape[:-1], weight._shape[0]))
    return T.add(T.matmul(input, transposed), bias)


@implicit("_mm")
def folded(self, mat2):
    """A stack of matrices times one matrix: one product of matrices."""
    rows = T.mm(T.reshape(self, (math.prod(self._shape[:-1]), self._shape[-1])), mat2)
    return M.view(rows, (*self._shape[:-1], mat2._shape[-1]))


@implicit("_over_rows")
def over_rows(self, mat2):
    """The products of two rows, summed: one product of matrices."""
    return T.mm(T.t(rows(self)), rows(mat2))


@implicit("_bmm")
def stacked(self, mat2):
    """Stacks of matrices that broadcast: one product of stacks."""
    batch = broadcast_shapes(self._shape[:-2], mat2._shape[:-2]) if self._shape[:-2] != mat2._shape[:-2] else self._shape[:-2]
    a = M.expand(self, (*batch, *self._shape[-2:]))
    b = M.expand(mat2, (*batch, *mat2._shape[-2:]))
    n = math.prod(batch)
    out = T.bmm(T.reshape(a, (n, *self._shape[-2:])), T.reshape(b, (n, *mat2._shape[-2:])))
    return M.view(out, (*batch, self._shape[-2], mat2._shape[-1]))


@implicit("_basic_index")
def basic_index(self, index):
    """Numbers select, slices slice, None adds a dimension: one after the other."""
    out, dim = self, 0
    given = sum(i is not None and i is not Ellipsis for i in index)
    for i in index:
        if i is None:
            out, dim = T.unsqueeze(out, dim), dim + 1
        elif i is Ellipsis:
            dim += len(self._shape) - given
        elif isinstance(i, slice):
            if i != slice(None):
                start, stop, step = i.indices(out._shape[dim])
                if TracedInt in (type(i.start), type(i.stop)):  # a graph clips them where it runs
                    start, stop = 0 if i.start is None else i.start, i.stop
                out = T._slice(out, dim, start, 2**63 - 1 if i.stop is None else stop, step)
            dim += 1
        else:
            out = T.select(out, dim, i)
    return T._alias(out) if out is self else out


@implicit("square")
def square(self):
    return T.pow(self, 2)


@implicit("selu")
def selu(self):
    return F.elu(self, 1.6732632423543772) * 1.0507009873554805
