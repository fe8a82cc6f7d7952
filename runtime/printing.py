"""Printing of tensors: PyTorch's repr with all its options."""

import contextlib
import dataclasses
import math
from collections.abc import Callable

import numpy as np

from . import dtypes as dt
from .autograd.forward import tangent_of
from .classes import lazy
from .device import HOST, LAYOUTS, strided
from .tensor import tensor_method


@dataclasses.dataclass
class PrinterOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrinterOptions()
PROFILES: dict[str, dict] = {"default": {}, "short": {"precision": 2, "edgeitems": 2}, "full": {"threshold": math.inf}}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors print.

    The options given override those of `profile` ("default", "short" or "full"). With sci_mode=None the values decide.
    """
    if profile in PROFILES:
        vars(PRINT_OPTS).update(vars(PrinterOptions()) | PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """Return the options as a dict that set_printoptions accepts."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**options):
    """Apply set_printoptions for the length of a `with` block."""
    old = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**old)


class _Formatter:
    """Formats all numbers of an array in one style (integer, fixed point or scientific) and to the same width."""

    def __init__(self, values):
        self.text: Callable = str
        precision = PRINT_OPTS.precision
        if values.dtype.kind != "f":
            self.width = max((len(str(v)) for v in values.reshape(-1).tolist()), default=1)
            return
        used = values[np.isfinite(values) & (values != 0)]
        whole, scientific = bool((used == np.ceil(used)).all()), PRINT_OPTS.sci_mode
        if not used.size:
            scientific = False
        elif scientific is None:
            low, high = np.abs(used).min(), np.abs(used).max()
            scientific = high > 1000 * low or high > 1e8 or low < 1e-4
        if scientific:
            self.text = f"{{:.{precision}e}}".format
        elif whole:
            self.text = lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        else:
            self.text = f"{{:.{precision}f}}".format
        self.width = max((len(self.text(v)) for v in used.tolist()), default=1)

    def __call__(self, value):
        return self.text(value).rjust(self.width)


class _ComplexFormatter:
    def __init__(self, values):
        self.real, self.imag = _Formatter(values.real), _Formatter(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imag = (self.imag(value.imag) + "j").lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _values(tensor):
    """Return a tensor's values as an array whose elements can be formatted."""
    if tensor.device is not HOST:
        tensor = tensor.cpu()
    d = tensor.dtype
    if d.np is not None:
        return dt.complex_array(tensor._array()) if d is dt.complex32 else tensor._array()
    if d.name != "float4_e2m1fn_x2":
        raise NotImplementedError(f"tensors of dtype {d} cannot be printed")
    raw = tensor.untyped_storage()._array()[tensor.storage_offset() :]
    return np.lib.stride_tricks.as_strided(raw, tensor.shape, tensor.stride())


def _numbers(values, indent):
    """Return the nested brackets with the numbers."""
    if not values.size:
        return "[]"
    edge, shape = PRINT_OPTS.edgeitems, values.shape
    cut = [False] * values.ndim
    if values.size > PRINT_OPTS.threshold:
        if not edge:
            return "[...]"
        cut = [n > 2 * edge for n in shape]
        for axis in np.flatnonzero(cut):
            first, last = (slice(None),) * axis + (slice(edge),), (slice(None),) * axis + (slice(-edge, None),)
            values = np.concatenate((values[first], values[last]), axis)
    if values.dtype.kind not in "iub":
        values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    form = (_ComplexFormatter if values.dtype.kind == "c" else _Formatter)(values)

    def block(a, axis, indent):
        if axis == len(shape):
            return form(a)
        last = axis == len(shape) - 1
        parts = [form(x) for x in a] if last else [block(x, axis + 1, indent + 1) for x in a]
        if cut[axis]:
            parts.insert(edge, " ..." if last else "...")
        if last:
            step = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (form.width + 2)))
            parts = [", ".join(parts[i : i + step]) for i in range(0, len(parts), step)]
        return "[" + ("," + "\n" * max(len(shape) - axis - 1, 1) + " " * (indent + 1)).join(parts) + "]"

    return block(values.tolist(), 0, indent)


def _is(cls, name):
    """Whether a class is PyTorch's own class of that name.

    It is compared by name, because Parameter is defined in the `torch` package, which the runtime does not import.
    """
    return cls.__name__ == name and cls.__module__ in ("torch", "torch.nn.parameter")


def _part(name, tensor, indent):
    """Return the text of the indices or of the values of a sparse tensor."""
    size = f", size={tuple(tensor.shape)}" if not tensor.numel() else ""
    return f"{name}=tensor({_numbers(_values(tensor), indent + len(name) + 8)}{size})"


def _sparse_parts(tensor):
    """Return (name, tensor) of the parts of a sparse tensor."""
    if tensor._is_sparse:
        return ("indices", tensor._indices().detach()), ("values", tensor._values().detach())
    names = (
        ("crow_indices", "col_indices")
        if tensor._layout in (LAYOUTS["sparse_csr"], LAYOUTS["sparse_bsr"])
        else ("ccol_indices", "row_indices")
    )
    return *((n, getattr(tensor, n)()) for n in names), ("values", tensor.values().detach())


def _history(tensor):
    """Yield the suffixes for grad_fn or requires_grad, and for the tangent."""
    try:
        node = tensor.grad_fn
        name = None if node is None else type(node).__name__
    except RuntimeError:  # a view whose base was changed under no_grad has no valid node
        name = "Invalid"
    if name is not None:
        yield f"grad_fn=<{name}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"
    if (tangent := tangent_of(tensor)) is not None:
        yield f"tangent={tangent}"


def tensor_str(tensor, *, tensor_contents=None):
    """Return repr(tensor); `tensor_contents` replaces the numbers."""
    cls, options = type(tensor), PRINT_OPTS
    sparse, plain = getattr(tensor, "layout", strided) is not strided, _is(cls, "Tensor") or _is(cls, "Parameter")
    text = "tensor(" if plain else cls.__name__ + "("
    indent, default = len(text), dt.get_default_dtype()
    dtype, shape, meta = tensor.dtype, tuple(tensor.shape), tensor.device.type == "meta"
    empty, quantized = 0 in shape, getattr(tensor, "is_quantized", False)
    suffixes = [] if tensor.device is HOST else [f"device='{tensor.device}'"]
    if sparse:
        suffixes.append(f"size={shape}, nnz={tensor._nnz()}")
    elif quantized or meta or (empty and len(shape) != 1) or not (empty or options.edgeitems):
        suffixes.append(f"size={shape}")
    implied = (
        ()
        if meta or empty and not sparse
        else (dt.complex128 if default is dt.float64 else dt.complex64, dt.int64, dt.bool_)
    )
    if dtype is not default and dtype not in implied:
        suffixes.append(f"dtype={dtype}")
    if sparse:
        suffixes.append(f"layout={tensor._layout}")
        tensor_contents = (",\n" + " " * indent).join(_part(name, part, indent) for name, part in _sparse_parts(tensor))
    if quantized:
        suffixes += (f"quantization_scheme={tensor.qscheme()}", *tensor._q.spoken())
        tensor = tensor.dequantize()
    if tensor_contents is None:
        tensor_contents = "..." if meta else _numbers(_values(tensor), indent)
    text += tensor_contents
    suffixes += _history(tensor)
    # After the parts of a COO tensor PyTorch always begins a new line.
    column = len(text) - text.rfind("\n") + 1 if not (sparse and tensor._is_sparse) else options.linewidth
    for suffix in suffixes:
        if column + len(suffix) + 2 > options.linewidth:
            text, column = text + ",\n" + " " * indent + suffix, indent + len(suffix)
        else:
            text, column = text + ", " + suffix, column + len(suffix) + 2
    text += ")"
    if sparse and getattr(tensor, "_is_param", False):
        return "Parameter containing:\n" + text
    parameter = not plain and (getattr(tensor, "_is_param", False) or any(_is(c, "Parameter") for c in cls.__mro__))
    return f"Parameter({text})" if parameter else text


@tensor_method
def __repr__(self, *, tensor_contents=None):
    return tensor_str(self._resolved_values() if type(self) in lazy else self, tensor_contents=tensor_contents)
