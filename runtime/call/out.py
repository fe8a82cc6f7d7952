"""out=: checks of the given tensor, and writing a result into it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from .. import dtypes as dt
from ..autograd import forward
from ..backend import backend
from ..classes import lazy
from ..context import CONTEXT, PROCESS
from ..device import META
from ..registry import T
from ..tensor import Tensor, check_writable, empty, extent, is_dense, meta_tensor, numel, strided_view
from ..versions import INFERENCE
from .bind import unfit
from .dispatch import intercepted
from .geometry import preserved_strides
from .return_types import out_class

_RESIZED = (
    "An output with one or more elements was resized since it had shape {had}, which does not match the required "
    "output shape {want}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
    "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, "
    "to zero elements with t.resize_(0)."
)
_RECOUNTED = (
    "The number of elements in the out tensor of shape {had} is {n} which does not match the computed number of "
    "elements {count}. Note that this may occur as a result of rounding error. The out tensor will be resized to a "
    "tensor of shape {shape}."
)


@dataclass(frozen=True)
class Out:
    """What an operator requires of out=.

    dtype: the error if out's dtype is not that of the result, or one error for each result. None: the result is cast
    where the category allows it.
    leads: if the call gives no dtype, it computes in that of out.
    contiguous: a resized out= is contiguous instead of keeping the result's memory order; or a function of the
    arguments that decides it.
    also: dtypes that out= may have in addition to the result's.
    any_dtype: the result is cast to any dtype of out.
    fills: an out= with the same number of elements keeps its shape.
    resized: the warning if an out= that has elements is resized. None: there is none.
    """

    dtype: str | tuple | None = None
    leads: bool = False
    contiguous: bool | Callable = False
    refusal: type = RuntimeError
    also: tuple = ()
    any_dtype: bool = False
    fills: bool = False
    resized: str | None = _RESIZED


EXPECTED = "Expected out tensor to have dtype {want}, but got {got} instead"
FOUND = "Found dtype {Got} but expected {Want}"
SCALAR_TYPE = "{name}: expected out tensor of scalar type {Want} but found {Got}"
SELF_AND_RESULT = "{name}(): self and result must have the same scalar type"
MATCH_INPUT = (
    "Expected the dtype for input and out to match, but got {Want} for input's dtype and {Got} for out's dtype."
)
SAME_DTYPE, FOUND_DTYPE, SAME_SCALAR_TYPE, INPUT_DTYPE = Out(EXPECTED), Out(FOUND), Out(SCALAR_TYPE), Out(MATCH_INPUT)
CONTIGUOUS, JOINED, CAST = Out(contiguous=True), Out(refusal=TypeError), Out(any_dtype=True, resized=None)
LEADING, UNNAMED_SCALAR_TYPE = Out(EXPECTED, leads=True), Out("expected scalar_type {Want} but found {Got}")
FILLED, COUNTED = Out(fills=True, resized=None), Out(fills=True, resized=_RECOUNTED)
_ANY, _MADE = Out(), Out(resized=None)


def with_out(op, result, out, args=(), k=0):
    """Write a result, or a tuple of them, into out=.

    op: an operator, or the name of a function without requirements.
    k: which of several results it is.
    """
    name, rules = (op, _ANY) if op.__class__ is str else (op.name.lstrip("_"), op.options.out)
    if isinstance(result, tuple):
        return _with_outs(op, name, rules, result, out, args)
    if out.__class__ in (int, float, bool, complex) and op.__class__ is not str and op.options.numbers:
        out = T.full((), out, dtype=dt.of(type(out)))
    if not isinstance(out, Tensor):
        raise _refusal(op, name, out, args, "Tensor")
    if out._of_layout:
        return out._become(name, result)
    _check(name, result, out)
    if forward.has_tangent(result, out):
        raise forward.refuse(f"{name}_out", "because it is an out= function")
    if rules.__class__ is not Out:
        rules = _ANY if op.__class__ is str or op.tensor_args else _MADE
    if out.dtype is not result.dtype:
        check_dtype(name, rules, result.dtype, out.dtype, k)
    if args:
        _check_memory(op, out, args)
    if out._shape != result._shape and rules.fills and numel(out._shape) == numel(result._shape):
        write(out, result.reshape(out._shape))
        return out
    _fill(rules, result, out, args)
    return out._requiring_grad() if result._requires_grad and not op.tensor_args else out  # of a factory function


def _with_outs(op, name, rules, result, out, args):
    """Write a tuple of results into out=, which is a tuple of tensors."""
    if not isinstance(out, (tuple, list)):
        raise _refusal(op, name, out, args, "tuple of Tensors")
    if len(out) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
    if rules.__class__ is Out and rules.dtype.__class__ is tuple:  # check all dtypes before anything is written
        for k, (r, x) in enumerate(zip(result, out)):
            if isinstance(x, Tensor) and x.dtype is not r.dtype and x.device is r.device:
                check_dtype(name, rules, r.dtype, x.dtype, k)
    written = [with_out(op, r, x, args, k) for k, (r, x) in enumerate(zip(result, out))]
    return tuple(written) if result.__class__ is tuple else out_class(result.__class__)(written)


def _fill(rules, result, out, args):
    """Give out= the shape and the values of the result."""
    seen = PROCESS.interceptors and intercepted((out,))
    if out._shape != result._shape:
        _resize(rules, result, out, args, seen)
    if seen:
        _by_operator(out.copy_, result)
    else:
        write(out, result)


def _by_operator(method, argument):
    """Call a method of out= as an operator that is seen below autograd, like the one that computed the result."""
    with CONTEXT.set(grad=False):
        method(argument)


def _check_memory(op, out, args):
    check_overlap(op, out, args)
    if op.options.apart:
        refuse_expanded(out)


def _resize(rules, result, out, args, seen):
    """Give out= the shape of the result; warn, as PyTorch does, if it had elements."""
    n, shape = numel(out._shape), result._shape
    if n and rules.resized is not None:
        text = rules.resized.format(had=list(out._shape), want=list(shape), n=n, count=numel(shape), shape=shape)
        warnings.warn(text, UserWarning, stacklevel=6)
    if seen:
        _by_operator(out.resize_, result._shape)
    else:
        resize(out, result._shape, _strides(rules, result, args))


def _refusal(op, name, out, args, wanted):
    """Return PyTorch's TypeError for an out= of the wrong class."""
    error = None if op.__class__ is str else unfit(op, args, name, False, out=out)
    return error or TypeError(f"{name}(): argument 'out' must be {wanted}, not {type(out).__name__}")


def _check(name, result, out):
    # a result without grad_fn is that of a factory function, whose requires_grad=True is applied to `out`
    if CONTEXT.grad and (out._requires_grad or result._requires_grad and result._grad_fn is not None):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if out.device is not result.device:
        if out.device is META:
            raise RuntimeError(
                f"Attempting to copy from device {result.device} to device meta, but cross-device copies are not "
                f"allowed!"
            )
        raise RuntimeError(f"Expected out tensor to be on {result.device}, but got {out.device} instead")


def _strides(rules, result, args):
    """Return the strides that a resized out= gets; None for contiguous."""
    if rules.contiguous(args) if callable(rules.contiguous) else rules.contiguous:
        return None
    return preserved_strides(result) if args and result is args[0] else result._stride


def resize(t, shape, stride=None):
    """Give t another shape, and strides where they are given.

    Its memory, which it may share with others, is used again if it is large enough.
    """
    st = t._storage
    if stride is not None and (0 in shape or 0 in stride):
        stride = None
    if st is not None:
        if (t._offset + extent(shape, stride)) * t.dtype.itemsize <= st.nbytes():
            t._ms = t._np = None
            t._shape, t._stride = tuple(shape), stride
            return
        if not st.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
    if stride is None:
        new = empty(tuple(shape), t.dtype, t.device)
    elif t.device is META:
        new = meta_tensor(shape, t.dtype, stride)
    else:
        new = strided_view(empty((extent(shape, stride),), t.dtype, t.device), shape, stride, 0)
    vc = t._vc
    t._replace(new)
    t._vc = vc


def out_dtype(dtype, out):
    """Return the dtype in which a factory function computes, given out=."""
    if dtype is None or dtype is out.dtype:
        return out.dtype
    raise RuntimeError(
        f"dtype {dt.scalar_name(dtype)} does not match dtype of out parameter ({dt.scalar_name(out.dtype)})"
    )


def led_dtype(dtype, out):
    """Return the dtype in which a function with Out.leads computes."""
    return out.dtype if dtype is None and isinstance(out, Tensor) else dtype


def check_dtype(name, rules, want, got, k=0):
    """Raise PyTorch's error if the k-th result, of dtype `want`, may not be written to an out= of dtype `got`."""
    text = rules.dtype
    if text is not None and got not in rules.also:
        spoken = {
            "want": dt.c_name(want),
            "got": dt.c_name(got),
            "Want": dt.scalar_name(want),
            "Got": dt.scalar_name(got),
            "narrow": want is dt.int32,
        }
        raise RuntimeError((text if text.__class__ is str else text[k]).format(name=name, **spoken))
    if not rules.any_dtype and not dt.can_cast(want, got):
        result = "torch.cat(): input types" if rules.refusal is TypeError else f"result type {dt.scalar_name(want)}"
        raise rules.refusal(f"{result} can't be cast to the desired output type {dt.scalar_name(got)}")


def check_overlap(op, out, args, first=0):
    """Raise PyTorch's error if out= shares memory with an argument in a way that the function does not support.

    first: the position of args[0].
    """
    apart = op.options.apart
    if not (apart or op.promote is not None or op.options.pointwise) or 0 in out._shape:
        return
    for i, a in enumerate(args, first):
        if i in op.options.reads_first:
            continue
        for t in a if isinstance(a, (list, tuple)) else (a,):
            if t is out or isinstance(t, Tensor) and out._storage is not None and t._storage is out._storage:
                refuse_partial_overlap(out, t, apart is True or apart and i in apart)


def refuse_partial_overlap(out, t, apart=False):
    """Raise PyTorch's error if two tensors of one storage overlap without being the same.

    apart: raise it also if they are the same.
    """
    if 0 not in t._shape and (apart or not _same(t, out)) and _meet(t, out):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def _same(a, b):
    return a is b or a._offset == b._offset and a._shape == b._shape and a.stride() == b.stride()


def _meet(a, b):
    """Whether the memory of two dense tensors of one storage overlaps. False for tensors with gaps."""
    if not all(is_dense(t._shape, t.stride()) for t in (a, b)):
        return False
    (a0, a1), (b0, b1) = (
        (t._offset * t.dtype.itemsize, (t._offset + numel(t._shape)) * t.dtype.itemsize) for t in (a, b)
    )
    return a0 < b1 and b0 < a1


def is_expanded(t):
    """Whether several elements of a tensor share a place in memory because of strides of 0."""
    stride = t._stride
    return (
        stride is not None
        and 0 in stride
        and 0 not in t._shape
        and any(s > 1 and st == 0 for s, st in zip(t._shape, stride))
    )


def refuse_expanded(t):
    """Raise PyTorch's error if a tensor that is written to is expanded."""
    if is_expanded(t):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def write(dst, src):
    """Copy values into dst's memory and increment its version."""
    if dst.__class__ in lazy:
        dst._write(src)
        return
    if dst._vc is INFERENCE:
        check_writable(dst)
    if dst.device is not META:
        refuse_expanded(dst)
        backend(dst.device).write(dst, src)
    vc = dst._vc
    if vc is None:
        dst._vc = [1]
    elif vc is not INFERENCE:
        vc[0] += 1
