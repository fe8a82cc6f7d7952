"""Autograd of sparse tensors: names of nodes, and gradients of elements that a tensor does not specify.

The gradient of a sparse tensor's values covers only the specified elements. PyTorch's gradients of products and sums
cover all elements. Those are computed through a twin, a strided tensor of the same elements, if something can receive
them: a strided tensor that was made sparse, or a leaf. A shadow is a strided placeholder in the graph that receives the
gradient of the whole tensor.
"""

import functools
import weakref

from ...autograd.function import Function
from ...autograd.graph import add
from ...context import CONTEXT
from ..common import T, Tensor


def _sparse(t):
    return getattr(type(t), "_of_layout", False)


class _Twin:
    """A strided twin that is not computed yet: func applied to the tensors of the sources."""

    __slots__ = ("func", "sources", "kwargs")

    def __init__(self, func, sources=(), kwargs=None):
        self.func, self.sources, self.kwargs = func, sources, kwargs or {}


def _source(t):
    """Return a strided tensor itself, or the present twin of a sparse one.

    In-place operators may replace the twin later.
    """
    if not _sparse(t):
        return t
    found = t.__dict__.get("_twin")
    if found is None:
        found = _Twin(functools.partial(_of_whole, t) if has_twin(t) else t.detach().to_dense)
    return found


def _made(root):
    """Compute the tensor of a twin. Iterative, because a chain of twins may exceed Python's recursion limit."""
    made, stack = {}, [root]
    while stack:
        twin = stack[-1]
        missing = [s for s in twin.sources if isinstance(s, _Twin) and s not in made]
        if missing:
            stack += missing
            continue
        stack.pop()
        if twin not in made:
            made[twin] = twin.func(*(made[s] if isinstance(s, _Twin) else s for s in twin.sources), **twin.kwargs)
    return made[root]


def given_by(t, source):
    """Set the twin of t: a strided tensor, or one that is not computed yet."""
    t._twin = source
    return t


def starting_from(layout):
    """Return a context for a backward pass that starts from a gradient of a layout."""
    return CONTEXT.set(sparse_layout=layout)


def has_twin(t):
    return "_twin" in t.__dict__ or "_shadow" in t.__dict__ or t.requires_grad and t.is_leaf


def twin(t):
    """Return the strided tensor of the same elements, through which gradients flow."""
    found = _source(t)
    return _made(found) if isinstance(found, _Twin) else found


class _Elements(Function):
    """All elements of a leaf as a strided tensor; its gradient is passed to the shadow."""

    @staticmethod
    def forward(ctx, shadow, values):
        ctx.set_materialize_grads(False)
        return values.view_as(values)

    @staticmethod
    def backward(ctx, g):
        return g, None


class _Sparsified(Function):
    """Identity whose gradient is made sparse, like the tensor."""

    @staticmethod
    def forward(ctx, elements, sparse_dim):
        ctx.set_materialize_grads(False)
        ctx.sparse_dim = sparse_dim
        return elements.view_as(elements)

    @staticmethod
    def backward(ctx, g):
        return None if g is None else g.to_sparse(ctx.sparse_dim), None


def _all_elements(t):
    """Return a sparse tensor as a strided one whose gradient covers every element."""
    place = shadow(t) if t._is_sparse and t.requires_grad else None
    if place is None:
        return twin(t)
    return _Sparsified.apply(_Elements.apply(place, t.detach().to_dense()), t._i._shape[0])


def _of_whole(t):
    return _Elements.apply(shadow(t), t.detach().to_dense())


def nothing_like(t):
    """Return a strided tensor of zeros of the shape of t, in the memory of one element."""
    return T.zeros((), dtype=t.dtype, device=t.device).expand(t._shape)


def shadow(t):
    """Return the tensor that receives gradients of the whole tensor, which may be sparse.

    None if there is no such tensor: gradients then go through the values or the twin.
    """
    if "_shadow" in t.__dict__:
        return t._shadow
    if t.requires_grad and t.is_leaf:
        return _of_leaf(t)
    found = t.__dict__.get("_twin")
    return None if isinstance(found, _Twin) else _Whole.apply(t._v, found, (t.detach(),))


def _of_leaf(t):
    t._shadow = nothing_like(t)._requiring_grad()
    leaf = weakref.ref(t)

    def accumulate(shadow):
        owner = leaf()
        if owner is not None:
            g, shadow.grad = shadow.grad, None
            owner._dense_grad = add(owner._dense_grad, g)
            owner._layout_of_grad = CONTEXT.sparse_layout

    t._shadow.register_post_accumulate_grad_hook(accumulate)
    return t._shadow


class _Whole(Function):
    """Create the shadow of a sparse tensor.

    Its gradient is passed to the values, or to the strided source tensor if the gradient has elements that the tensor
    does not specify.
    """

    @staticmethod
    def forward(ctx, values, source, t):
        ctx.set_materialize_grads(False)
        (ctx.tensor,) = t
        ctx.has_source = source is not None
        return nothing_like(ctx.tensor)

    @staticmethod
    def backward(ctx, g):
        if g is None:
            return None, None, None
        if ctx.has_source and not ctx.tensor._holds(g):
            return None, g.to_dense(), None
        return ctx.tensor._at_indices(g), None, None


class _Product(Function):
    """The node of a product with a sparse tensor.

    Each gradient is the other factor times the incoming gradient, which may be sparse. The outputs are the values of
    the product and its shadow.
    """

    @staticmethod
    def forward(ctx, a, b, factors, product):
        ctx.set_materialize_grads(False)
        (product,) = ctx.product = product
        needed = [a.requires_grad for a in factors]
        ctx.save_for_backward(*(a if wanted else None for a, wanted in zip(factors, reversed(needed))))
        return product._v.view_as(product._v), nothing_like(product)

    @staticmethod
    def backward(ctx, of_values, of_whole):
        if of_values is None and of_whole is None:
            return None, None, None, None
        g = add(None if of_values is None else ctx.product[0]._gradient(of_values), of_whole)
        return (
            *(
                None if a is None else _fitted(g * a.conj(), *m[:2])
                for a, m in zip(reversed(ctx.saved_tensors), ctx._in_meta)
            ),
            None,
            None,
        )


_Product._backward_cls.__module__ = "builtins"
_Product._backward_cls.__name__ = _Product._backward_cls.__qualname__ = "MulBackward0"
for _i, _factor in enumerate(("self", "other")):
    setattr(_Product._backward_cls, f"_saved_{_factor}", property(lambda node, i=_i: node.saved_tensors[i]))


def _fitted(g, shape, dtype):
    """Convert a gradient to the dtype category of its tensor, and sum it over dimensions that were broadcast."""
    if not _sparse(g):
        return g
    if g.dtype.is_complex and not dtype.is_complex:
        g = g._with(g._v.real)
    if not shape:
        return T.sum(g)
    dims = [d for d, (n, m) in enumerate(zip(g._shape, shape)) if n != m]
    return T.sum(g, dims, True) if dims and len(shape) == len(g._shape) else g


def _place(t):
    if not t._shape:
        return None
    return shadow(t) if t.requires_grad else nothing_like(t)


def product(f):
    """@product marks a function that multiplies two tensors, one of them sparse."""

    @functools.wraps(f)
    def recorded(self, other):
        factors = self, other
        if not (CONTEXT.grad and all(isinstance(a, Tensor) for a in factors) and any(a.requires_grad for a in factors)):
            return f(self, other)
        # 0-d tensors have no shadow, nor do results of chained sparse functions
        places = [a if not _sparse(a) else _place(a) for a in factors]
        if any(place is None for place in places):
            return f(self, other)
        result = f(*(a.detach() for a in factors))
        result._v, result._shadow = _Product.apply(*places, factors, (result.detach(),))
        return result

    return recorded


def to_all(f):
    """@to_all marks a function whose gradient in PyTorch covers every element of a sparse argument.

    A sparse result must be linear in it.
    """
    f.gradient = "all"
    return f


def within(f):
    """@within is like @to_all, but the result of several sparse arguments has only elements that all of them specify.

    Gradients have the elements of the arguments.
    """
    f.gradient = "within"
    return f


def same_elements(f):
    """@same_elements marks a function whose result has the elements of its argument."""
    f.gradient = "same"
    return f


def reaching_all(func, kind, args, kwargs, result):
    """Give the result of a function PyTorch's gradients of unspecified elements, if something receives them."""
    sparse = [a for a in args if _sparse(a)]
    if kind is None or not CONTEXT.grad or not any(map(has_twin, sparse)):
        return result
    if not _sparse(result):
        if kind == "same":  # to_dense
            return _all_elements(sparse[0]) if kwargs.get("masked_grad") is False else result
        return func(*map(twin, args), **kwargs)
    if kind == "same":
        return given_by(result, _source(sparse[0]))
    if result._v.requires_grad and "_shadow" not in result.__dict__:
        given_by(result, _Twin(func, tuple(map(_source, args)), kwargs))
        if (
            len(sparse) > 1 and kind != "within" and result._is_sparse and result._c
        ):  # each argument has a gradient wherever the sum has values
            result._v = twin(result)[tuple(result._i)]
    return result


# ------------------------------------------------------------------------------------------------ names
_NODES = {
    "to_sparse": "ToSparseBackward1",
    "to_sparse_coo": "ToSparseBackward1",
    "to_sparse.sparse_dim": "ToSparseBackward0",
    "sparse_coo_tensor": "SparseCooTensorWithDimsAndTensorsBackward0",
    "sparse_compressed_tensor": "SparseCompressedTensorBackward0",
    "matmul": "MmBackward0",
    "_sparse_mm": "SparseAddmmBackward0",
    "_sparse_addmm": "SparseAddmmBackward0",
    "norm": "NormBackward1",
    "sparse_sampled_addmm": "SparseSampledAddmmBackward0",
    "linear": "MmBackward0",
}


def _node_name(name, args, kwargs):
    if name == "_sparse_mm" and (len(args) > 2 or kwargs):
        return "SparseMmReduceImplBackward0"
    if name in ("_sparse_mm", "mm", "matmul") and all(getattr(a, "is_sparse", False) for a in args):
        return "SparseSparseMatmulBackward0"
    if name == "linear" and len(args) > 2 and args[2] is not None:
        return "AddmmBackward0"
    if name == "_sparse_sum" and len(args) < 2:
        return "SumBackward0"
    return _NODES.get(name) or "".join(map(str.title, name.strip("_").split("_"))) + "Backward0"


@functools.cache
def _node(name):
    """Return a Function that passes gradients on, whose node has the given name."""

    def forward(ctx, values):
        ctx.set_materialize_grads(False)
        return values.view_as(values)

    def backward(ctx, g):
        return g

    cls = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    cls._backward_cls.__name__ = cls._backward_cls.__qualname__ = name
    return cls


def named(name, result, args=(), kwargs=None):
    """Give the node of a function's result the name that it has in PyTorch."""
    values = result._v if _sparse(result) else result
    if not isinstance(values, Tensor) or not CONTEXT.grad or values.grad_fn is None:
        return result
    name = _node_name(name, args, kwargs)
    if type(values.grad_fn).__name__ == name or values._view is not None and values is result:
        return result
    values = _node(name).apply(values)
    values._view = None
    if _sparse(result):
        result._v = values
        return result
    return values
