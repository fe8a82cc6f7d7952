"""Base class of sparse tensors: strided tensors of indices and values in one class, and the dispatch of calls.

A sparse tensor has no memory and no autograd node of its own; autograd works on its values. Calls arrive through
__torch_function__; functions that are in no table raise PyTorch's error for an operator without a kernel for the
layout.
"""

import copy
import functools
import inspect

from ...arguments import bind
from ...autograd.graph import add
from ...call.overload import name_of, resolve
from ...context import CONTEXT
from ...cpython import plain_name
from ...device import HOST, LAYOUTS, META
from ...registry import OPERATORS, operators
from ..common import T, Tensor, dt
from ..memory import CONVERSIONS
from ..valued import ValuedTensor
from .gradients import named, reaching_all, shadow, starting_from, twin

COO = LAYOUTS["sparse_coo"]
ROWS = tuple(LAYOUTS[n] for n in ("sparse_csr", "sparse_bsr"))  # layouts whose rows are compressed
# layouts in which each index selects a block of values
BLOCKS = tuple(LAYOUTS[n] for n in ("sparse_bsr", "sparse_bsc"))
COMPRESSED = (*ROWS, *(LAYOUTS[n] for n in ("sparse_csc", "sparse_bsc")))
SPOKEN = {
    LAYOUTS[n]: s
    for n, s in zip(LAYOUTS, "Strided Sparse SparseCsr SparseCsc SparseBsr SparseBsc Mkldnn Jagged".split())
}  # layout names in error messages
# methods that are no operators and convert each value
TO_ANOTHER = frozenset(("to", "cpu", "npu", *CONVERSIONS))


@functools.cache
def rules():
    """Map name -> (operator, sparse option of its declaration): "values", "coalesced", ..."""
    return {name: (o, o.options.sparse) for o in operators() if o.options.sparse for name in (o.name, *o.options.alias)}


class INVARIANTS:
    """torch.sparse.check_sparse_tensor_invariants: whether new tensors are checked for indices outside their size."""

    checked = False
    chosen = False  # whether the program has set `checked`


class SparseTensor(ValuedTensor, raw=True):
    """A tensor of a sparse layout.

    `_v` holds its values, `TABLE` the handlers of functions for tensors of the layout, by function name.
    """

    __module__ = "torch"
    TABLE: dict = {}
    INDICES: tuple = ()  # names of the attributes that hold indices
    KEY = "Sparse"  # PyTorch's dispatch key, without the device

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = _name(func), dict(kwargs or {})
        out = kwargs.pop("out", None)
        found = [
            a
            for a in _flat((*args, *kwargs.values(), *(out if isinstance(out, tuple) else (out,))))
            if isinstance(a, SparseTensor)
        ]
        # compressed tensors take precedence over coordinate tensors
        owner = next((a for a in found if a._layout is not COO), found[0])
        _check(func, args, kwargs)
        if name in owner.TABLE:
            result = called(owner.TABLE[name], func, args, kwargs)
        elif args and isinstance(args[0], SparseTensor) and name in TO_ANOTHER:
            result = _converted(func, args[0], args[1:], kwargs)
        elif rules().get(name, ("", ""))[1] == "composite" and (call := declared(func, args, kwargs)) is not None:
            result = call[0].fn(*call[1])
        else:
            result = owner._by_rule(func, name, args, kwargs)
        if out is not None:
            return written(out, result)
        if any(result is a for a in args):
            return result
        found = owner.TABLE.get(name)
        conversion = found is None and name in TO_ANOTHER
        kind = getattr(found, "gradient", None) or (
            "all" if conversion or rules().get(name, ("", ""))[1].endswith("values") else None
        )
        return named("to_copy" if conversion else name, reaching_all(func, kind, args, kwargs, result), args, kwargs)

    @staticmethod
    def _by_rule(func, name, args, kwargs):
        raise refused(func, args, kwargs)

    def _take(self, other):
        """Replace the contents of this tensor by those of `other`, for in-place operators."""
        if CONTEXT.grad and self.requires_grad and self.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        for name in ("_twin", "_shadow"):
            self.__dict__.pop(name, None)
        self.__dict__.update(other.__dict__)
        self._shape, self._dtype, self._device = other._shape, other.dtype, other.device
        self._bump()
        return self

    def _fits(self, other):
        """Cast `other` to the dtype of this tensor for an in-place operator, or raise PyTorch's error."""
        if other.dtype is not self.dtype and not dt.can_cast(other.dtype, self.dtype):
            raise RuntimeError(
                f"result type {dt.scalar_name(other.dtype)} can't be cast to the desired output type "
                f"{dt.scalar_name(self.dtype)}"
            )
        return other.to(self.dtype)

    def register_hook(self, hook):
        handle = super().register_hook(hook)
        if self.is_leaf or "_shadow" in self.__dict__:  # gradients of the whole tensor arrive at its shadow
            place = shadow(self)
            also = place.register_hook(lambda g: g if g is None else hook(g))
            place._hooks[handle.id] = place._hooks.pop(also.id)
            handle.extra_dict_ref += (also.hooks_dict_ref,)
        return handle

    def retain_grad(self):
        super().retain_grad()
        if "_shadow" in self.__dict__ and not self.is_leaf:
            self._shadow.retain_grad()

    def _no_memory(self, *args, **kwargs):
        raise NotImplementedError(f"Cannot access storage of {type(self)._implementation}")

    _make_array = _array = _mstensor = _get_storage = untyped_storage = _typed_storage = storage = storage_type = (
        is_shared
    ) = share_memory_ = _no_memory
    _implementation = "SparseTensorImpl"

    def data_ptr(self):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    tolist = data_ptr

    def numpy(self, *, force=False):
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        raise TypeError(f"can't convert {SPOKEN[self._layout]} layout tensor to numpy. Use Tensor.to_dense() first.")

    def __setitem__(self, index, value):
        raise TypeError("Cannot assign to a sparse tensor")

    def is_pinned(self, device=None):
        return self._v.is_pinned(device)

    def detach(self):
        return self._with(self._v.detach())

    data = property(detach, lambda self, new: self._set_data(new))

    def _set_data(self, new):
        if not isinstance(new, type(self)):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                f"type. (layout {self._layout} and {new._layout})"
            )
        self._take(new.detach()._requiring_grad(self.requires_grad))

    _dense_grad = _layout_of_grad = None  # the gradient of all elements of a leaf

    @property
    def grad(self):
        g = self._v.grad
        g = self._gradient_of(
            [g, self._dense_grad if self.is_leaf or "_shadow" not in self.__dict__ else self._shadow.grad]
        )
        return g if self._layout_of_grad is None or g is None else g.to_sparse(layout=self._layout_of_grad)

    @grad.setter
    def grad(self, g):
        self._dense_grad = self._layout_of_grad = self._v.grad = None
        if g is not None and not isinstance(g, SparseTensor):
            self._dense_grad = g
        elif g is not None and self._layout is not COO and not self._same_places(g):
            self._dense_grad, self._layout_of_grad = g.to_dense(), g._layout
        elif g is not None:
            self._v.grad = self.detach()._with(self._v)._at_indices(g)

    def _places(self):
        """Return the tensors that receive gradients: the values, and the shadow if there is one."""
        return [self._v, *[self.__dict__[n] for n in ("_shadow",) if n in self.__dict__]]

    def _gradient_of(self, gradients):
        values, everywhere = (*gradients, None)[:2]
        of_values = None if values is None else self._gradient(values)
        return add(
            everywhere,
            of_values
            if everywhere is None or of_values is None or everywhere._layout is of_values._layout
            else of_values.to_dense(),
        )

    def _root(self, gradient):
        """Return (values or shadow, their gradient), where the backward pass of a sparse tensor starts."""
        if gradient is not None and "_shadow" in self.__dict__ and not self.is_leaf:
            return self._shadow, gradient
        return self._v, None if gradient is None else self._at_indices(gradient)

    def backward(self, gradient=None, *args, **kwargs):
        if gradient is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if "_twin" in self.__dict__:
            with starting_from(
                gradient._layout if gradient._layout in (LAYOUTS["sparse_csr"], LAYOUTS["sparse_csc"]) else None
            ):
                return twin(self).backward(gradient.to_dense(), *args, **kwargs)
        values, g = self._root(gradient)
        return values.backward(g, *args, **kwargs)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            if not self.is_leaf:
                raise RuntimeError(
                    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                    "moment."
                )
            new = memo[id(self)] = self._with(copy.deepcopy(self._v, memo))
            new.__dict__.update(
                {
                    k: copy.deepcopy(v, memo)
                    for k, v in self.__dict__.items()
                    if isinstance(v, Tensor) and k not in ("_v", "_shadow")
                }
            )
        return memo[id(self)]


def called(handler, func, args, kwargs):
    """Call a handler from the table. Keywords that it does not have are passed by position, in the schema's order."""
    if kwargs and not _takes(handler, len(args), tuple(kwargs)) and (call := declared(func, args, kwargs)) is not None:
        o, values = call
        given = max(
            (
                i + 1
                for i, a in enumerate(o.schema.arguments)
                if not a.kwarg_only and (i < len(args) or a.name in kwargs or not i)
            ),
            default=0,
        )
        args, kwargs = (
            values[:given],
            {a.name: v for a, v in zip(o.schema.arguments, values) if a.kwarg_only and a.name in kwargs},
        )
    return handler(*args, **kwargs)


@functools.cache
def _takes(handler, n, names):
    try:
        inspect.signature(handler).bind(*range(n), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


def _flat(args):
    for a in args:
        yield from a if isinstance(a, (list, tuple)) else (a,)


def _converted(func, self, args, kwargs):
    """Convert the values of `self` and copy its indices. Other sparse arguments are replaced by their values."""
    values = func(self._v, *(a._v if isinstance(a, SparseTensor) else a for a in args), **kwargs)
    if values is self._v:
        return self
    new = self._with(values)
    for name in self.INDICES:
        setattr(new, name, getattr(new, name).clone())
    return new


def written(out, result):
    """Store a result in `out=`: a sparse tensor becomes the result, a strided one is resized and copied to."""
    if isinstance(out, tuple):
        return tuple(map(written, out, result))
    if isinstance(out, SparseTensor):
        return out._take(out._fits(result))
    if isinstance(result, SparseTensor):
        raise RuntimeError(f"expected `out` to have {result._layout} layout, but got {out._layout}")
    return (out if out._shape == result._shape else out.resize_(result._shape)).copy_(result)


# ------------------------------------------------------------------------------------------------ what there is not
def backend_key(t):
    """Return PyTorch's dispatch key of a tensor."""
    return getattr(t, "KEY", "") + ("CPU" if t.device is HOST else t.device.type.upper())


def could_not_run(operator, t):
    """Return PyTorch's error for an operator that has no kernel for a layout."""
    return NotImplementedError(
        f"Could not run 'aten::{operator}' with arguments from the '{backend_key(t)}' backend. "
        "This could be because the operator doesn't exist for this backend, or was omitted during the "
        f"selective/custom build process (if using custom build). (layout {t._layout}, dtype {t.dtype}, "
        f"device {t.device})"
    )


def unsupported(what, t):
    """Return the error for an operator that PyTorch has for a layout but this implementation does not."""
    return NotImplementedError(
        f'"{what}" is not implemented for layout {t._layout}, dtype {t.dtype}, device {t.device}'
    )


INNER: dict = {}  # operator -> the inner operator that PyTorch computes it from, and that its error names


def declared(func, args, kwargs):
    """Return (operator, its arguments in the schema's order) for a call of a public function, or None."""
    name, method = plain_name(func), func.__qualname__.startswith("Tensor.")
    for namespace in ("Tensor", "torch", "nn.functional", "special", "linalg", "fft"):
        for suffix in ("", "_"):
            for o in OPERATORS.get(namespace, {}).get(name.removesuffix(suffix) if suffix else name, ()):
                values = bind(o.schema, args, kwargs, method)
                if values is not None:
                    return o, [(v,) if a.list and isinstance(v, int) else v for a, v in zip(o.schema.arguments, values)]
    return None


def _name(func):
    """Return the name of a function in the tables: linalg_NAME for torch.linalg, whose names overlap with torch's."""
    return func.__name__ if func.__module__ == "torch._C._linalg" else plain_name(func)


def _check(func, args, kwargs):
    """Raise the TypeError of a call whose arguments match no declaration of the function."""
    if (
        len(args) + len(kwargs) > 1
        and declared(func, args, kwargs) is None
        and (error := _misfit(func, args, kwargs)) is not None
    ):
        raise error


def same_layout(self, other):
    """Raise PyTorch's error for a conversion to the options of a tensor of another layout."""
    if other._layout is not self._layout:
        said = f"self.layout being {SPOKEN[self._layout]} and options.layout set as {SPOKEN[other._layout]}"
        raise RuntimeError(f"to(options) doesn't support converting to a different layout, but got {said}")


def _misfit(func, args, kwargs):
    """Return the TypeError of arguments that a function does not accept for any layout; None if it accepts them."""
    strided = lambda a: T.empty(0) if isinstance(a, SparseTensor) else a  # noqa: E731
    self = T.empty(args[0]._shape, dtype=args[0].dtype, device=META) if isinstance(args[0], SparseTensor) else args[0]
    try:
        func(self, *map(strided, args[1:]), **{k: strided(v) for k, v in kwargs.items()})
    except TypeError as error:
        return error
    except Exception:  # noqa: BLE001  (the layout is refused before)
        pass
    return None


def _strided_error(func, args, kwargs):
    """Return the error that a function raises for strided tensors of the same shapes, or None if it accepts them."""
    strided = lambda a: T.empty(a._shape, dtype=a.dtype, device=META) if isinstance(a, Tensor) else a  # noqa: E731
    try:
        func(*map(strided, args), **{k: strided(v) for k, v in kwargs.items()})
    except NotImplementedError:
        pass
    except (TypeError, ValueError, IndexError, RuntimeError) as error:
        return error
    return None


def refused(func, args, kwargs):
    """Return the error of a function that a layout does not support."""
    name = plain_name(func)
    t = next(a for a in _flat((*args, *kwargs.values())) if isinstance(a, SparseTensor))
    call = declared(func, args, kwargs)
    if _name(func) != name:
        return could_not_run("linalg_vector_norm" if name in ("norm", "vector_norm") else _name(func), t)
    if call is None:
        return _misfit(func, args, kwargs) or could_not_run(name, t)
    o, values = call
    inner = (t.INNER if t._layout is not COO else {}).get(o.name) or INNER.get(o.name)
    if inner is not None:
        error = (
            _strided_error(func, args, kwargs) if inner == "as_strided" else None
        )  # views check their arguments first
        return error or could_not_run(inner, t)
    suffix = "_" if name[-1] == "_" and o.name[-1] != "_" else ""
    found = resolve(o, values, suffix)
    if found is None:
        return could_not_run(name_of(o)[0] + suffix, t)
    schema = found[0]
    return could_not_run(
        schema.name.removeprefix("aten::") + (f".{schema.overload_name}" if schema.overload_name else ""), t
    )
