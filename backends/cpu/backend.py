"""The CPU backend: memory shared by NumPy and MindSpore, and the choice of kernels from the table."""

from collections import defaultdict
from functools import partial

import numpy as np

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.call.geometry import broadcast_shapes, memory_order
from ...runtime.classes import NUMBERS
from ...runtime.device import HOST as CPU
from ...runtime.storage import UntypedStorage
from ...runtime.tensor import Tensor, extent, fresh, from_array, numel, strided_view, wrap
from ..host import (
    CHECKED,
    alias,
    astype,
    check_promise,
    halves,
    halves_of,
    ms_dtype_of,
    narrowed,
    number_array,
    widened,
)
from ..plan import CompositePlan, Plan, PrimitivePlan
from ..quiet import quiet, restore, silence, unwarned
from ..thresholds import PIECE
from . import table
from .arrays import MOST_DIMS
from .refusals import depends_on_shape, refuse

KEPT = 256  # numbers of each dtype that are cached as tensors
_MS_CHARS = frozenset("?bBhHiIlLqQefdFD" + np.dtype(dt.bfloat16.np).char)


class NumpyPlan(Plan):
    """A plan that calls a function on NumPy arrays."""

    __slots__ = ()

    def __init__(self, backend, op, dtype, *args, **kwargs):
        super().__init__(backend, op, dtype, *args, **kwargs)
        exact = self.half and self.op.options.exact == 1
        self.numbers = backend.arrays_of(self.work if exact else dtype)

    def number(self, value):
        """Return a Python number, given as the second operand, as a 0-d array that is kept for later calls.

        Where the kernel computes in a wider dtype, it is rounded to the half type unless the operator takes it exactly.
        """
        kept = self.numbers
        if len(kept) >= KEPT:
            kept.clear()
        exact = self.half and self.op.options.exact == 1
        with quiet():
            a = kept[value or str(value)] = number_array(value, self.work if exact else self.dtype)
        return a

    def argument(self, a):
        if a.__class__ is list or a.__class__ is tuple:
            return type(a)(None if t is None else t._array() for t in a)
        return a._array()

    def run(self, result, args):
        # the most common case: one result of a known shape, nothing to convert
        shape = result[0]
        if self.work is not None or result.__class__ is list or shape is None or 0 in shape or len(result) > 2:
            return Plan.run(self, result, args)
        if self.limit is not None and self.passes_on(result, args):
            return self.larger().run(result, args)
        self.calls += 1
        before = silence()  # quiet(), inlined
        try:
            if self.single:
                a = args[0]._np
                r = self.fn(args[0]._array() if a is None else a, *args[1:])
            else:
                r = Plan.compute(self, args)
        finally:
            restore(before)
        return self.leave(r, result)

    def compute(self, args):
        with quiet():
            return Plan.compute(self, args)

    def broadcast(self, operands, attributes, shape, dtype):
        first = self.quick is None and self.direct and self.op.may_be_direct(attributes, self.dtype)
        with quiet():
            r = self.fn(
                *[
                    number_array(t, d) if not isinstance(t, Tensor) else _converted(t._array(), t.dtype, d)
                    for t, d in operands
                ],
                *attributes,
            )
        if first:
            self.out, self.op.hosted[self.dtype] = dtype, self
            self.certain = self.fn.__class__ is np.ufunc and (
                r.dtype == dtype.np or self.half and r.dtype == self.work.np
            )
            self.quick = _quick(_widely(self.fn, self.dtype.np) if self.half else self.fn)
        r = np.asarray(r)
        if r.dtype != dtype.np:
            r = astype(r, dtype)
        return from_array(r if r.shape == shape else np.broadcast_to(r, shape), dtype)

    def alike(self, operands, attributes):
        """Run quick() on tensors of this dtype (masks must be bool) and on numbers.

        Returns None for all other arguments, and where the result would not be contiguous.
        """
        dtype, keep, arrays, shape, same, strided = self.dtype, self.keep, [], None, True, False
        for i, t in enumerate(operands):
            if t.__class__ in NUMBERS:
                if not 0 < dt.SCALAR_CATEGORY[t.__class__] <= dtype.category:  # some operators refuse a bool
                    return None
                if i != 1 and self.half:
                    return None
                a = self.numbers.get(t or str(t))
                arrays.append(self.number(t) if a is None else a)
            elif t is None or t.dtype is not (dt.bool_ if i in keep else dtype) or t.device is not CPU:
                return None
            else:
                strided = strided or t._stride is not None
                same = same and (shape is None or t._shape == shape)
                shape = t._shape if shape is None else shape
                arrays.append(t._array())
        if not same and (shape := _broadcast(operands)) is None:
            return None
        options = self.op.options
        if strided and not options.contiguous and memory_order(shape, operands, options.last_leads) is not None:
            return None
        if not shape or 0 in shape or self.limit is not None and numel(shape) >= self.limit:
            return None
        self.calls += 1
        return self.leave(self.quick(*arrays, *attributes), (shape, self.out))


def _broadcast(operands):
    """Return the shape that the tensors among operands broadcast to, or None where they do not."""
    try:
        return broadcast_shapes((), *[t._shape for t in operands if t.__class__ not in NUMBERS])
    except RuntimeError:
        return None


def _widely(fn, low):
    """Return an elementwise function on arrays of a half type `low`, by one on float32, whose results are rounded."""

    def compute(*args):
        r = fn(*[widened(a) if a.__class__ is np.ndarray and a.dtype == low else a for a in args])
        return narrowed(r, low) if r.dtype == np.float32 else r

    def by_pieces(*arrays):
        shape = arrays[0].shape
        if (
            halves is None
            or arrays[0].size <= PIECE
            or not all(a.flags.c_contiguous and (not a.ndim or a.shape == shape) for a in arrays)
        ):
            return compute(*arrays)
        wide = [np.empty(PIECE, np.float32) if a.ndim else widened(a) if a.dtype == low else a for a in arrays]
        flat = [a.reshape(-1) for a in arrays]
        result = fn(*[a[:0] if a.ndim else a for a in wide]).dtype
        out = np.empty(arrays[0].size, low if result == np.float32 else result)
        for i in range(0, out.size, PIECE):
            part = out[i : i + PIECE]
            operands = [a[: part.size] if a.ndim else a for a in wide]
            for a, w in zip(flat, operands):
                if w.ndim:
                    widen(a[i : i + PIECE], w)
            if part.dtype == low:
                fn(*operands, out=operands[0])
                narrow(operands[0], part)
            else:
                fn(*operands, out=part)
        return out.reshape(shape)

    if halves is not None:
        widen, narrow = halves_of(low)
    return by_pieces if fn.__class__ is np.ufunc else compute


def _quick(fn):
    """Return a function without NumPy's warnings; unwarned() is faster for NumPy's own ones."""
    if fn.__class__ is np.ufunc:
        return partial(unwarned, fn)

    def quick(*arrays):
        before = silence()
        try:
            return fn(*arrays)
        finally:
            restore(before)

    return quick


PLANS = {"pyboost": PrimitivePlan, "legacy": PrimitivePlan, "composite": CompositePlan, "numpy": NumpyPlan}


class Cpu:
    """The CPU backend; runtime/backend.py documents the methods."""

    host, target = True, "CPU"
    # elements from which a broadcast operand is expanded first: MindSpore's broadcasting loop is 45 to 90 times slower
    # than its loop for equal shapes
    expand_from = 2048
    ladder = staticmethod(table.ladder)  # tune.py replaces it

    def __init__(self):
        self.plans, self._plans = [], {}
        self._numbers = defaultdict(dict)  # dtype: {number, or text of a signed zero: 0-d MindSpore tensor}
        self._arrays = defaultdict(dict)  # the same with 0-d arrays
        self.number_of = {}  # id of such a tensor -> its number, so that kernels can read it

    def device_count(self):
        return 1

    def usable(self, device):
        return CPU

    def draws(self, kind):
        return True

    def moves(self):
        return dict(table.MOVES)

    # ---------------------------------------------------------------- choosing
    def plan(self, op, dtype, device, args):
        refuse(op, dtype, args)
        plan = self._plans.get((op, dtype))
        if plan is None:
            plan = self._plans[op, dtype] = self._made(op, dtype)
        return plan

    def _made(self, op, dtype, step=0):
        """Make a plan with the first kernel of the table that takes the dtype, or a wider one.

        `step`: the index in the ladder, above 0 for the kernels for larger tensors.
        """
        half = op.options.opmath and dtype in dt.OPMATH
        compute = dt.OPMATH[dtype] if half else dtype
        ladder = self.ladder(op, compute)
        if half and op.promote is not None:  # NumPy's arrays have to be converted: a NumPy kernel then computes, too
            ladder = [s for s in ladder if s[1].kind == "numpy" and s[2] is compute][-1:] or ladder
        _, kernel, work = ladder[step]
        plan = PLANS[kernel.kind](
            self, op, dtype, CPU, kernel, work if work is not dtype else None, half and op.promote is not None
        )
        if depends_on_shape(op):
            plan.direct = False
        elif plan.half and kernel.kind == "numpy" and work is dt.float32:
            plan.direct = True  # on arrays of the half type, which quick() converts
        if step + 1 < len(ladder):
            switch = ladder[step + 1][0]
            plan.limit = switch if switch is not table.SPREAD else None
            plan.larger = lambda: self._larger(op, dtype, step + 1)
        elif kernel.kind != "numpy" and (other := table.preferred(op, compute)) is not None and work is dtype:
            plan.limit, plan.when = 0, other.when
            plan.larger = lambda: self._preferred(op, dtype, other)
        if step or not kernel.broadcasts:
            plan.direct = plan.direct and op.promote is None
        return plan

    def _larger(self, op, dtype, step):
        key = op, dtype, step
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._made(op, dtype, step)
        return plan

    def _preferred(self, op, dtype, kernel):
        key = op, dtype, kernel
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = PLANS[kernel.kind](self, op, dtype, CPU, kernel)
        return plan

    # ---------------------------------------------------------------- arguments and results
    def numbers_of(self, dtype):
        return self._numbers[dtype]

    def arrays_of(self, dtype):
        return self._arrays[dtype]

    def number(self, value, dtype):
        """Return a 0-d MindSpore tensor of a Python number, cached for later calls."""
        kept, key = self._numbers[dtype], value or str(value)
        t = kept.get(key)
        if t is None:
            with quiet():
                a = number_array(value, dtype)
            t = pyboost.tensor_from_array(a)
            if value == value:
                with pyboost.LOCK:  # `kept` and `number_of` change together
                    if len(kept) >= KEPT:
                        for old in kept.values():
                            self.number_of.pop(id(old), None)
                        kept.clear()
                    t = kept.setdefault(key, t)
                    self.number_of[id(t)] = value
        return t

    def rounded_number(self, value, dtype):
        a = number_array(value, dtype)
        return float(a) if dtype is not dt.complex32 else complex(dt.complex_array(a))

    def operand(self, t, dtype, shape, full):
        """Return an operand of an elementwise kernel as a MindSpore tensor of the dtype.

        It is expanded to `shape` where that is given; numbers only if `full`.
        """
        if not isinstance(t, Tensor):
            return (
                pyboost.tensor_from_array(np.full(shape, number_array(t, dtype)))
                if full and shape
                else self.number(t, dtype)
            )
        if t.dtype is dtype and (shape is None or t._shape == shape or not (t._shape or full)):
            return t._mstensor()
        a = _converted(t._array(), t.dtype, dtype)
        if shape is not None and (a.shape or full) and a.shape != shape:
            a = np.broadcast_to(a, shape)
        return pyboost.tensor_from_array(a if a.flags.c_contiguous else np.array(a, order="C"))

    def tensor(self, t, dtype):
        """Return an operand as a tensor of the dtype."""
        if not isinstance(t, Tensor):
            return from_array(number_array(t, dtype), dtype)
        return t if t.dtype is dtype else self.cast(t, dtype)

    def dtype_of(self, r):
        return ms_dtype_of(r)

    def result(self, r, result, device):
        """Return a kernel's result as a tensor of the requested shape, dtype and strides."""
        shape, dtype = result[0], result[1]
        if CHECKED:
            check_promise(r, shape, dtype)
        if (
            r.__class__ is np.ndarray
            and r.shape == shape
            and shape
            and r.dtype == dtype.np
            and len(result) == 2
            and _in_one_piece(r)
        ):
            return fresh(r, dtype)
        if shape == () and isinstance(r, np.generic) and r.dtype == dtype.np:
            return fresh(np.array(r), dtype)
        strides = result[2] if len(result) > 2 else None
        if isinstance(r, Tensor):
            r = r if r.dtype is dtype else self.cast(r, dtype)
            if strides is None or r.stride() == strides:
                return r
            r = r._array()
        if shape is None:
            shape = tuple(r.shape)
        own = r.__class__ is np.ndarray or isinstance(r, np.generic)
        if not own and strides is None and ms_dtype_of(r) is dtype and tuple(r.shape) == tuple(shape):
            return wrap(r, tuple(shape), dtype)
        # a 0-d result is copied, because a kernel may return its own argument
        a = alias(r) if not own else r if r.__class__ is np.ndarray and r.shape else np.array(r)
        a = _astype_unless(a, dtype)
        if a.shape != tuple(shape):
            if len(shape) > MOST_DIMS and a.size == numel(shape):
                return _shaped(a, shape, dtype)
            a = a.reshape(shape) if a.size == numel(shape) else np.broadcast_to(a, shape)
        if strides is None or not a.size:
            return from_array(a, dtype)
        # results of LAPACK are column-major, and a Fourier transform has its own order of dimensions
        t = strided_view(from_array(np.empty(extent(shape, strides), dtype.np), dtype), tuple(shape), strides, 0)
        np.copyto(t._array(), a)
        return t

    # ---------------------------------------------------------------- in place
    def update(self, op, dst, args):
        k = table.updates.get(op.full)
        if k is None or dst.dtype not in k.dtypes:
            return False
        operands = (_listed if op.schema.arguments[0].list else _operands)(dst, args)
        if operands is None:
            return False
        key = op, dst.dtype, "update"
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = NumpyPlan(self, op, dst.dtype, CPU, k)
        plan.calls += 1
        with quiet():
            plan.fn(*operands)
        return True

    def fused(self, name):
        return None

    def inplace(self, op):
        fn = table.inplace_kernel(op)
        if fn is None:
            return None

        def array(a):
            if a.__class__ in (list, tuple) and any(isinstance(t, Tensor) for t in a):
                return [None if t is None else t._array() for t in a]
            return a._array() if isinstance(a, Tensor) else a

        def kernel(*args):
            table.MOVES["copy"] += 1
            fn(*map(array, args))

        return kernel

    # ---------------------------------------------------------------- memory
    def empty(self, shape, dtype, device):
        if dtype.np is None:
            t = wrap(None, tuple(shape), dtype)
            t._storage = UntypedStorage(numel(shape) * dtype.itemsize)
            return t
        try:
            return from_array(np.empty(shape, dtype.np), dtype)
        except ValueError:
            if len(shape) <= MOST_DIMS:
                raise
            return _shaped(np.empty(numel(shape), dtype.np), shape, dtype)

    def array(self, t):
        try:
            return self._array(t)
        except ValueError:
            if len(t._shape) <= MOST_DIMS:
                raise
            text = (
                f"tensors of {len(t._shape)} dimensions (dtype {t.dtype}) cannot be computed with on device cpu: "
                f"NumPy has {MOST_DIMS} at most"
            )
            raise NotImplementedError(text) from None

    def _array(self, t):
        st, size = t._storage, t.dtype.itemsize
        if st is None:
            return pyboost.array_of(t._ms, t._shape, t.dtype.np)
        if t.dtype.np is None:
            raise NotImplementedError(f"tensors of dtype {t.dtype} cannot be computed with on device cpu")
        if 0 in t._shape:
            return np.empty(t._shape, t.dtype.np)
        if t._stride is None:
            return np.ndarray(t._shape, t.dtype.np, st._bytes, t._offset * size)
        return np.ndarray(t._shape, t.dtype.np, st._bytes, t._offset * size, tuple(s * size for s in t._stride))

    def mstensor(self, t):
        a = t._array()
        if t._stride is None and a.flags.aligned:
            if a.dtype.char in _MS_CHARS:
                m = t._ms = pyboost.tensor_from_array(a)
                return m
            raise NotImplementedError(f"MindSpore has no dtype {t.dtype} on device cpu")
        return pyboost.tensor_from_array(np.array(a, order="C"))

    def storage(self, t):
        return UntypedStorage._from_array(t._array().reshape(-1).view(np.uint8))

    def new_storage(self, data, device):
        return UntypedStorage._from_array(np.array(data))

    def write(self, dst, src):
        src = src._host()
        if len(dst._shape) > MOST_DIMS and dst._shape == src._shape:
            dst, src = _without_ones(dst), _without_ones(src)
        d, s = dst._array(), src._array()
        if dst._storage is not None and src._storage is dst._storage and np.may_share_memory(d, s):
            s = s.copy()
        table.MOVES["copy"] += 1
        np.copyto(d, _astype_unless(s, dst.dtype))

    def cast(self, tensor, dtype):
        table.MOVES["cast"] += 1
        if dtype.np is None:
            raise NotImplementedError(f"cannot cast {tensor.dtype} to {dtype} on device cpu")
        if len(tensor._shape) > MOST_DIMS:
            return _shaped(astype(_without_ones(tensor)._array(), dtype), tensor._shape, dtype)
        return from_array(np.ascontiguousarray(astype(tensor._array(), dtype)).reshape(tensor._shape), dtype)

    def compact(self, tensor):
        table.MOVES["copy"] += 1
        if len(tensor._shape) > MOST_DIMS:
            return _shaped(_without_ones(tensor)._array(), tensor._shape, tensor.dtype)
        return from_array(np.array(tensor._array(), order="C"), tensor.dtype)

    def to_host(self, tensor):
        return self.compact(tensor)


def _without_ones(t):
    """Return a view without the dimensions of size 1, so that NumPy can represent the tensor."""
    kept = [(n, st) for n, st in zip(t._shape, t.stride()) if n != 1]
    return strided_view(t, tuple(n for n, _ in kept), tuple(st for _, st in kept), t._offset)


def _shaped(a, shape, dtype):
    """Return a new tensor of an array's elements in order, with more dimensions than NumPy supports."""
    t = from_array(np.array(a, order="C").reshape(-1), dtype)
    return strided_view(t, tuple(shape), None, 0)


def _operands(dst, args):
    """Return what an in-place update takes: the array of dst, and numbers and arrays of its dtype and shape.

    The result is None where another argument was given.
    """
    if dst._stride is not None and 0 in dst._stride:
        return None
    operands = [dst._array()]
    for a in args[1:]:
        if a.__class__ is int or a.__class__ is float:
            operands.append(dst.dtype.np.type(a))
        elif (
            not isinstance(a, Tensor)
            or a.dtype is not dst.dtype
            or a.device is not CPU
            or a._shape
            and a._shape != dst._shape
        ):
            return None
        else:
            operands.append(a._array())
    return operands


def _in_one_piece(a):
    flags = a.flags
    return flags.c_contiguous and flags.writeable


def _listed(first, args):
    """Return the same for lists of tensors, or None.

    Tensors at the same place must have one shape and dtype, except for 0-d tensors.
    """
    lists = [a for a in args if a.__class__ is list or a.__class__ is tuple]
    for ts in zip(*lists):
        shape, stride = ts[0]._shape, ts[0]._stride
        if stride is not None and 0 in stride:
            return None
        for t in ts:
            if t.device is not CPU or t._shape != shape and t._shape or t.dtype is not first.dtype and t._shape:
                return None
    return [[t._array() for t in a] if a.__class__ is list or a.__class__ is tuple else a for a in args]


def _converted(a, have, want):
    return a if have is want else astype(a, want)


def _astype_unless(a, dtype):
    return a if a.dtype == dtype.np else astype(a, dtype)


BACKEND = Cpu()
