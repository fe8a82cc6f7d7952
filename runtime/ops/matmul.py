"""Matrix products: mm, bmm, matmul, linear, addmm and similar ones, einsum, attention, distances."""

import math
import string

from ..backend import backend
from ..call.autocast import FLOAT32, FLOAT32_ON_ACCELERATORS, LOWER, LOWER_ON_ACCELERATORS, WIDEST_ON_ACCELERATORS
from ..call.dispatch import intercepted
from ..call.geometry import broadcast_shapes, check_spreads, preserved_strides
from ..call.out import SAME_DTYPE, SAME_SCALAR_TYPE, Out
from ..call.overrides import handle_torch_function, has_torch_function, overridable
from ..context import CONTEXT, PROCESS
from ..declare import BY_PARTS, composite, op
from ..device import HOST
from ..registry import ATEN, function, provide
from ..tensor import unviewed
from ..warn import warn_once
from .common import LINALG, T, Tensor, check_number, conj, dt, like_self, numel, wrap_dim
from .memory import _to_copy
from .pointwise import no_derivative
from .views import tensor_name


def _name(t):
    return dt.scalar_name(t.dtype)


def no_bool(kernel, t, *sizes):
    """Raise an error for booleans, which no kernel multiplies, unless a size is 0 and no kernel runs."""
    if t.dtype is dt.bool_ and 0 not in sizes:
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def _need(rank, message, *named):
    """Check that tensors have the given rank.

    The message may contain {who} and {n}, a tensor's name and rank.
    """
    for t, who in named:
        if len(t._shape) != rank:
            raise RuntimeError(message.format(who=who, n=len(t._shape)))


def mT(x):
    return x.transpose(-2, -1)


def mH(x):
    return conj(x.transpose(-2, -1))


def tH(x):
    return conj(x.t())


def rows(x):
    """Flatten all leading dimensions to one."""
    return x if len(x._shape) == 2 else x.reshape((numel(x._shape[:-1]), x._shape[-1]))


def scaled(x, factor):
    return x if factor.__class__ is not complex and factor == 1 else x * conj(factor)


# ------------------------------------------------------------------------------------------------ products of two
def _mm_check(a, b, n="mat2"):
    _need(2, "{who} must be a matrix", (a, "self"), (b, n))
    return _mm_meta(a, b)


def _mm_meta(a, b):
    s, r = a._shape, b._shape
    if s[-1] != r[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({numel(s[:-1])}x{s[-1]} and {r[0]}x{r[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {dt.c_name(a.dtype)} != {dt.c_name(b.dtype)}"
        )
    no_bool("addmm_impl_cpu_", a, *s, r[1])
    return (*s[:-1], r[1]), a.dtype


def _bmm_check(a, b):
    _need(3, "{who} must be a 3D tensor", (a, "batch1"), (b, "batch2"))
    if b._shape[0] != a._shape[0]:
        raise _batch_error(a._shape[0], a._shape[2], b)
    return _bmm_meta(a, b)


def _batch_error(n, k, b):
    return RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {k}] but got: [{numel(b._shape[:-2])}, "
        f"{b._shape[-2]}]."
    )


def _batch(s, r):
    """Return the batch dimensions of the product of two stacks of matrices with these shapes."""
    return s[:-2] if s[:-2] == r[:-2] else broadcast_shapes(s[:-2], r[:-2])


def _bmm_meta(a, b):
    s, r = a._shape, b._shape
    batch = _batch(s, r)
    if s[-1] != r[-2]:
        raise _batch_error(numel(batch), s[-1], b)
    _check_factors(a, b, (*batch, *s[-2:], r[-1]))
    return (*batch, s[-2], r[-1]), b.dtype


def _check_factors(a, b, sizes):
    """Raise the dtype errors of PyTorch's batched product, except where there is nothing to multiply."""
    no_bool("bmm", a, *sizes)
    if a.dtype is not b.dtype and 0 not in sizes:
        raise RuntimeError(f"expected scalar type {_name(a)} but found {_name(b)}")


def _transposed(node, k):
    """Whether the k-th differentiable argument was made by t().

    Its gradient is then made by t() as well, so that its memory layout is the same.
    """
    return node._edges[k] is not None and node._edges[k][0].__class__.__name__ == "TBackward0"


def _right_gradient(g, mat1, node, k):
    """Return the gradient of the right matrix of a product."""
    return T.t(_summed(g, conj(mat1))) if _transposed(node, k) else _summed(conj(mat1), g)


_PRODUCT = {"self": lambda g, mat2: T.mm(g, tH(mat2)), "mat2": lambda g, self, node: _right_gradient(g, self, node, 1)}
_PRODUCTS = {"self": lambda g, mat2: T.bmm(g, mH(mat2)), "mat2": lambda g, self: T.bmm(mH(self), g)}
_FOLDED = {"self": lambda g, mat2: T.matmul(g, mH(mat2)), "mat2": lambda g, self: _summed(conj(self), g)}
_BATCHED = {"self": lambda g, mat2: T.matmul(g, mH(mat2)), "mat2": lambda g, self: T.matmul(mH(self), g)}
mm_op = op(
    "mm(Tensor self, Tensor mat2) -> Tensor", "Mm", meta=_mm_check, derivative=_PRODUCT, out=SAME_DTYPE, autocast=LOWER
)
bmm_op = op(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    "BatchMatMulExt",
    meta=_bmm_check,
    derivative=_PRODUCTS,
    out=SAME_DTYPE,
    autocast=LOWER,
)
_COMPOSED = dict(method=False, aten="matmul.default", node="UnsafeViewBackward0")
# with leading dimensions: self of any rank times a matrix, and products of broadcast stacks of matrices
folded = op(
    "_mm(Tensor self, Tensor mat2) -> Tensor",
    "MatMulExt",
    meta=_mm_meta,
    derivative=_FOLDED,
    out=SAME_DTYPE,
    **_COMPOSED,
)
stacked = op(
    "_bmm(Tensor self, Tensor mat2) -> Tensor",
    "MatMulExt",
    meta=_bmm_meta,
    derivative=_BATCHED,
    out=SAME_DTYPE,
    **_COMPOSED,
)

# outer products of rows, summed over all leading dimensions: the gradient of a matrix
over_rows = op(
    "_over_rows(Tensor self, Tensor mat2) -> Tensor",
    None,
    meta=lambda a, b: ((a._shape[-1], b._shape[-1]), a.dtype),
    derivative={"self": lambda g, mat2: _product(conj(mat2), mT(g)), "mat2": lambda g, self: _product(conj(self), g)},
    function=False,
    method=False,
)


def _summed(a, b):
    """Return the sum of the outer products of rows. Sparse gradients are multiplied by mm instead."""
    return T.mm(T.t(a), b) if a._of_layout or b._of_layout else over_rows.call(a, b)


def _product(a, b):
    """Return a @ b for a matrix b."""
    return (mm_op if len(a._shape) == 2 else folded).call(a, b)


def _dot_meta(self, tensor):
    if len(self._shape) != 1 or len(tensor._shape) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(self._shape)}D and {len(tensor._shape)}D tensors")
    if self.dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {_name(self)} and {_name(tensor)}"
        )
    if self._shape != tensor._shape:
        n, m = self._shape[0], tensor._shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, "
            f"but got {n} and {m} elements respectively"
        )
    no_bool("dot", self)
    return (), self.dtype


_dot_grads = {"self": lambda g, tensor: g * conj(tensor), "tensor": lambda g, self: g * conj(self)}
dot_op = op(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    "Dot",
    meta=_dot_meta,
    derivative=_dot_grads,
    out=SAME_SCALAR_TYPE,
    autocast=WIDEST_ON_ACCELERATORS,
)
_vdot_grads = {"self": lambda g, other: conj(g) * other, "other": lambda g, self: g * self}
op(
    "vdot(Tensor self, Tensor other) -> Tensor",
    "Vdot",
    meta=_dot_meta,
    derivative=_vdot_grads,
    out=SAME_SCALAR_TYPE,
    autocast=WIDEST_ON_ACCELERATORS,
)


def _mv_meta(self, vec, bias=None):
    s = self._shape
    b = (s[0],) if bias is None else bias._shape
    if len(s) != 2 or len(vec._shape) != 1 or len(b) > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(b)}, {len(s)}, {len(vec._shape)}")
    if vec._shape[0] != s[1] or b not in ((), (1,), (s[0],)):
        raise RuntimeError(f"size mismatch, got input ({b[0] if b else 1}), mat ({s[0]}x{s[1]}), vec ({vec._shape[0]})")
    first = vec if bias is None else bias
    if not first.dtype is self.dtype is vec.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {_name(first)}, {_name(self)}, and {_name(vec)}"
        )
    no_bool("addmv_impl_cpu", self, *s)
    return (s[0],), self.dtype


_mv_grads = {"self": lambda g, vec: T.outer(g, conj(vec)), "vec": lambda g, self: T.mv(mH(self), g)}
mv_op = op(
    "mv(Tensor self, Tensor vec) -> Tensor",
    "Mv",
    meta=_mv_meta,
    derivative=_mv_grads,
    out=SAME_SCALAR_TYPE,
    autocast=LOWER_ON_ACCELERATORS,
)


@composite(
    "matmul(Tensor self, Tensor other) -> Tensor", alias=("linalg.matmul",), out=SAME_SCALAR_TYPE, autocast=LOWER
)
def matmul(self, other):
    n, m = len(self._shape), len(other._shape)
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 2 and m == 2:
        return mm_op.call(self, other)
    if n > 2 and m > 2:
        return stacked.call(self, other)
    if m == 1:
        if n > 2 and self._shape[-1] != other._shape[0]:
            raise RuntimeError(
                f"size mismatch, got input ({numel(self._shape[:-1])}), "
                f"mat ({numel(self._shape[:-1])}x{self._shape[-1]}), vec ({other._shape[0]})"
            )
        return (
            folded.call(self, other.unsqueeze(1)).squeeze(-1)
            if n > 2
            else (dot_op if n == 1 else mv_op).call(self, other)
        )
    if m == 2:
        return mm_op.call(self.unsqueeze(0), other).squeeze_(0) if n == 1 else folded.call(self, other)
    if n == 1:
        return stacked.call(self.unsqueeze(0).unsqueeze(0), other).squeeze(-2)
    return stacked.call(self.unsqueeze(0), other)


@composite("outer(Tensor self, Tensor vec2) -> Tensor", alias=("ger",))
def outer(self, vec2):
    _need(1, "outer: Expected 1-D argument {who}, but got {n}-D", (self, "self"), (vec2, "vec2"))
    return self.reshape((-1, 1)) * vec2


@composite("inner(Tensor self, Tensor other) -> Tensor", out=SAME_SCALAR_TYPE)
def inner(self, other):
    if not self._shape or not other._shape:
        return self * other
    if self.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if self._shape[-1] != other._shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(self._shape)} and "
            f"{list(other._shape)}"
        )
    return T.tensordot(self, other, ([-1], [-1]))


# ------------------------------------------------------------------------------------------------ a product and a sum
def _expands(self, shape):
    n = len(shape)
    if len(self._shape) > n:
        raise RuntimeError(
            f"expand({tensor_name(self)}{{{list(self._shape)}}}, size={list(shape)}): the number of sizes provided "
            f"({n}) must be greater or equal to the number of dimensions in the tensor ({len(self._shape)})"
        )
    for d in range(-1, -len(self._shape) - 1, -1):
        if self._shape[d] not in (1, shape[d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[d]}) must match the existing size ({self._shape[d]}) at "
                f"non-singleton dimension {n + d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(self._shape)}"
            )


def _addmm_meta(self, mat1, mat2, beta=1, alpha=1):
    _need(2, "{who} must be a matrix, got {n}-D tensor", (mat1, "mat1"), (mat2, "mat2"))
    if mat1._shape[1] != mat2._shape[0]:
        _mm_meta(mat1, mat2)
    shape = (mat1._shape[0], mat2._shape[1])
    _expands(self, shape)
    if self.dtype is not mat2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {_name(self)} and {_name(mat2)}")
    return shape, _mm_meta(mat1, mat2)[1]


def _baddbmm_meta(self, batch1, batch2, beta=1, alpha=1):
    _expands(self, (batch1.size(0), batch1.size(1), batch2.size(2)))
    _need(3, "{who} must be a 3D tensor", (batch1, "batch1"), (batch2, "batch2"))
    if batch1._shape[0] != batch2._shape[0] or batch1._shape[2] != batch2._shape[1]:
        raise _batch_error(batch1._shape[0], batch1._shape[2], batch2)
    shape = (*batch1._shape[:2], batch2._shape[2])
    if self.dtype is not batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {dt.c_name(self.dtype)}, batch1: {dt.c_name(batch1.dtype)}, "
            f"batch2: {dt.c_name(batch2.dtype)}"
        )
    _check_factors(batch1, batch2, (*shape, batch1._shape[2]))
    return shape, batch2.dtype


def _adding(name, first, second, prim, meta, grads, **options):
    schema = f"{name}(Tensor self, Tensor {first}, Tensor {second}, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
    grads = {"self": lambda g, beta: scaled(g, beta), **grads}

    def with_factors(self, a, b, beta=1, alpha=1):
        result = meta(self, a, b, beta, alpha)
        for factor in (beta, alpha):
            if factor.__class__ is complex:
                check_number(factor, self.dtype)
        return result

    op(schema, prim, meta=with_factors, inplace=True, derivative=grads, out=SAME_DTYPE, numbers_between=True, **options)


_addmm_grads = {
    "mat1": lambda g, mat2, alpha: scaled(T.mm(g, tH(mat2)), alpha),
    "mat2": lambda g, mat1, alpha, node: scaled(_right_gradient(g, mat1, node, 2), alpha),
}
_adding("addmm", "mat1", "mat2", "Addmm", _addmm_meta, _addmm_grads, autocast=LOWER)
_ADDMM_ACTIVATION = dict(
    meta=lambda self, mat1, mat2, beta, alpha, use_gelu: _addmm_meta(self, mat1, mat2),
    derivative={
        k: no_derivative("derivative for aten::_addmm_activation is not implemented", RuntimeError)
        for k in ("self", "mat1", "mat2")
    },
    out=SAME_DTYPE,
    inplace=False,
    no_forward="aten::_addmm_activation",
)
op(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
    "bool use_gelu=False) -> Tensor",
    **_ADDMM_ACTIVATION,
)
_baddbmm_grads = {
    "batch1": lambda g, batch2, alpha: scaled(T.bmm(g, mH(batch2)), alpha),
    "batch2": lambda g, batch1, alpha: scaled(T.bmm(mH(batch1), g), alpha),
}
_adding("baddbmm", "batch1", "batch2", "Baddbmm", _baddbmm_meta, _baddbmm_grads, autocast=LOWER)
_addmv_meta = lambda self, mat, vec, beta, alpha: _mv_meta(mat, vec, self)
_addmv_grads = {
    "mat": lambda g, vec, alpha: scaled(T.outer(g, conj(vec)), alpha),
    "vec": lambda g, mat, alpha: scaled(T.mv(mH(mat), g), alpha),
}
_adding(
    "addmv", "mat", "vec", "Addmv", _addmv_meta, _addmv_grads, autocast=LOWER_ON_ACCELERATORS, inplace_function=True
)


def _each(g, batch_shape):
    """Return a gradient of a sum over batches for each batch."""
    return g.unsqueeze(0).expand(batch_shape[0], *g._shape)


_addbmm_grads = {
    "self": lambda g, beta: scaled(g, beta),
    "batch1": lambda g, batch1_shape, batch2, alpha: scaled(T.bmm(_each(g, batch1_shape), mH(batch2)), alpha),
    "batch2": lambda g, batch1, batch2_shape, alpha: scaled(T.bmm(mH(batch1), _each(g, batch2_shape)), alpha),
}


@composite(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=SAME_SCALAR_TYPE,
    autocast=LOWER,
    numbers_between=True,
    derivative=_addbmm_grads,
)
def addbmm(self, batch1, batch2, beta, alpha):
    _expands(self, (batch1.size(1), batch2.size(2)))
    _need(3, "{who} must be a 3D tensor", (batch1, "batch1"), (batch2, "batch2"))
    (b, n, k), (c, k2, p) = batch1._shape, batch2._shape
    if b != c:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {b} and {c}")
    if k != k2:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{k} and {k2}x{p})")
    return T.addmm(self, batch1.transpose(0, 1).reshape((n, b * k)), batch2.reshape((b * k, p)), beta=beta, alpha=alpha)


@composite(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace=True,
    numbers_between=True,
    derivative=BY_PARTS,
    reads={"self": (), "vec1": ("vec2",), "vec2": ("vec1",)},
)
def addr(self, vec1, vec2, beta, alpha):
    _need(1, "addr: Expected 1-D argument {who}, but got {n}-D", (vec1, "vec1"), (vec2, "vec2"))
    _expands(self, (vec1._shape[0], vec2._shape[0]))
    d = dt.promote_types(dt.promote_types(self.dtype, vec1.dtype), vec2.dtype)
    for x, who in ((beta, "beta"), (alpha, "alpha")):
        if d.category < dt.FLOAT and isinstance(x, float):
            raise RuntimeError(f"For integral input tensors, argument {who} must not be a floating point number.")
        if d is not dt.bool_ and isinstance(x, bool):
            raise RuntimeError(f"Boolean {who} only supported for Boolean results.")
    product = vec1.unsqueeze(1) * vec2
    if d is dt.bool_:
        product = product if alpha else T.zeros_like(product)
        return product | self if beta else product.clone()
    product = scaled(product, alpha.conjugate())
    return (product if beta == 0 else scaled(self, beta.conjugate()) + product).to(d)


def _linear_meta(input, weight, bias):
    if len(weight._shape) != 2:
        if len(weight._shape) > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(weight._shape)}D")
        raise RuntimeError(f"mat2 must be a matrix, got {len(weight._shape)}-D tensor")
    (*batch, inner), (n, k) = input._shape, weight._shape  # a Size is slow to index
    if inner != k:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({numel(batch)}x{inner} and {k}x{n})")
    if bias is not None:
        if bias._shape != (n,):
            _expands(bias, (*batch, n) if len(bias._shape) > 1 else (numel(batch), n))
        if bias.dtype is not weight.dtype:
            raise RuntimeError(f"self and mat2 must have the same dtype, but got {_name(bias)} and {_name(weight)}")
    if input.dtype is not weight.dtype:
        if bias is not None:
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {_name(input)} and {_name(weight)}")
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {dt.c_name(input.dtype)} != {dt.c_name(weight.dtype)}"
        )
    no_bool("addmm_impl_cpu_", input, *input._shape, n)
    return (*batch, n), input.dtype


_linear_grads = {
    "input": lambda g, weight: _product(g, conj(weight)),
    "weight": lambda g, input: _summed(g, conj(input)),
    "bias": lambda g, bias_shape: rows(g).sum(0) if len(bias_shape) == 1 else g,
}


def _linear_name(given, shapes):
    """Return the name of the graph node that PyTorch has in place of linear's: it is composed there."""
    matrix, bias = len(shapes["input"]) == 2, shapes["bias"] is not None
    return (
        ("AddmmBackward0" if bias else "MmBackward0") if matrix else "ViewBackward0" if bias else "UnsafeViewBackward0"
    )


_LINEAR_NODES = {"AddmmBackward0": (1, (2, 0, 1)), "MmBackward0": (1, (0, 1))}
_LINEAR = dict(meta=_linear_meta, derivative=_linear_grads, node=_linear_name, transposed=_LINEAR_NODES)
linear_op = op(
    "_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    "Dense",
    method=False,
    out=SAME_DTYPE,
    aten="linear.default",
    **_LINEAR,
)


@composite(
    "nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    out=SAME_DTYPE,
    python=False,
    autocast=LOWER,
)
def linear(input, weight, bias):
    if not input._shape or not weight._shape:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {len(input._shape)}D and "
            f"{len(weight._shape)}D"
        )
    if len(weight._shape) == 1 and bias is None:
        return matmul(input, weight)
    if len(input._shape) == 1 and len(weight._shape) == 2:
        return linear_op.call(input.view((1, *input._shape)), weight, bias).view(weight._shape[:1])
    return linear_op.call(input, weight, bias)


@composite(
    "nn.functional.bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    alias=("torch.bilinear",),
    out=False,
    python=False,
    autocast=WIDEST_ON_ACCELERATORS,
)
def bilinear(input1, input2, weight, bias):
    if not input1.dtype is input2.dtype is weight.dtype:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {dt.c_name(input1.dtype)}, input2: "
            f"{dt.c_name(input2.dtype)}, weight: {dt.c_name(weight.dtype)}"
        )
    s, r, (o, k1, k2) = input1._shape, input2._shape, weight._shape
    if len(s) != len(r):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(s)} and {len(r)}")
    for i, (x, y) in enumerate(zip(s[:-1], r[:-1])):
        if x != y:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {x} and {y}")
    for n, (x, y) in enumerate(((s[-1], k1), (r[-1], k2)), 1):
        if x != y:
            raise RuntimeError(f"bilinear(): input{n} size does not match weight size: got {x} but expected {y}")
    if bias is not None and bias._shape[0] != o:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias._shape[0]} but expected {o}")
    left = T.mm(rows(input1), weight.permute((1, 0, 2)).reshape((k1, o * k2))).reshape((numel(s[:-1]), o, k2))
    out = T.bmm(left, rows(input2).unsqueeze(-1)).reshape((*s[:-1], o))
    return out if bias is None else out + bias


# ------------------------------------------------------------------------------------------------ chains, tensordot
def _multi_dot(tensors):
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for where, t in (("first", tensors[0]), ("last", tensors[-1])):
        if len(t._shape) not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {where} tensor must be 1D or 2D but got {len(t._shape)}D")
    ms = list(tensors)
    vec_first, vec_last = len(ms[0]._shape) == 1, len(ms[-1]._shape) == 1
    if vec_first:
        ms[0] = ms[0].unsqueeze(0)
    if vec_last:
        ms[-1] = ms[-1].unsqueeze(-1)
    for i, t in enumerate(ms):
        if len(t._shape) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(t._shape)}D")
        if t.dtype is not ms[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {dt.c_name(ms[0].dtype)} and "
                f"tensor {i} {dt.c_name(t.dtype)}"
            )
        if i and ms[i - 1]._shape[1] != t._shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1]._shape)} and "
                f"{list(tensors[i]._shape)} cannot be multiplied"
            )
    out = _chain(ms)
    out = out.squeeze(0) if vec_first else out
    return out.squeeze(-1) if vec_last else out


def _chain(ms):
    """Return the product, computed in the order with the fewest multiplications."""
    n = len(ms)
    p = [ms[0]._shape[0], *[m._shape[1] for m in ms]]
    best = {(i, i): (0, None) for i in range(n)}
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            best[i, j] = min(
                ((best[i, k][0] + best[k + 1, j][0] + p[i] * p[k + 1] * p[j + 1], k) for k in range(i, j)),
                key=lambda c: c[0],
            )

    def product(i, j):
        return ms[i] if i == j else T.mm(product(i, best[i, j][1]), product(best[i, j][1] + 1, j))

    return product(0, n - 1)


_MULTI_DOT_DTYPE = Out("multi_dot(): expected out tensor to have dtype {want} but got {got}")
composite("linalg.multi_dot(Tensor[] tensors) -> Tensor", out=_MULTI_DOT_DTYPE, autocast=LOWER_ON_ACCELERATORS)(
    lambda tensors: _multi_dot(tensors)
)


@composite("_chain_matmul(Tensor[] matrices) -> Tensor", method=False)
def chain_matmul(matrices):
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for t in matrices:
        if len(t._shape) != 2:
            raise RuntimeError(f"Tensor dimension is {len(t._shape)}, expected 2 instead.")
    return matrices[0].clone() if len(matrices) == 1 else _multi_dot(matrices)


def _contracted(a, b, dims):
    """Return the dimensions of both sides that tensordot's argument `dims` denotes."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if numel(dims._shape) > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)) and len(dims) == 1 and not isinstance(dims[0], (tuple, list)):
        dims = int(dims[0])
    if not isinstance(dims, int):
        return ([d] if isinstance(d, int) else list(d) for d in dims)
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(len(a._shape), len(b._shape)):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


def _equal_sizes(a, b, da, db):
    """Make the contracted dimensions of both sides equal.

    Where one side has size 1 and the other is larger, the larger one is summed to size 1.
    """
    for x, y in zip(da, db):
        s, r = a._shape[x], b._shape[y]
        if s == r:
            continue
        if r == 1:
            a = a.sum(x, keepdim=True, dtype=a.dtype)
        elif s == 1:
            b = b.sum(y, keepdim=True, dtype=b.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {s} in dim {x} and second has size {r} in "
                f"dim {y}"
            )
    return a, b


@composite(
    "tensordot(Tensor self, Tensor other, Any dims=2) -> Tensor",
    method=False,
    out=SAME_SCALAR_TYPE,
    python=True,
    autocast=WIDEST_ON_ACCELERATORS,
)
def tensordot(self, other, dims):
    da, db = _contracted(self, other, dims)
    if self.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if len(da) != len(db):
        raise RuntimeError("both dimension lists should have same length")
    a, b = _equal_sizes(self, other, da, db)
    da, db = [wrap_dim(d, len(a._shape)) for d in da], [wrap_dim(d, len(b._shape)) for d in db]
    ka, kb = [d for d in range(len(a._shape)) if d not in da], [d for d in range(len(b._shape)) if d not in db]
    sa, sb = [a._shape[d] for d in ka], [b._shape[d] for d in kb]
    k = numel([a._shape[d] for d in da])
    if not sa and not sb:
        a, b = (x.permute(d) if len(d) == 1 else x.permute(d).reshape((k,)) for x, d in ((a, da), (b, db)))
        return T.dot(a, b).view(())
    out = T.mm(a.permute((*ka, *da)).reshape((numel(sa), k)), b.permute((*db, *kb)).reshape((k, numel(sb))))
    return out.reshape((*sa, *sb))


# ------------------------------------------------------------------------------------------------ einsum
def _error(text):
    return RuntimeError("einsum(): " + text)


def _subscripts(text, who, start, suffix=""):
    """Return the labels of one operand, with Ellipsis for its ellipsis."""
    out, i = [], 0
    while i < len(text):
        ch = text[i]
        if ch == ".":
            if Ellipsis in out:
                raise _error(
                    f"found '.' for {who} {'but' if suffix else 'for which'} an ellipsis "
                    f"{'(...) ' if suffix else ''}was already found"
                )
            if text[i : i + 3] != "...":
                raise _error(f"found '.' for {who} that is not part of any ellipsis{suffix}")
            out.append(Ellipsis)
            i += 3
            continue
        if ch in string.ascii_letters:
            out.append(ch)
        elif ch != " ":
            raise _error(
                f"invalid subscript given at index {start + i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        i += 1
    return out


def _parse(equation, operands):
    """Return the labels of each operand and of the result. Ellipses are replaced by integer labels."""
    left, arrow, right = equation.partition("->")
    terms, at = [], 0
    for i, part in enumerate(left.split(",")):
        if i == len(operands):
            raise _error("fewer operands were provided than specified in the equation")
        terms.append(_subscripts(part, f"operand {i}", at))
        at += len(part) + 1
    if len(terms) < len(operands):
        raise _error("more operands were provided than specified in the equation")
    wide = 0
    for i, (t, x) in enumerate(zip(terms, operands)):
        named, n = len(t) - (Ellipsis in t), len(x._shape)
        if Ellipsis in t and named > n:
            raise _error(
                f"the number of subscripts in the equation ({named}) is more than the number of dimensions ({n}) for "
                f"operand {i}"
            )
        if Ellipsis not in t and named != n:
            raise _error(
                f"the number of subscripts in the equation ({named}) does not match the number of dimensions ({n}) "
                f"for operand {i} and no ellipsis was given"
            )
        wide = max(wide, n - named) if Ellipsis in t else wide
    dots = list(range(wide))

    def spread(t, n):
        k = t.index(Ellipsis) if Ellipsis in t else None
        return t if k is None else [*t[:k], *dots[wide - n :], *t[k + 1 :]]

    full = [spread(t, len(x._shape) - len(t) + 1) for t, x in zip(terms, operands)]
    letters = [c for t in terms for c in t if c is not Ellipsis]
    if arrow:
        out = _subscripts(right, "output", len(left) + 2, " (...)")
        for c in out:
            if out.count(c) > 1:
                raise _error(f"output subscript {c} appears more than once in the output")
            if c is not Ellipsis and c not in letters:
                raise _error(f"output subscript {c} does not appear in the equation for any input operand")
        out = spread(out, wide)
    else:
        out = dots + sorted(c for c in set(letters) if letters.count(c) == 1)
    return full, out


def _diagonals(x, labels, i):
    """Take diagonals of x until each label occurs once, and return x and its labels."""
    labels = list(labels)
    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            a = labels.index(c)
            b = labels.index(c, a + 1)
            if x._shape[a] != x._shape[b]:
                raise _error(
                    f"subscript {c} is repeated for operand {i} but the sizes don't match, "
                    f"{x._shape[b]} != {x._shape[a]}"
                )
            x = x.diagonal(0, a, b).movedim(-1, a)
            del labels[b]
    return x, labels


def _pair(a, la, b, lb, keep):
    """Contract two operands over the labels that are not in `keep`, and return the result and its labels."""
    shared = [c for c in la if c in lb]
    for c in shared:
        # a size of 1 counts as absent where the other has more
        i, j = la.index(c), lb.index(c)
        if a._shape[i] != b._shape[j]:
            if a._shape[i] == 1:
                a, la = a.squeeze(i), [x for x in la if x != c]
            else:
                b, lb = b.squeeze(j), [x for x in lb if x != c]
    a, la = _sum_out(a, la, lambda c: c in lb or c in keep)
    b, lb = _sum_out(b, lb, lambda c: c in la or c in keep)
    total = [c for c in la if c in lb and c not in keep]
    batch = [c for c in la if c in lb and c in keep]
    only_a, only_b = [c for c in la if c not in lb], [c for c in lb if c not in la]
    out = batch + only_a + only_b
    if not total:
        a = a.permute([la.index(c) for c in batch + only_a])
        a = a.reshape((*a._shape, *[1] * len(only_b))) if only_b else a
        b = b.permute([lb.index(c) for c in batch + only_b])
        if only_a:
            b = b.reshape((*b._shape[: len(batch)], *[1] * len(only_a), *b._shape[len(batch) :]))
        return a * b, out
    if CONTEXT.autocast is None:
        _check_factors(a, b, (*a._shape, *b._shape))
        a = a if a.dtype is b.dtype else a.to(b.dtype)  # here dtypes differ only if nothing is multiplied
    sizes = [x._shape[ls.index(c)] for x, ls, cs in ((a, la, batch + only_a), (b, lb, only_b)) for c in cs]
    lead = sizes[: len(batch)]
    m, k = numel(sizes[len(batch) : len(batch) + len(only_a)]), numel([a._shape[la.index(c)] for c in total])
    a = a.permute([la.index(c) for c in batch + only_a + total])
    b = b.permute([lb.index(c) for c in batch + total + only_b])
    if len(total) != 1 or len(only_a) != 1 and batch or not only_a:
        a = a.reshape((*lead, m, k) if batch or not only_a else (*a._shape[: len(only_a)], k))
    if len(total) != 1 or len(only_b) != 1:
        b = b.reshape((*lead, k, numel(sizes[len(batch) + len(only_a) :])))
    r = T.matmul(a, b)
    return (r if list(r._shape) == sizes else r.reshape(sizes)), out


def _sum_out(x, labels, kept):
    gone = [i for i, c in enumerate(labels) if not kept(c)]
    return (x.sum(gone), [c for c in labels if kept(c)]) if gone else (x, labels)


@composite("einsum(str equation, Tensor[] operands) -> Tensor", method=False, python=True)
def _einsum(equation, operands):
    terms, out = _parse(equation, operands)
    seen, items = {}, []
    for i, (x, t) in enumerate(zip(operands, terms)):
        x, t = _diagonals(x, t, i)
        for c, n in zip(t, x._shape):
            if n != 1:
                if seen.setdefault(c, n) != n:
                    raise _error(
                        f"subscript {c} has size {n} for operand {i} which does not broadcast with previously seen "
                        f"size {seen[c]}"
                        if isinstance(c, str)
                        else f"dimension {c} covered by ellipsis in operand {i} has size {n} which does not "
                        f"broadcast with previously seen ellipsis with size {seen[c]} for the respective dimension"
                    )
        items.append((x, t))
    x, t = items[0]
    for i in range(1, len(items)):
        rest = {c for _, u in items[i + 1 :] for c in u}
        x, t = _pair(x, t, *items[i], rest.union(out))
    x, t = _sum_out(x, t, lambda c: c in out)
    if t != out:
        x = x.permute([t.index(c) for c in out])
    return x


_inner = function("torch", "einsum")


def einsum(*args):
    """Return the sum of products that an equation describes.

    The call is einsum("ij,jk->ik", a, b) or einsum(a, [0, 1], b, [1, 2], [0, 2]).
    """
    if len(args) < 2 or isinstance(args[1], (list, tuple)) and not args[1] and not isinstance(args[0], Tensor):
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if not isinstance(args[0], Tensor):
        equation, operands = args[0], args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = operands[0]
        if has_torch_function(operands):
            return handle_torch_function(einsum, operands, equation, *operands)
        return _inner(equation, list(operands))

    def spell(labels):
        for c in labels:
            if c is not Ellipsis and not 0 <= c < 52:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if c is Ellipsis else (string.ascii_uppercase + string.ascii_lowercase)[c] for c in labels)

    equation = ",".join(map(spell, args[1::2]))
    return _inner(equation + ("->" + spell(args[-1]) if len(args) % 2 else ""), list(args[: len(args) // 2 * 2 : 2]))


@overridable
def chain_matmul_(*matrices, out=None):
    """Return the product of the matrices, computed in the cheapest order.

    Deprecated in favor of linalg.multi_dot.
    """
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. "
        "Use torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
        "parameters."
    )
    ms = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    return T._chain_matmul(ms, **({} if out is None else {"out": out}))


for _f, _n in ((einsum, "einsum"), (chain_matmul_, "chain_matmul")):
    _f.__name__ = _f.__qualname__ = _n
    _f.__module__ = "torch.functional"
    provide("torch", _n, _f)
_inner.__globals__["public"] = einsum


# ------------------------------------------------------------------------------------------------ attention
def _softmax_shape(self, dim, dtype):
    if self._shape or dim not in (0, -1):
        wrap_dim(dim, len(self._shape))
    return self._shape, dtype or self.dtype


_safe_softmax_grad = lambda g, out, dim, self_dtype: T._softmax_backward_data(g, out, dim, self_dtype)
op(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    meta=_softmax_shape,
    method=False,
    derivative=_safe_softmax_grad,
)


def _scores_meta(query, key, mask, scale, causal):
    batch = _batch(query._shape, key._shape)
    if query._shape[-1] != key._shape[-1]:
        raise _batch_error(numel(batch), query._shape[-1], mT(key))
    shape = (*batch, query._shape[-2], key._shape[-2])
    if mask is not None and mask._shape != shape:
        check_spreads(shape, shape, mask._shape)
    return shape, query.dtype


# scaled query-key products plus a mask; -inf where a boolean mask is False or, if causal, where the key comes after the
# query
attention_scores = op(
    "_attention_scores(Tensor query, Tensor key, Tensor? mask, float scale, bool causal=False) -> Tensor",
    None,
    meta=_scores_meta,
    derivative={
        "query": lambda g, key, scale: attention_scores.call(g, mT(key), None, scale, False),
        "key": lambda g, query, scale: attention_scores.call(mT(g), mT(query), None, scale, False),
        "mask": lambda g: g,
    },
    function=False,
    method=False,
)


def _check_attention(q, k, v, mask, is_causal, flash):
    """Check the arguments. Only PyTorch's flash attention (flash) applies a mask beside the causal one."""
    if not q.dtype is k.dtype is v.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{dt.c_name(q.dtype)} key.dtype: {dt.c_name(k.dtype)} and value.dtype: {dt.c_name(v.dtype)} instead."
        )
    if len(q._shape) < 2 or len(k._shape) < 2 or len(v._shape) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{len(q._shape)} key.dim: {len(k._shape)} and value.dim: {len(v._shape)} instead."
        )
    if mask is not None and mask.dtype not in (dt.bool_, dt.float32, q.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{dt.c_name(mask.dtype)} and  query.dtype: {dt.c_name(q.dtype)} instead."
        )
    if is_causal and mask is not None and not flash:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if q.dtype.category < dt.FLOAT:
        raise RuntimeError(f"expected scalar type Float but found {_name(q)}")


def attention_weights(q, k, mask, is_causal, scale):
    """Return the softmax of the attention scores.

    With a causal mask each query sees at least one key. Another mask may hide all of them, which needs _safe_softmax.
    """
    return _softmaxed(attention_scores.call(q, k, mask, _scale(q, scale), is_causal), mask)


def _softmaxed(scores, mask):
    return (T.softmax if mask is None else T._safe_softmax)(scores, -1)


@composite(
    "nn.functional.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
    "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    out=False,
    python=False,
    autocast=LOWER,
)
def scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """Return softmax(query @ key^T * scale + mask) @ value.

    A row with nothing to attend to is zero.
    """
    q, k, v = query, key, value
    flash = has_flash_attention(q, k, v, attn_mask, dropout_p, enable_gqa)
    _check_attention(q, k, v, attn_mask, is_causal, flash)
    fused = backend(q.device).fused("nn.functional.scaled_dot_product_attention")
    if fused is not None and (out := fused(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa)) is not None:
        return out
    if flash:
        if PROCESS.interceptors and intercepted((q, k, v)):
            if attn_mask is not None and attn_mask.dtype is dt.bool_:
                attn_mask = T.where(
                    attn_mask, ATEN.scalar_tensor(0.0, dtype=q.dtype), ATEN.scalar_tensor(-math.inf, dtype=q.dtype)
                )
            return flash_attention_for_cpu.op.call(q, k, v, 0.0, is_causal, attn_mask, scale)[0]
        return _flash_attention.op.call(q, k, v, attn_mask, is_causal, scale)[0]
    if enable_gqa:
        k, v = repeat_heads(q, k, v)
    d = query.dtype
    work = dt.OPMATH.get(d)
    if work is not None:
        q, k, v = q.to(work), k.to(work), v.to(work)
    weights = attention_weights(q, k, attn_mask, is_causal, scale)
    if dropout_p:
        if not 0 <= dropout_p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
        weights = T.dropout(weights, dropout_p, True)
    out = T.matmul(weights, v)
    return out if work is None else out.to(d)


# which of PyTorch's attention kernels are enabled, and whether the math implementation may reduce in half types
SDP_ENABLED = {**dict.fromkeys(("flash", "mem_efficient", "math", "cudnn", "overrideable"), True), "reduction": False}
_scale = lambda q, scale: 1 / max(q._shape[-1], 1) ** 0.5 if scale is None else scale


def has_flash_attention(q, k, v, mask, dropout_p, gqa):
    """Whether PyTorch's flash attention kernel for the CPU supports these arguments."""
    if len(q._shape) != 4 or dropout_p or q.device is not HOST or not SDP_ENABLED["flash"]:
        return False
    if mask is not None and (
        mask.size(-2) < 0 or mask._requires_grad or len(mask._shape) not in (2, 4)
    ):  # mask.size(-2) raises IndexError for a 1-d mask
        return False
    b, h, _, d = q._shape
    for t in (q, k, v):
        shape = t._shape
        if (
            len(shape) != 4
            or shape[0] != b
            or shape[1] != h
            and not gqa
            or shape[3] != d
            or 0 in shape
            or t._stride is not None
            and t._stride[3] != 1
        ):
            return False
    return True


def _wide_heads(q, k, v):
    """Convert to the dtype to compute in, and repeat heads of k and v to match those of q."""
    work = dt.OPMATH.get(q.dtype)
    if work is not None:
        q, k, v = q.to(work), k.to(work), v.to(work)
    return q, *((k, v) if k._shape[1] == v._shape[1] == q._shape[1] else repeat_heads(q, k, v))


def _as_query(out, q):
    """Return a result in the query's dtype and with its strides."""
    if q._stride is not None:
        return _to_copy.call(out, q.dtype, None, preserved_strides(q))
    return out if out.dtype is q.dtype else out.to(q.dtype)


def _flash_grads(g0, gs, query, key, value, scale, out1, needs):
    """Return the gradients of query, key and value, given the attention weights."""
    q, k, v = _wide_heads(query, key, value)
    factor, g = _scale(q, scale), g0.to(q.dtype)
    gq = gk = gv = None
    if needs[0] or needs[1]:
        by_weights = T.matmul(g, mT(v))
        if len(gs) > 1 and gs[1] is not None:
            by_weights = by_weights + gs[1]
        by_scores = T._softmax_backward_data(by_weights, out1, -1, out1.dtype)
        gq = attention_scores.call(by_scores, mT(k), None, factor, False).to(query.dtype) if needs[0] else None
        gk = attention_scores.call(mT(by_scores), mT(q), None, factor, False) if needs[1] else None
    if needs[2]:
        gv = T.matmul(mT(out1), g)
    gk, gv = (None if t is None else _of_groups(t, like) for t, like in ((gk, key), (gv, value)))
    return tuple(None if t is None else _rows_first(t) for t in (gq, gk, gv))


def _rows_first(t):
    """Give heads of rows the memory of rows of heads: the layout in which PyTorch's kernel writes."""
    return unviewed(t.transpose(1, 2).contiguous().transpose(1, 2))


def _of_groups(t, like):
    """Return the gradient of heads that were repeated for groups of queries."""
    n = t._shape[1] // like._shape[1]
    return (t if n == 1 else t.unflatten(1, (-1, n)).sum(2)).to(like.dtype)


def _flash_grads_again(g0, query, key, value, is_causal, attn_mask, scale, needs):
    q, k, _ = _wide_heads(query, key, value)
    weights = attention_weights(q, k, attn_mask, is_causal, scale)
    return _flash_grads(g0, (), query, key, value, scale, weights, needs)


@composite(
    "_flash_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float? scale) -> (Tensor, "
    "Tensor)",
    derivative={("query", "key", "value"): _flash_grads},
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    method=False,
    function=False,
    out=False,
)
def _flash_attention(query, key, value, mask, causal, scale):
    """Return (attention, attention weights).

    The attention is the same as that of flash_attention_for_cpu, but the weights are saved instead of the log-sum-exp.
    """
    q, k, v = _wide_heads(query, key, value)
    weights = attention_weights(q, k, mask, causal, scale)
    return _as_query(T.matmul(weights, v), query), weights


@composite(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    derivative={("query", "key", "value"): _flash_grads_again},
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    non_differentiable=(1,),
    method=False,
    out=False,
)
def flash_attention_for_cpu(query, key, value, dropout_p, is_causal, attn_mask, scale):
    """Return (attention, log-sum-exp of each query's scores)."""
    if query.dtype.category != dt.FLOAT:
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: Expected data type in FP32, FP64, BF16, FP16, but got "
            + query.dtype.name
        )
    if any(len(t._shape) != 4 for t in (query, key, value)):
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}"
        )
    if dropout_p:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    q, k, v = _wide_heads(query, key, value)
    scores = attention_scores.call(q, k, attn_mask, _scale(q, scale), is_causal)
    weights = _softmaxed(scores, attn_mask)
    sums = T.logsumexp(scores.detach(), -1)
    return _as_query(T.matmul(weights, v), query), _rows_first(sums)


def repeat_heads(q, k, v):
    """Repeat the heads of k and v to the number of heads of q: each serves a group of queries."""

    def repeated(x, n):
        s = x._shape
        return x if n == 1 else x.unsqueeze(-3).expand((*s[:-2], n, *s[-2:])).reshape((*s[:-3], s[-3] * n, *s[-2:]))

    hq, hk, hv = (t._shape[-3] for t in (q, k, v))
    if hq % hk or hq % hv:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    return repeated(k, hq // hk), repeated(v, hq // hv)


# ------------------------------------------------------------------------------------------------ distances
def _cdist_meta(x1, x2, p):
    return (*x1._shape[:-1], x2._shape[-2]), x1.dtype


def _cdist_grads(g, x1, x2, p, out, needs):
    """Return the gradients of both inputs. Where a distance is zero, so is its gradient."""
    if p == 0:
        return T.zeros_like(x1), T.zeros_like(x2)
    if p == 2:
        w = T.where(out == 0, 0.0, g / out)
        return (
            x1 * w.sum(-1, keepdim=True) - T.matmul(w, x2) if needs[0] else None,
            x2 * w.sum(-2).unsqueeze(-1) - T.matmul(mT(w), x1) if needs[1] else None,
        )
    diff = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    w = _distance_slope(diff, out.unsqueeze(-1), g.unsqueeze(-1), p)
    return w.sum(-2) if needs[0] else None, -w.sum(-3) if needs[1] else None


def _distance_slope(diff, dist, g, p):
    """Return the gradient of the differences, given that of the distances."""
    if p == 1:
        return diff.sign() * g
    size = diff.abs()
    if p == float("inf"):
        return diff.sign() * g * (size == dist)
    if p == 0:
        return T.zeros_like(diff)
    if p == 2:
        return T.where(dist == 0, 0.0, diff * (g / dist))
    slope = diff.sign() * size ** (p - 1) * (g / dist ** (p - 1))
    return T.where((dist == 0) | (size == 0) if p < 1 else dist == 0, 0.0, slope)


_CDIST = dict(
    meta=_cdist_meta, derivative={("x1", "x2"): _cdist_grads}, call=lambda prim, x1, x2, p: prim.of(p)(x1, x2)
)
op(
    "_cdist(Tensor x1, Tensor x2, float p) -> Tensor",
    "Cdist",
    method=False,
    aten="_cdist_forward.default",
    no_forward="_cdist_forward",
    **_CDIST,
)


@composite(
    "cdist(Tensor x1, Tensor x2, float p=2.0, str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
    method=False,
    out=False,
    python=True,
    autocast=FLOAT32,
)
def cdist(x1, x2, p, compute_mode):
    if compute_mode not in (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for t, who in ((x1, "X1"), (x2, "X2")):
        if len(t._shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {who} got: {len(t._shape)}D")
    if x1._shape[-1] != x2._shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1._shape[-1]} X2: {x2._shape[-1]}")
    for t, who in ((x1, "X1"), (x2, "X2")):
        if t.dtype.category != dt.FLOAT:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {who} got: {_name(t)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {_name(x1)} but found {_name(x2)}")
    if x1.dtype in dt.OPMATH:
        raise NotImplementedError(f"\"cdist\" not implemented for '{_name(x1)}'")
    batch = broadcast_shapes(x1._shape[:-2], x2._shape[:-2])
    x1, x2 = (x.expand((*batch, *x._shape[-2:])) for x in (x1, x2))
    if len(batch) < 2:
        return T._cdist(x1, x2, p)
    r = T._cdist(x1.flatten(0, -3), x2.flatten(0, -3), p)
    return r.reshape((*batch, *r._shape[1:]))


def _pdist_meta(self, p):
    n = self._shape[0]
    return (n * (n - 1) // 2,), self.dtype


def _pdist_grad(g, self, p, out):
    n = self._shape[0]
    i, j = T.triu_indices(n, n, 1, device=self.device).unbind(0)
    slope = _distance_slope(self.index_select(0, i) - self.index_select(0, j), out.unsqueeze(-1), g.unsqueeze(-1), p)
    return T.zeros_like(self).index_add(0, i, slope).index_add(0, j, -slope)


_PDIST = dict(meta=_pdist_meta, derivative=_pdist_grad, no_forward="_pdist_forward")
op("_pdist(Tensor self, float p) -> Tensor", "Pdist", method=False, aten="_pdist_forward.default", **_PDIST)


@composite("pdist(Tensor self, float p=2) -> Tensor", method=False, out=False, alias=("nn.functional.pdist",))
def pdist(self, p):
    if len(self._shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(self._shape)}D")
    if self.dtype.category != dt.FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return T._pdist(self, p)


@composite(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor",
    method=False,
    out=False,
    alias=("nn.functional.cosine_similarity",),
    autocast=FLOAT32_ON_ACCELERATORS,
)
def cosine_similarity(x1, x2, dim, eps):
    d = dt.promote_types(x1.dtype, x2.dtype)
    if d.category != dt.FLOAT:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dt.scalar_name(d)}")
    shape = broadcast_shapes(x1._shape, x2._shape)
    wrap_dim(dim, len(shape))
    x1, x2 = (x.to(d).expand(shape) for x in (x1, x2))
    n1, n2 = (LINALG.vector_norm(x, 2, [dim], True).clone() for x in (x1, x2))
    for n in (n1, n2):
        n.detach().clamp_min_(eps)  # not part of the gradient
    return (x1 / n1 * (x2 / n2)).sum(dim)


def _cross_prepare(self, other, dim):
    n = len(self._shape)
    if n != len(other._shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, n)
    if self._shape[d] != 3 or other._shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self._shape[d]} and {other._shape[d]}"
        )
    if self.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {_name(self)} but found {_name(other)}")
    no_bool("cross", self)
    shape = broadcast_shapes(self._shape, other._shape)
    return self.expand(shape), other.expand(shape), d


_cross_grads = {
    "self": lambda g, other, dim: LINALG.cross(conj(other), g, dim=dim),
    "other": lambda g, self, dim: LINALG.cross(g, conj(self), dim=dim),
}
_CROSS = dict(
    saves_given=True,
    prepare=_cross_prepare,
    call=lambda prim, a, b, dim: prim.of(dim)(a, b),
    meta=like_self,
    derivative=_cross_grads,
)
op("linalg.cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", "Cross", out=SAME_DTYPE, **_CROSS)


@composite("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", out=SAME_DTYPE, autocast=WIDEST_ON_ACCELERATORS)
def cross(self, other, dim):
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
            "or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release."
        )
        dim = next((i for i, n in enumerate(broadcast_shapes(self._shape, other._shape)) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return LINALG.cross(self, other, dim=dim)


@composite("linalg.vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", out=SAME_DTYPE, autocast=LOWER)
def vecdot(x, y, dim):
    for t in (x, y):
        if t.dtype.category < dt.FLOAT:
            raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {_name(t)}")
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {_name(x)} and y of type "
            f"{_name(y)} instead"
        )
    return (conj(x) * y).sum(dim)
