"""How autograd sees sparse tensors: names of nodes, and gradients of elements that a tensor does not specify.

The gradient of a sparse tensor's values reaches what is specified. PyTorch's gradients of products and sums reach every element: those are computed from
a strided twin, of the same elements, where there is something that could receive them: a strided tensor that was made sparse, or a leaf.
"""

import contextlib
import functools
import threading
import weakref

from ...autograd.function import Function
from ...autograd.modes import MODE
from ..common import T, Tensor


def _sparse(t):
    return getattr(type(t), "_of_layout", False)


class _Twin:
    """The strided twin of a sparse tensor, not made yet: func of what the sources are."""

    __slots__ = ("func", "sources", "kwargs")

    def __init__(self, func, sources=(), kwargs=None):
        self.func, self.sources, self.kwargs = func, sources, kwargs or {}


def _source(t):
    """A strided tensor, or the twin of a sparse one as it is now: in-place operators may give it another later."""
    if not _sparse(t):
        return t
    found = t.__dict__.get("_twin")
    if found is None:
        found = _Twin(functools.partial(_of_leaf, t) if t.requires_grad and t.is_leaf else t.detach().to_dense)
    return found


def _made(root):
    """The tensor of a twin; a chain of them may be longer than Python's stack."""
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
    """t's twin: a strided tensor, or one not made yet."""
    t._twin = source
    return t


class _Root(threading.local):
    """The layout of the gradient that a backward pass started from, where that was compressed: PyTorch's operators keep it up to the leaves."""

    layout = None


_ROOT = _Root()


@contextlib.contextmanager
def starting_from(layout):
    before, _ROOT.layout = _ROOT.layout, layout
    try:
        yield
    finally:
        _ROOT.layout = before


def has_twin(t):
    return "_twin" in t.__dict__ or t.requires_grad and t.is_leaf


def twin(t):
    """The strided tensor of the same elements that gradients go through."""
    found = _source(t)
    return _made(found) if isinstance(found, _Twin) else found


class _Elements(Function):
    """All elements of a leaf; their gradient is that of its shadow."""

    @staticmethod
    def forward(ctx, shadow, values):
        return values.view_as(values)

    @staticmethod
    def backward(ctx, g):
        return g, None


def _of_leaf(t):
    if "_shadow" not in t.__dict__:
        t._shadow = T.zeros((), dtype=t.dtype, device=t.device).expand(t._shape)._requiring_grad()
        leaf = weakref.ref(t)

        def accumulate(shadow):
            owner = leaf()
            if owner is not None:
                g, shadow.grad = shadow.grad, None
                owner._dense_grad = g if owner._dense_grad is None else owner._dense_grad + g
                owner._layout_of_grad = _ROOT.layout

        t._shadow.register_post_accumulate_grad_hook(accumulate)
    return _Elements.apply(t._shadow, t.detach().to_dense())


def to_all(f):
    """@to_all: PyTorch's gradient of the function reaches every element of a sparse argument; a sparse result is linear in it."""
    f.gradient = "all"
    return f


def within(f):
    """@within: as @to_all, but what it makes of several sparse arguments has elements where all of them have: gradients have those of the arguments."""
    f.gradient = "within"
    return f


def same_elements(f):
    """@same_elements: the result has the elements of the argument."""
    f.gradient = "same"
    return f


def reaching_all(func, kind, args, kwargs, result):
    """The result of a function of sparse tensors with PyTorch's gradients of unspecified elements, where something receives them."""
    sparse = [a for a in args if _sparse(a)]
    if kind is None or not MODE.grad or not any(map(has_twin, sparse)):
        return result
    if not _sparse(result):
        if kind == "same":  # to_dense
            return twin(sparse[0]) if kwargs.get("masked_grad") is False else result
        return func(*map(twin, args), **kwargs)
    if kind == "same":
        return given_by(result, _source(sparse[0]))
    if result._v.requires_grad:
        given_by(result, _Twin(func, tuple(map(_source, args)), kwargs))
        if len(sparse) > 1 and kind != "within" and result.is_sparse and result._c:  # each has a gradient wherever the sum has values
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
    """A node of the graph that passes gradients on, under the name of PyTorch's."""

    def forward(ctx, values):
        ctx.set_materialize_grads(False)
        return values.view_as(values)

    def backward(ctx, g):
        return g

    cls = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    cls._backward_cls.__name__ = cls._backward_cls.__qualname__ = name
    return cls


def named(name, result, args=(), kwargs=None):
    """The result of a function, its node under the name that PyTorch's has."""
    values = result._v if _sparse(result) else result
    if not isinstance(values, Tensor) or not MODE.grad or values.grad_fn is None:
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
