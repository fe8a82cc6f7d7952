"""The CPU backend: chooses a kernel for (operator, dtype) from the table, converts arguments, counts calls."""

from collections import defaultdict

import numpy as np

from ...runtime import backend, dtypes as dt, pyboost
from ...runtime.device import CPU
from ...runtime.autograd import MODE
from ...runtime.tensor import Tensor, from_array, numel, strided_view, wrap
from . import table
from .quiet import quiet
from .refusals import refuse

# elements from which a broadcast operand is expanded first: MindSpore's broadcasting loop is 45 to 90 times slower than equal shapes
EXPAND_FROM = 2048


class Impl:
    """A kernel chosen for one operator and dtype; limit: elements from which another one is better."""

    __slots__ = (
        "op",
        "kind",
        "primitive",
        "fn",
        "compute",
        "calls",
        "out",
        "limit",
        "dtype",
        "native_broadcast",
        "why",
        "role",
        "convert",
        "raw",
        "prim",
        "constants",
    )

    def __init__(self, op, dtype, kernel, compute):
        self.op, self.dtype, self.kind, self.compute, self.calls = op, dtype, kernel.kind, compute, 0
        self.primitive, self.limit, self.out, self.why = kernel.primitive, None, None, kernel.why
        self.fn, self.role = kernel.bind(op), table.ROLES.get(op.full, "compute")
        self.native_broadcast = kernel.broadcasts
        self.convert = None if kernel.tensors or kernel.kind == "composite" else Tensor._array if kernel.kind == "numpy" else Tensor._mstensor
        # the C function and the primitive below fn, where fn only hands its arguments on; numbers as tensors of the dtype
        self.raw, self.prim, self.constants = getattr(self.fn, "raw", None), getattr(self.fn, "prim", None), CPU_BACKEND.constants[dtype]
        CPU_BACKEND.impls.append(self)

    @classmethod
    def through_float64(cls, impl, limit):
        """The short way of a float32 operator that is exact enough in float64 only."""
        self = object.__new__(cls)
        for f in cls.__slots__:
            setattr(self, f, getattr(impl, f))
        self.calls, self.out, self.limit, prim = 0, dt.float32, limit, impl.fn

        def fn(m):
            shape = m._shape
            r = prim(pyboost.tensor_from_array(pyboost.array_of(m, shape, _F32).astype(_F64)))
            with quiet():
                return pyboost.tensor_from_array(pyboost.array_of(r, shape, _F64).astype(_F32))

        self.fn, self.raw = fn, None
        CPU_BACKEND.impls.append(self)
        return self


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_PLAIN = frozenset((int, float, bool, complex, type(None)))  # what may stand where a tensor might
KEPT = 256  # numbers of each dtype that are kept as tensors


class Cpu(backend.Backend):
    def __init__(self):
        self.impls = []
        self._table = {}
        self.constants = defaultdict(dict)  # dtype: {number: 0-d MindSpore tensor}; zeros by their text, for their signs
        self.numbers = {}

    def moves(self):
        return dict(table.MOVES)

    # ---------------------------------------------------------------- choosing
    def select(self, op, dtype, large=False):
        """The first kernel of the table that takes the dtype, or takes a wider one."""
        key = (op, dtype, large)
        impl = self._table.get(key)
        if impl is None:
            impl = self._table[key] = self._choose(op, dtype, large)
        return impl

    def _choose(self, op, dtype, large):
        found = [k for k in table.kernels(op) if (large or k.above == 0)]
        if large:
            found.sort(key=lambda k: k.above == 0)
        for wide in (dtype, *table.WIDER.get(dtype, ())):
            for k in found:
                if wide.np is not None and k.takes(wide):
                    return Impl(op, dtype, k, None if wide is dtype else wide)
        raise NotImplementedError(f"\"{op.full}\" not implemented for '{dt.scalar_name(dtype)}' on device cpu: no kernel for dtype {dtype}")

    def scalar(self, value, dtype):
        """A 0-d MindSpore tensor of a Python number; those kept are in `numbers`, so that a kernel can tell what it was given."""
        kept, key = self.constants[dtype], value or str(value)
        t = kept.get(key)
        if t is None:
            with quiet():
                a = _number(value, dtype)
            t = pyboost.tensor_from_array(a)
            if value == value:
                with pyboost.LOCK:  # `kept` and `numbers` change together
                    if len(kept) >= KEPT:
                        for old in kept.values():
                            self.numbers.pop(id(old), None)
                        kept.clear()
                    t = kept.setdefault(key, t)
                    self.numbers[id(t)] = value
        return t

    # ---------------------------------------------------------------- elementwise
    def pointwise(self, op, operands, attrs, compute, out_dtype, shape):
        refuse(op, compute, operands)
        n = numel(shape)
        if n == 0:
            return from_array(np.empty(shape, out_dtype.np), out_dtype)
        if out_dtype.np is None:
            raise NotImplementedError(f"\"{op.full}\" not implemented for '{dt.scalar_name(out_dtype)}' on device cpu")
        if compute in dt.OPMATH and op.options.get("opmath", True):
            operands = self._rounded(op, operands, compute)
            compute = dt.OPMATH[compute]
        switch = table.switches(op, compute)
        large = switch is not None and (
            n >= switch or switch is table.SPREAD and n >= 16384 and any(isinstance(t, Tensor) and t._shape and t._shape != shape for t in operands)
        )
        impl = self.select(op, compute, large)
        impl.calls += 1
        work = impl.compute or compute
        keep = op.options.get("keep")
        kind = impl.kind
        if kind == "numpy":
            with quiet():
                r = impl.fn(*[_operand_array(t, work if keep is None or i not in keep else t.dtype) for i, t in enumerate(operands)], *attrs)
            if r.__class__ is not np.ndarray:
                r = np.asarray(r)
            if r.dtype != out_dtype.np:
                r = _astype(r, out_dtype)
            if r.shape != shape:
                r = np.broadcast_to(r, shape)
            return from_array(r, out_dtype)
        if kind == "composite":
            ts = [self._as(t, work) if keep is None or i not in keep else t for i, t in enumerate(operands)]
            prev, MODE.grad = MODE.grad, False
            try:
                r = impl.fn(*ts, *attrs)
            finally:
                MODE.grad = prev
            if r._shape != shape:
                r = r.expand(shape)
            if r._stride is not None:
                r = self.compact(r)
            return r if r.dtype is out_dtype else self.cast(r, out_dtype)
        expand = n >= EXPAND_FROM or not impl.native_broadcast
        ms = [
            self._operand(t, work if keep is None or i not in keep else t.dtype, shape if expand else None, not impl.native_broadcast)
            for i, t in enumerate(operands)
        ]
        r = impl.fn(*ms, *attrs)
        if impl.out is None:
            impl.out = dt.bool_ if op.promote == "ALWAYS_BOOL" else _ms_out(r)
            if (
                (not attrs or op.options.get("plain_attrs"))
                and not large
                and dt.OPMATH.get(compute) is None
                and impl.native_broadcast
                and op.options.get("keep") is None
            ):
                if impl.compute is None and work is compute and impl.out is out_dtype:
                    impl.limit = switch
                    op.impls[impl.dtype] = impl
                elif len(operands) == 1 and not attrs and impl.compute is dt.float64 and compute is out_dtype is dt.float32 and impl.out is dt.float64:
                    op.impls[compute] = Impl.through_float64(impl, switch)
        if impl.out is not out_dtype:
            return from_array(_astype(_host(r), out_dtype), out_dtype)
        if len(operands) > 1 and not expand and tuple(r.shape) != shape:
            return from_array(np.broadcast_to(_host(r), shape), out_dtype)
        return wrap(r, shape, out_dtype)

    def _rounded(self, op, operands, low):
        """Operands in a half type, as PyTorch casts them before it computes in float32; but one number to multiply or divide by stays exact."""
        keep, exact = op.options.get("keep", ()), _EXACT.get(op.full)
        return [
            t
            if i in keep or i == exact and not getattr(t, "_shape", ()) or isinstance(t, Tensor) and t.dtype is low
            else self.cast(t, low)
            if isinstance(t, Tensor)
            else float(_number(t, low))
            if low is not dt.complex32
            else complex(dt.complex_array(_number(t, low)))
            for i, t in enumerate(operands)
        ]

    def _operand(self, t, work, shape, full=False):
        if t.__class__ is not Tensor and not isinstance(t, Tensor):
            if full and shape:
                return pyboost.tensor_from_array(np.full(shape, _number(t, work)))
            return self.scalar(t, work)
        if t.dtype is work and (shape is None or t._shape == shape or not (t._shape or full)):
            return t._mstensor()
        a = t._array()
        if t.dtype is not work:
            a = _astype(a, work)
        if shape is not None and (a.shape or full) and a.shape != shape:
            a = np.broadcast_to(a, shape)
        if not a.flags.c_contiguous:
            a = np.array(a, order="C")
        return pyboost.tensor_from_array(a)

    def _as(self, t, work):
        if not isinstance(t, Tensor):
            return from_array(_number(t, work), work)
        return t if t.dtype is work else self.cast(t, work)

    # ---------------------------------------------------------------- everything else
    def run(self, op, spec, args):
        multi, key = spec.__class__ is list, self._key_dtype(op, spec, args)
        refuse(op, key, args)
        empty = all(s[0] is not None and 0 in s[0] for s in spec) and spec if multi else spec[0] is not None and 0 in spec[0]
        if empty and not op.options.get("empty_ok"):
            out = tuple(from_array(np.empty(s[0], s[1].np), s[1]) for s in spec) if multi else from_array(np.empty(spec[0], spec[1].np), spec[1])
            return out
        switch = table.switches(op)
        large = switch is not None and self._size(op, args, spec) >= switch
        impl = self.select(op, dt.OPMATH.get(key, key) if op.options.get("opmath", True) else key, large)
        impl.calls += 1
        low = key if (impl.compute or dt.OPMATH.get(key, key)) is not key and (op.options.get("opmath", True) or impl.compute) else None
        work = impl.compute or dt.OPMATH.get(key, key)
        kind = impl.kind
        if kind == "composite":
            prev, MODE.grad = MODE.grad, False
            try:
                r = impl.fn(
                    *[
                        self._as(a, work)
                        if low is not None and isinstance(a, Tensor) and a.dtype is key
                        else [self._as(t, work) if t.dtype is key else t for t in a]
                        if low is not None and a.__class__ in (list, tuple) and a and isinstance(a[0], Tensor)
                        else a
                        for a in args
                    ]
                )
            finally:
                MODE.grad = prev
        else:
            convert = self._array_of if kind == "numpy" else self._ms_of if impl.convert is not None else self._tensor_of
            conv = list(args)
            for i in op.tensor_args:
                a = args[i]
                if a is None:
                    continue
                if a.__class__ is list or a.__class__ is tuple:
                    conv[i] = type(a)(None if t is None else convert(t, work if low is not None and t.dtype is key else None) for t in a)
                elif isinstance(a, Tensor):
                    conv[i] = convert(a, work if low is not None and a.dtype is key else None)
            if kind == "numpy":
                with quiet():
                    r = impl.fn(*conv)
            else:
                r = impl.fn(*conv)
        if low is None and (args[op.first] is not None if op.first is not None else not op.tensor_args and switch is None):
            (op.large if large else op.quick)[key] = self._quick(impl, None if large else switch, multi)
        return tuple(self._finish(x, s) for x, s in zip(r, spec)) if multi else self._finish(r, spec)

    def _quick(self, impl, limit, multi):
        """The short way of a kernel chosen before, with no dtype to change: kernel(spec, args), None where it does not apply."""
        fn, kind, convert, finish, size, op = impl.fn, impl.kind, impl.convert, self._finish, self._size, impl.op
        is_tensor, first, larger = op.is_tensor, op.first, op.large
        host = kind == "numpy"
        # one tensor argument, the first: nearly all operators
        one = op.tensor_args == [0]

        def compute(args):
            if convert is None or not op.tensor_args:
                return fn(*args)
            if one:
                return fn(convert(args[0]), *args[1:])
            return fn(*[a if not t or a.__class__ in _PLAIN else convert(a) for t, a in zip(is_tensor, args)])

        def kernel(spec, args):
            shape, dtype = spec[0], spec[1]
            if shape is None or 0 in shape or len(spec) > 2 and spec[2] is not None:
                return None
            if limit is not None and (numel(args[0]._shape) if one else size(op, args, spec)) >= limit:
                run = larger.get(args[first].dtype)
                return None if run is None else run(spec, args)
            impl.calls += 1
            if host:
                with quiet():
                    r = compute(args)
                fits = shape and r.__class__ is np.ndarray and r.shape == shape and r.dtype == dtype.np
                return from_array(r, dtype) if fits else finish(r, spec)
            r = fn(convert(args[0]), *args[1:]) if one and convert is not None else compute(args)
            if r.__class__ is Tensor or getattr(r, "_shape", None) != shape:  # a NumPy array, or a scalar of its own
                return finish(r, spec)
            if impl.out is not dtype:
                impl.out = _ms_out(r)
                if impl.out is not dtype:
                    return finish(r, spec)
            return wrap(r, shape, dtype)

        def other(spec, args):
            for shape, *_ in spec if multi else (spec,):
                if shape is None or 0 in shape:
                    return None
            if limit is not None and size(op, args, spec) >= limit:
                run = larger.get(args[first].dtype)
                return None if run is None else run(spec, args)
            impl.calls += 1
            prev, MODE.grad = MODE.grad, False
            try:
                with quiet():
                    r = compute(args)
            finally:
                MODE.grad = prev
            if r.__class__ is Tensor and r.dtype is spec[1]:
                return r
            return tuple(finish(x, s) for x, s in zip(r, spec)) if multi else finish(r, spec)

        return other if multi or kind == "composite" else kernel

    def _key_dtype(self, op, spec, args):
        k = op.options.get("key")
        if k is not None:
            a = args[k]
            return (a[0] if a.__class__ in (list, tuple) else a).dtype
        for i in op.tensor_args:
            a = args[i]
            if a.__class__ is list or a.__class__ is tuple:
                if a and a[0] is not None:
                    return a[0].dtype
            elif isinstance(a, Tensor):
                return a.dtype
        return spec[0][1] if spec.__class__ is list else spec[1]

    def _size(self, op, args, spec):
        n = numel((spec[0][0] if spec else ()) if spec.__class__ is list else spec[0] or ())
        for i in op.tensor_args:
            a = args[i]
            for t in a if a.__class__ is list or a.__class__ is tuple else (a,):
                if t.__class__ not in _PLAIN:
                    n = max(n, numel(t._shape))
        return n

    def _tensor_of(self, t, dtype):
        return t if dtype is None else self.cast(t, dtype)

    def _array_of(self, t, dtype):
        a = t._array()
        return a if dtype is None else _astype(a, dtype)

    def _ms_of(self, t, dtype):
        if dtype is None:
            return t._mstensor()
        return pyboost.tensor_from_array(np.ascontiguousarray(_astype(t._array(), dtype)).reshape(t._shape))

    def _finish(self, r, spec):
        shape, dtype = spec[0], spec[1]
        if shape is None:
            shape = tuple(r.shape)
        if isinstance(r, Tensor):
            if r.dtype is not dtype:
                r = self.cast(r, dtype)
            return r
        strides = spec[2] if len(spec) > 2 else None
        if strides is not None or r.__class__ is np.ndarray or isinstance(r, np.generic):
            r = np.array(r) if not r.shape else r if r.__class__ is np.ndarray else _host(r)  # of a single number a kernel may return its argument
            if r.dtype != dtype.np:
                r = _astype(r, dtype)
            r = r.reshape(shape) if r.shape != tuple(shape) else r
            if strides is not None and r.size:
                # LAPACK's results have their columns in one piece, a transform's result the dimensions transformed
                t = strided_view(from_array(np.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides)), dtype.np), dtype), tuple(shape), strides, 0)
                np.copyto(t._array(), r)
                return t
            return from_array(r, dtype)
        if _ms_out(r) is not dtype:
            return from_array(_astype(_host(r), dtype).reshape(shape), dtype)
        t = wrap(r, tuple(shape), dtype)
        if tuple(r.shape) != t._shape:
            t._np, t._ms = _host(r).reshape(shape), None
        return t

    # ---------------------------------------------------------------- in place
    def update(self, op, dst, args):
        """An elementwise operator within dst's memory, where a kernel does that for this dtype, size and these operands; else False."""
        k = table.updates.get(op.full)
        if k is None or dst.dtype not in k.dtypes or numel(dst._shape) < k.above or dst._stride is not None and 0 in dst._stride:
            return False
        operands = [dst._array()]
        for a in args[1:]:
            if a.__class__ is int or a.__class__ is float:
                a = dst.dtype.np.type(a)
            elif not isinstance(a, Tensor) or a.dtype is not dst.dtype or a.device is not CPU or a._shape and a._shape != dst._shape:
                return False
            else:
                a = a._array()
            operands.append(a)
        key = op, dst.dtype, "update"
        impl = self._table.get(key)
        if impl is None:
            impl = self._table[key] = Impl(op, dst.dtype, k, None)
        impl.calls += 1
        with quiet():
            k.fn(*operands)
        return True

    def inplace(self, op):
        fn = table.inplace_kernel(op)
        if fn is None:
            return None

        def kernel(dst, *args):
            table.MOVES["copy"] += 1
            fn(
                dst._array(),
                *[
                    [None if t is None else t._array() for t in a]
                    if a.__class__ in (list, tuple) and any(isinstance(t, Tensor) for t in a)
                    else a._array()
                    if isinstance(a, Tensor)
                    else a
                    for a in args
                ],
            )

        return kernel

    # ---------------------------------------------------------------- memory
    def empty(self, shape, dtype, device):
        return from_array(np.empty(shape, dtype.np), dtype)

    def write(self, dst, src):
        if src.device is not CPU:
            src = src.detach().to("cpu")
        d, s = dst._array(), src._array()
        if dst._storage is not None and src._storage is dst._storage and np.may_share_memory(d, s):
            s = s.copy()
        if s.dtype != d.dtype:
            s = _astype(s, dst.dtype)
        table.MOVES["copy"] += 1
        np.copyto(d, s)

    def cast(self, tensor, dtype):
        table.MOVES["cast"] += 1
        if dtype.np is None:
            raise NotImplementedError(f"cannot cast {tensor.dtype} to {dtype} on device cpu")
        return from_array(np.ascontiguousarray(_astype(tensor._array(), dtype)).reshape(tensor._shape), dtype)

    def compact(self, tensor):
        table.MOVES["copy"] += 1
        return from_array(np.array(tensor._array(), order="C"), tensor.dtype)


# operands that PyTorch's half kernels take unrounded, if they are one number
_EXACT = {"mul": 1, "_div": 1, "floor_divide": 1, "_div_round": 1, "lerp": 2}


def _number(value, dtype):
    if dtype.category == dt.INT and isinstance(value, int):
        return np.array(value & ((1 << (8 * dtype.itemsize)) - 1), dtype=f"u{dtype.itemsize}").view(dtype.np)
    return _astype(np.array(value), dtype)


def _operand_array(t, work):
    if not isinstance(t, Tensor):
        return _number(t, work)
    a = t._array()
    return a if t.dtype is work else _astype(a, work)


def _astype(a, dtype):
    """NumPy's cast with PyTorch's meaning: complex drops its imaginary part, floats that do not fit wrap as C does."""
    if dtype is dt.complex32 or a.dtype == dt.complex32.np:
        if a.dtype == dt.complex32.np:
            return a if dtype is dt.complex32 else _astype(dt.complex_array(a), dtype)
        with quiet():
            return dt.complex_pairs(a)
    if a.dtype.kind == "c" and dtype.category != dt.COMPLEX:
        a = a.real if dtype.category != dt.BOOL else a != 0
    if dtype.category == dt.INT and dtype.itemsize < 8 and a.dtype.kind not in "biu":
        with quiet():
            return a.astype(np.float32 if a.dtype.kind == "V" else a.dtype).astype(np.int64 if dtype is dt.uint32 else np.int32).astype(dtype.np)
    with quiet():
        if dtype.category == dt.BOOL and a.dtype.kind not in "biufc":
            return a.astype(np.float32) != 0
        return a.astype(dtype.np)


def _host(r):
    return pyboost.array_of(r, r._shape, _ms_out(r).np)


_MS_DTYPES = {}


def _ms_out(r):
    d = r.dtype
    k = _MS_DTYPES.get(d)
    if k is None:
        k = _MS_DTYPES[d] = dt.ALL[{"Bool": "bool", "BFloat16": "bfloat16"}.get(str(d), str(d).lower())]
    return k


CPU_BACKEND = Cpu()
backend.register("cpu", CPU_BACKEND)
from . import kernels  # noqa: E402,F401  (the table's entries; they use the operators)
