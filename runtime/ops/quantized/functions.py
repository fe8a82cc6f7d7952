"""Functions of quantized tensors.

Views and selections act on the integers. Arithmetic acts on the dequantized numbers, and the result is quantized again.
"""

from ..common import F, T, Tensor, dt, wrap_dim
from ..memory import CONVERSIONS
from ..sparse.tensors import TO_ANOTHER
from .tensors import QuantizedTensor, number, on_quantized, over, requantized, stored
from .values import PerChannel, to_float32

_UNIFORM = "Setting strides is possible only on uniformly quantized tensor"


def _result(self, found, wrapped):
    """Wrap the results of a function of the integers; those at the positions `wrapped` are quantized as self is."""
    if isinstance(found, Tensor):
        return self._with(found)
    items = [self._with(r) if wrapped is None or i in wrapped else r for i, r in enumerate(found)]
    return type(found)(*items) if hasattr(found, "_fields") else type(found)(items)


# ------------------------------------------------------------------------------------------------ views
def _view(name):
    @on_quantized(name)
    def view(self, *args, **kwargs):
        if isinstance(self._q, PerChannel):
            raise RuntimeError(_UNIFORM)
        args = [a._shape if isinstance(a, Tensor) else a for a in args]
        return _result(self, getattr(self._v, name.removesuffix("_as"))(*args, **kwargs), None)


for _name in (
    "t transpose swapaxes swapdims permute movedim moveaxis expand expand_as as_strided unfold diagonal repeat tile "
    "flip"
).split():
    _view(_name)


def _reshaped(name):
    @on_quantized(name)
    def reshape(self, *args, **kwargs):
        args = [a._shape if isinstance(a, Tensor) else a for a in args]
        values = getattr(self._v, name.removesuffix("_as"))(*args, **kwargs)
        return self._with(values, self._q.of(values._shape))


for _name in "view reshape flatten unflatten ravel view_as reshape_as contiguous clone".split():
    _reshaped(_name)


@on_quantized("unsqueeze")
def unsqueeze(self, dim):
    values, q = self._v.unsqueeze(dim), self._q
    if isinstance(q, PerChannel):
        q = q.moved(q.axis + (wrap_dim(dim, len(values._shape)) <= q.axis))
    return self._with(values, q)


@on_quantized("squeeze")
def squeeze(self, *dim, **kwargs):
    values, q = self._v.squeeze(*dim, **kwargs), self._q
    if isinstance(q, PerChannel):
        given = dim[0] if dim else kwargs.get("dim", range(len(self._shape)))
        dims = {wrap_dim(d, len(self._shape)) for d in ([given] if isinstance(given, int) else given)}
        gone = {d for d in dims if self._shape[d] == 1}
        if q.axis in gone:
            raise RuntimeError("Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors.")
        q = q.moved(q.axis - sum(d < q.axis for d in gone))
    return self._with(values, q)


@on_quantized("select")
def select(self, dim, index):
    values, q = self._v.select(dim, index), self._q
    if isinstance(q, PerChannel):
        dim = wrap_dim(dim, len(self._shape))
        q = q.at(index) if dim == q.axis else q.moved(q.axis - (dim < q.axis))
    return self._with(values, q)


@on_quantized("narrow")
def narrow(self, dim, start, length):
    values, q = self._v.narrow(dim, start, length), self._q
    if isinstance(q, PerChannel) and wrap_dim(dim, len(self._shape)) == q.axis:
        q = q.among(range(self._shape[q.axis])[start : start + length])
    return self._with(values, q)


def _pieces(name):
    @on_quantized(name)
    def pieces(self, sizes, dim=0):
        dim, start, found = wrap_dim(dim, len(self._shape)), 0, []
        for piece in getattr(self._v, name)(sizes, dim):
            found.append(narrow(self, dim, start, piece._shape[dim]))
            start += piece._shape[dim]
        return tuple(found)


for _name in "split chunk tensor_split split_with_sizes".split():
    _pieces(_name)


@on_quantized("unbind")
def unbind(self, dim=0):
    dim = wrap_dim(dim, len(self._shape))
    return tuple(select(self, dim, i) for i in range(self._shape[dim]))


def _plain_index(index):
    return all(
        isinstance(i, int) and not isinstance(i, bool) or isinstance(i, slice) or i is None or i is Ellipsis
        for i in index
    )


@on_quantized("__getitem__")
def getitem(self, index):
    if not isinstance(self._q, PerChannel):
        return self._with(self._v[index])
    index = index if isinstance(index, tuple) else (index,)
    if not _plain_index(index):
        raise RuntimeError("quantized tensors are indexed by tensors where they are quantized per tensor alone")
    if Ellipsis in index:
        at = index.index(Ellipsis)
        missing = len(self._shape) - sum(i is not None and i is not Ellipsis for i in index)
        index = (*index[:at], *(slice(None),) * missing, *index[at + 1 :])
    t, dim = self, 0
    for i in index:
        if i is None:
            t, dim = unsqueeze(t, dim), dim + 1
        elif isinstance(i, int):
            t = select(t, dim, i)
        else:
            t, dim = _sliced(t, dim, i), dim + 1
    return t


def _sliced(t, dim, piece):
    values, q = t._v[(slice(None),) * dim + (piece,)], t._q
    if isinstance(q, PerChannel) and dim == q.axis:
        q = q.among(range(t._shape[dim])[piece])
    return t._with(values, q)


@on_quantized("__setitem__")
def setitem(self, index, value):
    if _plain_index(index if isinstance(index, tuple) else (index,)):
        target = getitem(self, index)
        if isinstance(value, Tensor):
            copy_(target, value)
        else:
            fill_(target, value)
        return
    if isinstance(value, QuantizedTensor):
        raise RuntimeError("Value argument for quantized input_put should not be quantized")
    value = value if isinstance(value, Tensor) else T.full((), float(value), dtype=dt.float32, device=self.device)
    self._v[index] = self._q.checked().integers(value.to(dt.float32), self._v.dtype)


@on_quantized("index_put_")
def index_put_(self, indices, values, accumulate=False):
    if accumulate:
        raise RuntimeError("index_put for quantized tensors is currently not supported with accumulate=True")
    setitem(self, tuple(indices), values)
    return self


# ------------------------------------------------------------------------------------------------ written to
@on_quantized("fill_")
def fill_(self, value):
    value = value if isinstance(value, Tensor) else T.full((), float(value), dtype=dt.float32, device=self.device)
    return copy_(self, value.to(dt.float32).expand(self._shape))


@on_quantized("copy_")
def copy_(self, src, non_blocking=False):
    if not isinstance(self, QuantizedTensor):
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a "
            "float Tensor from a quantized Tensor"
        )
    if isinstance(src, QuantizedTensor):
        if self.dtype is not src.dtype:
            raise RuntimeError("Quantized Copy only works with same dtypes")
        self._v.copy_(src._v)
        self._q = src._q  # as in PyTorch, copying also replaces the quantizer
        return self
    if src.dtype is not dt.float32:
        raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
    self._v.copy_(self._q.integers(src.expand(self._shape), self._v.dtype))
    return self


@on_quantized("masked_fill_")
def masked_fill_(self, mask, value):
    if isinstance(self._q, PerChannel):
        raise RuntimeError(
            "masked_fill__quantized_cpu for quantized tensors is currently only supported for per tensor quantized "
            "tensors"
        )
    self._v.masked_fill_(mask, number(self, value))
    return self


@on_quantized("masked_fill")
def masked_fill(self, mask, value):
    if isinstance(self._q, PerChannel):
        raise RuntimeError(_UNIFORM)
    return masked_fill_(self._with(self._v.clone()), mask, value)


@on_quantized("empty_like")
def empty_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False, memory_format=None):
    kept, more = (
        self._v.dtype if dtype is None else stored(dtype),
        {} if memory_format is None else {"memory_format": memory_format},
    )
    return over(T.empty_like(self._v, dtype=kept, device=device, **more), dtype or self.dtype, self._q)


@on_quantized("ones_like")
def ones_like(self, **options):
    return fill_(empty_like(self, **options), 1.0)


# ------------------------------------------------------------------------------------------------ to another device
def _converting(name):
    def convert(self, *args, **kwargs):
        wanted = next((a for a in (*args, *kwargs.values()) if isinstance(a, (dt.dtype, Tensor))), None)
        wanted = wanted.dtype if isinstance(wanted, Tensor) else wanted
        if name == "type":
            if not args and not kwargs:
                return f"torch.quantized.{dt.scalar_name(self.dtype)}Tensor"
        elif name in CONVERSIONS:
            wanted = dt.float32  # .float() and similar methods: none of them converts to a quantized dtype
        if wanted is not None and wanted is not self.dtype:
            stored(wanted)
            raise RuntimeError("Quantized Copy only works with same dtypes")
        args = [a.device if isinstance(a, Tensor) else a for a in args if not isinstance(a, dt.dtype)]
        kwargs.pop("dtype", None)
        values = (
            self._v.clone()
            if not args and kwargs.get("copy")
            else getattr(self._v, name)(*args, **kwargs)
            if args or kwargs or name != "to"
            else self._v
        )
        return self if values is self._v else self._with(values)

    return convert


for _name in ("type", *TO_ANOTHER):
    on_quantized(_name)(_converting(_name))


# ---------------------------------------------------------- choices among the integers, which are in the numbers' order
def _chosen(name, wrapped=None, refused=None, namespace=T):
    @on_quantized(name)
    def choose(self, *args, **kwargs):
        if isinstance(self._q, PerChannel):
            raise RuntimeError(refused) if refused else self._q.checked()
        return _result(self, getattr(namespace, name)(self._v, *args, **kwargs), wrapped)


_chosen("sort", (0,))
_chosen("topk", (0,), "Top-K is only supported on per-tensor quantization")
_chosen("index_select", None, "Only per_tensor quantized quantized tensors are supported by index_select.")
_EXTREMA = "{} operator for quantized tensors only works for per tensor quantized tensors. "
_EXTREMA += (
    "Please open an issue on https://github.com/pytorch/pytorch/issues if you need per channel quantized tensor "
    "support."
)
_chosen("max", (0,), _EXTREMA.format("Max"))
_chosen("min", (0,), _EXTREMA.format("Min"))
_chosen("pixel_shuffle", None, _UNIFORM)
_chosen("pixel_unshuffle", None, _UNIFORM)


@on_quantized("argsort")
def argsort(self, *args, **kwargs):
    self._q.checked()
    return T.argsort(self._v, *args, **kwargs)


def _pooled(name):
    @on_quantized(name)
    def pool(self, *args, **kwargs):
        self._q.checked()
        found = getattr(F, name)(self._v.to(dt.float64), *args, **kwargs)
        return self._with(found.to(self._v.dtype))


for _name in "max_pool1d max_pool2d max_pool3d".split():
    _pooled(_name)


def _joined(name):
    @on_quantized(name)
    def join(tensors, *args, **kwargs):
        first = next(t for t in tensors if isinstance(t, QuantizedTensor))
        if any(isinstance(t, QuantizedTensor) and isinstance(t._q, PerChannel) for t in tensors):
            raise RuntimeError("Only per-tensor quantization is supported in 'cat'!")
        if any(t.dtype is not first.dtype for t in tensors):
            raise RuntimeError("All dtypes must be the same.")
        values = [t._v if t._q.same(first._q) else requantized(first, t.dequantized())._v for t in tensors]
        return first._with(getattr(T, name)(values, *args, **kwargs))


for _name in "cat concat concatenate stack".split():
    _joined(_name)


@on_quantized("pad")
def pad(self, pad, mode="constant", value=None):
    if isinstance(self._q, PerChannel):
        raise RuntimeError("Only per-tensor padding is supported.")
    if mode == "constant":
        return self._with(F.pad(self._v, pad, value=number(self, value or 0.0).item()))
    return self._with(F.pad(self._v.to(dt.float64), pad, mode).to(self._v.dtype))


# ------------------------------------------------------------------------------------------------ limits
def _limited(self, lowest, highest):
    lowest, highest = (None if x is None else number(self, x).item() for x in (lowest, highest))
    return T.clamp(self._v, lowest, highest)


def _written(function):
    """Return the in-place form of a function."""

    def inplace(self, *args, **kwargs):
        self._v.copy_(function(self, *args, **kwargs)._v)
        return self

    return inplace


def _limit(names, limits):
    for name in names.split():

        def limit(self, *args, inplace=False, **kwargs):
            self._q.checked()
            values = _limited(self, *limits(*args, **kwargs))
            if not inplace:
                return self._with(values)
            self._v.copy_(values)
            return self

        on_quantized(name)(limit)
        on_quantized(name + "_")(_written(limit))


_limit("relu", lambda: (0.0, None))
_limit("relu6", lambda: (0.0, 6.0))
_limit("clamp clip", lambda min=None, max=None: (min, max))
_limit("clamp_min", lambda min: (min, None))
_limit("clamp_max", lambda max: (None, max))
_limit("hardtanh", lambda min_val=-1.0, max_val=1.0: (min_val, max_val))


# -------------------------------------------------------------------------------------------- arithmetic on the numbers
def _computed(name, namespace=T, inplace=False):
    """Declare a function of the dequantized numbers, whose result is quantized as its argument is."""

    def compute(self, *args, **kwargs):
        self._q.checked()
        into = kwargs.pop("inplace", False)
        result = requantized(self, getattr(namespace, name)(self.dequantized(), *args, **kwargs))
        return copy_(self, result) if into else result

    on_quantized(name)(compute)
    if inplace:
        on_quantized(name + "_")(_written(compute))


for _name in "mean std".split():
    _computed(_name)
for _name in "leaky_relu threshold".split():
    _computed(_name, F, inplace=True)
for _name in "avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d".split():
    _computed(_name, F)


@on_quantized("gelu")
def gelu(self, approximate="none"):
    q = self._q.checked()
    return requantized(self, F.gelu(self.dequantized(), approximate=approximate), to_float32(q.scale), q.zero_point)


def _bounded(name, namespace, ranges, inplace=False):
    """Declare a function with a known range of results. `ranges` holds (scale, zero point) for each dtype."""

    def bounded(self, inplace=False):
        self._q.checked()
        return requantized(self, getattr(namespace, name)(self.dequantized()), *ranges[self.dtype.name])

    on_quantized(name)(bounded)
    if inplace:
        on_quantized(name + "_")(_written(bounded))


_UNIT = {"quint8": (2.0**-8, 0), "qint8": (2.0**-8, -128), "qint32": (2.0**-32, 0)}
_bounded("sigmoid", T, _UNIT)
_bounded("hardsigmoid", F, _UNIT)
_bounded("tanh", T, {"quint8": (2.0**-7, 128), "qint8": (2.0**-7, 0), "qint32": (2.0**-31, 0)})


@on_quantized("interpolate", "upsample")
def interpolate(self, size=None, scale_factor=None, mode="nearest", **kwargs):
    self._q.checked()
    if mode.startswith("nearest"):
        return self._with(F.interpolate(self._v.to(dt.float64), size, scale_factor, mode, **kwargs).to(self._v.dtype))
    return requantized(self, F.interpolate(self.dequantized(), size, scale_factor, mode, **kwargs))


# ------------------------------------------------------------------------------------------------ comparisons
def _numbers(t):
    return t.dequantized() if isinstance(t, QuantizedTensor) else t


def _compared(name, *names):
    @on_quantized(name, *names)
    def compare(self, other):
        return getattr(T, name)(_numbers(self), _numbers(other))


for _name in "eq ne lt le gt ge".split():
    _compared(_name, f"__{_name}__")


@on_quantized("equal")
def equal(self, other):
    if not isinstance(other, QuantizedTensor) or not isinstance(self, QuantizedTensor) or self.dtype is not other.dtype:
        return False
    return self._q.same(other._q) and self._v.equal(other._v)


@on_quantized("is_same_size")
def is_same_size(self, other):
    return self._shape == other._shape


@on_quantized("isclose", "allclose")
def isclose(*args, **kwargs):
    raise RuntimeError("isclose is not supported for quantized inputs.")
