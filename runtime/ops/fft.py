"""Fourier transforms, short-time transforms, window functions."""

import math
import warnings

from ..call.autocast import FLOAT32
from ..call.geometry import strides_in_order
from ..call.out import CONTIGUOUS, COUNTED, FOUND, Out
from ..declare import composite, op
from ..tensor import canonical
from ..warn import warn_once
from .common import SPECIAL, F, T, Tensor, changed, conj, dt, has_values, wrap_dim
from .creation import OPTS, _flag, _options
from .views import unfold_backward

NONE, ROOT, FULL = 0, 1, 2  # scaling by a kernel: none, by 1/sqrt(n), by 1/n
_SCALE = {
    True: {None: NONE, "backward": NONE, "ortho": ROOT, "forward": FULL},
    False: {None: FULL, "backward": FULL, "ortho": ROOT, "forward": NONE},
}


def scale(norm, forward):
    try:
        return _SCALE[forward][norm]
    except KeyError:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"') from None


# ------------------------------------------------------------------------------------------------ the three kernels
def _real_grad(g, self_shape, dim, normalization, onesided):
    d = dim[-1]
    if onesided:
        missing = self_shape[d] - g._shape[d]
        g = _filled(g, d, missing) if missing else g
    return T.real(T._fft_c2c(g, dim, normalization, False))


def _half_grad(g, self_shape, dim, normalization, last_dim_size):
    d = dim[-1]
    r = T._fft_r2c(g, dim, normalization, True)
    # every point counts twice except the first, and the middle one of an even number
    k = g._shape[d] - r._shape[d]
    if k <= 0:
        return r
    w = T.ones((r._shape[d],), dtype=g.dtype, device=g.device)
    w.narrow(0, 1, k).fill_(2)
    return r * w.reshape((-1, *[1] * (len(r._shape) - d - 1)))


def _spec(x, shape, dtype, dim, sort_last):
    """Return the shape, dtype and strides of the result.

    The transformed dimensions are innermost in memory, the other ones outermost.
    """

    def rank(d):
        return -x.stride(d), d

    inner = sorted(dim, key=rank) if sort_last else [*sorted(dim[:-1], key=rank), dim[-1]]
    order = [*sorted((d for d in range(len(shape)) if d not in dim), key=rank), *inner]
    return (
        tuple(shape),
        dtype,
        None if order == list(range(len(shape))) else canonical(tuple(shape), strides_in_order(shape, order)),
    )


_fft_c2c_meta = lambda self, dim, *a: _spec(self, self._shape, self.dtype, dim, True)
_fft_c2c_grad = lambda g, dim, normalization, forward: T._fft_c2c(g, dim, normalization, not forward)
op(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
    method=False,
    meta=_fft_c2c_meta,
    derivative=_fft_c2c_grad,
)
_fft_r2c_meta = lambda self, dim, normalization, onesided: _spec(
    self,
    changed(self._shape, dim[-1], self._shape[dim[-1]] // 2 + 1) if onesided else self._shape,
    self.dtype.to_complex(),
    dim,
    False,
)
op(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    derivative=_real_grad,
    method=False,
    meta=_fft_r2c_meta,
)
_fft_c2r_meta = lambda self, dim, normalization, last_dim_size: _spec(
    self, changed(self._shape, dim[-1], last_dim_size), self.dtype.to_real(), dim, False
)
op(
    "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
    derivative=_half_grad,
    method=False,
    meta=_fft_c2r_meta,
)


# ------------------------------------------------------------------------------------------------ arguments
def _inexact(x, complex_=False):
    d = x.dtype if x.dtype.category >= dt.FLOAT else dt.get_default_dtype()
    if d in dt.OPMATH:
        raise RuntimeError(f"Unsupported dtype {dt.scalar_name(d)}")
    return x.to(d.to_complex() if complex_ else d)


def _points(n):
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _filled(x, d, missing):
    """Append `missing` zeros to x along dimension d."""
    pad = [0, 0] * len(x._shape)
    pad[2 * (len(x._shape) - 1 - d % len(x._shape)) + 1] = missing
    return T.constant_pad_nd(x, pad)


def _cropped(x, dims, sizes):
    """Crop or zero-pad x to the sizes. A size of -1 or None leaves its dimension as it is."""
    for d, n in zip(dims, sizes):
        have = x._shape[d]
        if n is None or n == -1 or n == have:
            continue
        x = x.narrow(d, 0, n) if n < have else _filled(x, d, n - have)
    return x


def _one(x, n, dim):
    """Return the dimension of a one-dimensional transform and its number of points."""
    if not x._shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, len(x._shape))
    return d, _points(x._shape[d] if n is None else n)


def _many(x, s, dim):
    """Return the dimensions and sizes of a multi-dimensional transform."""
    n = len(x._shape)
    if dim is not None:
        if not n and dim:
            raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
        dims = [wrap_dim(d, n) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        if dim is not None and len(dim) != len(s):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > n:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {n} dimensions.")
        dims = list(range(n - len(s), n)) if dim is None else dims
    elif dim is None:
        dims = list(range(n))
    sizes = [x._shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    for k in sizes:
        _points(k)
    return dims, sizes


def _real_input(x, name, of):
    if x.dtype.is_complex:
        raise RuntimeError(f"{name} expects a {of} input tensor, but got {dt.scalar_name(x.dtype)}")
    return _inexact(x)


def _transform(x, dims, sizes, norm, forward):
    x = _cropped(_inexact(x, True), dims, sizes)
    return T._fft_c2c(x, dims, scale(norm, forward), forward) if dims else x.clone()


def _half_spectrum(x, dims, sizes, norm, forward, onesided=True):
    """Transform real points to half a spectrum, or to the whole one.

    With forward=False this is the transform of ihfft.
    """
    x, k = _cropped(x, dims, sizes), scale(norm, forward)
    if forward:
        return T._fft_r2c(x, dims, k, onesided)
    x = conj(
        T._fft_r2c(x, dims[-1:], k, onesided)
    )  # the last dimension comes first, as in PyTorch, because the result's strides depend on it
    return T._fft_c2c(x, dims[:-1], k, False) if dims[1:] else x


def _to_real(x, dims, sizes, last, norm, forward):
    """Transform half a spectrum to real points. With forward=True this is the transform of hfft."""
    x = _cropped(_inexact(x, True), dims, [*sizes[:-1], last // 2 + 1])
    return T._fft_c2r(conj(x) if forward else x, dims, scale(norm, forward), last)


# ------------------------------------------------------------------------------------------------ torch.fft
def _order_of_input(dtype):
    """Return what one-dimensional transforms require of out=.

    The inverse ones require it to be contiguous only if the input is complex: real input is copied in its own order.
    """
    return CONTIGUOUS if dtype is None else Out(dtype, contiguous=lambda args: args[0].dtype.is_complex)


_ONE, _MANY, _TWO = (
    f"(Tensor self, {sizes}, str? norm=None) -> Tensor"
    for sizes in ("int? n=None, int dim=-1", "int[1]? s=None, int[1]? dim=None", "int[1]? s=None, int[1] dim=[-2, -1]")
)


def _declare_complex(forward):
    """Declare fft, fftn and fft2, or their inverses."""
    name = "fft" if forward else "ifft"

    @composite(f"fft.{name}{_ONE}", out=_order_of_input(None if forward else FOUND), autocast=FLOAT32)
    def fft(self, n, dim, norm):
        d, n = _one(self, n, dim)
        return (
            _transform(self, [d], [n], norm, forward)
            if self.dtype.is_complex
            else _half_spectrum(_inexact(self), [d], [n], norm, forward, False)
        )

    @composite(f"fft.{name}2{_TWO}", out=CONTIGUOUS, autocast=FLOAT32)
    @composite(f"fft.{name}n{_MANY}", out=CONTIGUOUS, autocast=FLOAT32)
    def fftn(self, s, dim, norm):
        dims, sizes = _many(self, s, dim)
        return _transform(self, dims, sizes, norm, forward)


def _declare_half(forward):
    """Declare the transforms of real points to half a spectrum: rfft, or its conjugate inverse ihfft."""
    name, autocast = ("rfft", FLOAT32) if forward else ("ihfft", None)

    @composite(f"fft.{name}{_ONE}", out=_order_of_input(None if forward else FOUND), autocast=FLOAT32)
    def rfft(self, n, dim, norm):
        x = _real_input(self, name, "real")
        d, n = _one(x, n, dim)
        return _half_spectrum(x, [d], [n], norm, forward)

    @composite(f"fft.{name}2{_TWO}", out=CONTIGUOUS, autocast=autocast)
    @composite(f"fft.{name}n{_MANY}", out=CONTIGUOUS, autocast=autocast)
    def rfftn(self, s, dim, norm):
        if self.dtype.is_complex and not forward:
            raise RuntimeError(f"Only supports floating-point dtypes, but found: {dt.scalar_name(self.dtype)}")
        x = _real_input(self, name + "n", "real-valued")
        dims, sizes = _many(x, s, dim)
        if not dims:
            raise RuntimeError(f"{name}n must transform at least one axis")
        return _half_spectrum(x, dims, sizes, norm, forward)


def _declare_real(forward):
    """Declare the transforms of half a spectrum to real points: irfft or hfft."""
    name, autocast = ("hfft", None) if forward else ("irfft", FLOAT32)

    @composite(f"fft.{name}{_ONE}", out=CONTIGUOUS, autocast=FLOAT32)
    def irfft(self, n, dim, norm):
        d, _ = _one(self, 1, dim)
        n = _points(2 * (self._shape[d] - 1) if n is None else n)
        return _to_real(self, [d], [n], n, norm, forward)

    @composite(f"fft.{name}2{_TWO}", out=CONTIGUOUS, autocast=autocast)
    @composite(f"fft.{name}n{_MANY}", out=CONTIGUOUS, autocast=autocast)
    def irfftn(self, s, dim, norm):
        dims, sizes = _many(self, s, dim)
        if not dims:
            raise RuntimeError(f"{name}n must transform at least one axis")
        last = _points(2 * (self._shape[dims[-1]] - 1) if s is None or s[-1] == -1 else s[-1])
        return _to_real(self, dims, sizes, last, norm, forward)


for _forward in (True, False):
    _declare_complex(_forward)
    _declare_half(_forward)
    _declare_real(_forward)


@composite(f"fft.fftfreq(int n, float d=1.0, *, {OPTS}) -> Tensor", out=COUNTED)
def fftfreq(n, d, dtype, layout, device, requires_grad, pin_memory):
    k = T.arange(n, dtype=_options(dtype, layout, device)[0], device=device)
    return _flag(T.where(k >= (n + 1) // 2, k - n, k) * (1 / (n * d) if n else 1.0), requires_grad)


@composite(f"fft.rfftfreq(int n, float d=1.0, *, {OPTS}) -> Tensor", out=COUNTED)
def rfftfreq(n, d, dtype, layout, device, requires_grad, pin_memory):
    return _flag(
        T.arange(n // 2 + 1, dtype=_options(dtype, layout, device)[0], device=device) * (1 / (n * d) if n else 1.0),
        requires_grad,
    )


def _shift(self, dim, inverse):
    dims = range(len(self._shape)) if dim is None else [wrap_dim(d, len(self._shape)) for d in dim]
    return T.roll(self, [(self._shape[d] + inverse) // 2 for d in dims], list(dims))


composite("fft.fftshift(Tensor self, int[1]? dim=None) -> Tensor", out=False)(lambda self, dim: _shift(self, dim, 0))
composite("fft.ifftshift(Tensor self, int[1]? dim=None) -> Tensor", out=False)(lambda self, dim: _shift(self, dim, 1))


# ------------------------------------------------------------------------------------------------ short-time transforms
def _refuse(name, x, args, text):
    """Raise PyTorch's error, which begins with the call of stft or istft."""

    def shown(v):
        return (
            f"torch.{dt.scalar_name(v.dtype)}Tensor{{{list(v._shape)}}}"
            if isinstance(v, Tensor)
            else int(v)
            if isinstance(v, bool)
            else v
        )

    kind = {"stft": "torch.{}Tensor", "istft": "CPU{}Type"}[name].format(dt.scalar_name(x.dtype))
    raise RuntimeError(f"{name}({kind}{list(x._shape)}, {', '.join(f'{k}={shown(v)}' for k, v in args.items())}){text}")


def _window(window, win_length, n_fft, like):
    """Return the window, or ones, centered in n_fft points. Return None if it would have no effect."""
    if window is None:
        if win_length == n_fft:
            return None
        window = T.ones((win_length,), dtype=like.dtype.to_real(), device=like.device)
    left = (n_fft - win_length) // 2
    return F.pad(window, (left, n_fft - win_length - left)) if win_length != n_fft else window


_RECTANGULAR = (
    "To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)


@composite(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None, "
    "bool? align_to_window=None) -> Tensor",
    out=False,
    python=True,
    autocast=FLOAT32,
    aten="stft.center",
)
def stft(
    self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window
):
    """Return the Fourier transforms of overlapping windows of a signal."""
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    is_complex = self.dtype.is_complex or window is not None and window.dtype.is_complex
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false.")
    x = _centred(self, n_fft, pad_mode) if center else self
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
            "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral "
            "leakage." + _RECTANGULAR
        )
    said = dict(
        n_fft=n_fft,
        hop_length=hop,
        win_length=win,
        window=window,
        normalized=normalized,
        onesided=onesided,
        return_complex=return_complex,
    )
    _check_stft(x, n_fft, hop, win, window, {**said, "align_to_window": align_to_window})
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    w = _window(window, win, n_fft, x)
    frames = x.unfold(-1, n_fft, hop)
    frames = frames if w is None else frames * w
    d, k = [len(frames._shape) - 1], ROOT if normalized else NONE
    r = T._fft_c2c(frames, d, k, True) if frames.dtype.is_complex else T._fft_r2c(frames, d, k, onesided is not False)
    r = r.transpose(-2, -1)
    return r if return_complex else T.view_as_real(r)


def _centred(x, n_fft, pad_mode):
    """Pad the signal by half a window on both sides, so that windows are centered on its points."""
    wide = x.reshape((*[1] * (3 - len(x._shape)), *x._shape)) if len(x._shape) < 3 else x
    wide = F.pad(wide, [n_fft // 2, n_fft // 2], pad_mode)
    return wide.reshape((*x._shape[:-1], wide._shape[-1]))


def _check_stft(x, n_fft, hop, win, window, said):
    if x.dtype in dt.OPMATH and (window is None or window.dtype in dt.OPMATH):
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {dt.scalar_name(x.dtype)}")
    if x.dtype.category < dt.FLOAT:
        _refuse("stft", x, said, " : expected a tensor of floating point or complex values")
    if len(x._shape) not in (1, 2):
        _refuse("stft", x, said, " : expected a 1D or 2D tensor")
    length = x._shape[-1]
    if not 0 < n_fft <= length:
        _refuse("stft", x, said, f" : expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        _refuse("stft", x, said, f" : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        _refuse("stft", x, said, f" : expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and window._shape != (win,):
        _refuse(
            "stft",
            x,
            said,
            f" : expected a 1D window tensor of size equal to win_length={win}, but got window with size "
            f"{list(window._shape)}",
        )


@composite(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
    out=False,
)
def istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    """Reconstruct a signal from its short-time Fourier transform by adding up the overlapping windows."""
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if not self.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by "
            "stft to make the inversion lossless." + _RECTANGULAR
        )
    said = dict(
        n_fft=n_fft,
        hop_length=hop,
        win_length=win,
        window=window,
        center=center,
        normalized=normalized,
        onesided=onesided,
        length=length,
    )
    said["return_complex"] = return_complex
    _check_istft(self, n_fft, hop, win, window, onesided, return_complex, said)
    x = self if len(self._shape) == 3 else self.unsqueeze(0)
    x = x.transpose(1, 2)
    k = ROOT if normalized else FULL
    if return_complex:
        x = T._fft_c2c(x, [2], k, False)
    else:
        x = T._fft_c2r(x.narrow(-1, 0, n_fft // 2 + 1), [2], k, n_fft)  # only half of a whole spectrum is used
    w = _window(window, win, n_fft, x)
    w = T.ones((n_fft,), dtype=x.dtype.to_real(), device=x.device) if w is None else w
    full = n_fft + hop * (x._shape[1] - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else full - n_fft // 2 if center else full
    y, envelope = _overlapped(x, w, full, n_fft, hop, start, max(min(end, full) - start, 0))
    if has_values(envelope) and not bool((envelope.abs() > 1e-11).all()):
        _refuse("istft", self, said, " window overlap add min: 1")
    y = y / envelope
    if end > full:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=4,
        )
        y = T.cat((y, y.new_zeros((y._shape[0], end - full))), 1)
    return y if len(self._shape) == 3 else y.squeeze(0)


def _overlapped(x, w, full, n_fft, hop, start, length):
    """Return the sum of overlapping windows and that of the squared window function, from start on."""
    y = unfold_backward(x * w, (x._shape[0], full), 1, n_fft, hop)
    envelope = unfold_backward((w * w).expand((1, x._shape[1], n_fft)), (1, full), 1, n_fft, hop)
    return (t.narrow(1, start, length) for t in (y, envelope))


def _check_istft(x, n_fft, hop, win, window, onesided, return_complex, said):
    if 0 in x._shape:
        _refuse("istft", x, said, " : input tensor cannot be empty.")
    if len(x._shape) not in (2, 3):
        _refuse("istft", x, said, f" : expected a tensor with 3 or 4 dimensions, but got {len(x._shape) + 1}")
    onesided = (
        (n_fft // 2 + 1 == x._shape[-2] or not return_complex and x._shape[-2] != n_fft)
        if onesided is None
        else onesided
    )
    if x._shape[-2] != (n_fft // 2 + 1 if onesided else n_fft):
        _refuse(
            "istft",
            x,
            said,
            " : expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft{' / 2 + 1' if onesided else ''} when onesided={onesided}, but got {x._shape[-2]}",
        )
    if not 0 < hop <= win:
        _refuse("istft", x, said, " : expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        _refuse("istft", x, said, " : expected 0 < win_length <= n_fft")
    if window is not None and window._shape != (win,):
        _refuse("istft", x, said, " : Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")


# ------------------------------------------------------------------------------------------------ windows of torch
def _positions(n, device, dtype=dt.float64):
    return T.arange(n, dtype=dtype, device=device)


def _old_window(name, extra, shape):
    @composite(f"{name}(int window_length, bool periodic=True{extra}, *, {OPTS}) -> Tensor", out=False)
    def window(window_length, periodic, *rest):
        *params, dtype, layout, device, requires_grad, pin_memory = rest
        d = _options(dtype, layout, device)[0]
        if not d.is_floating_point:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {d}")
        n = window_length
        if n < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
        if n < 2:
            w = T.ones((n,), dtype=d, device=device)
        else:
            w = shape(_positions(n, device), n if periodic else n - 1, *params).to(d)
        return _flag(w, requires_grad)

    return window


def _cosines(k, n, *a):
    """Return a0 - a1 cos(x) + a2 cos(2 x) - ..., where x runs from 0 at k = 0 to 2 pi at k = n."""
    w = T.full_like(k, a[0])
    for i, c in enumerate(a[1:], 1):
        w = w + (k * (2 * math.pi * i / n)).cos() * (c if i % 2 == 0 else -c)
    return w


def _bessel(k, n, beta):
    x = k * (2 / n) - 1
    return SPECIAL.i0((1 - x * x).clamp_min(0).sqrt() * beta) / SPECIAL.i0(
        T.full((), beta, dtype=k.dtype, device=k.device)
    )


_old_window("hann_window", "", lambda k, n: _cosines(k, n, 0.5, 0.5))
_old_window("hamming_window", ", float alpha=0.54, float beta=0.46", _cosines)
_old_window("blackman_window", "", lambda k, n: _cosines(k, n, 0.42, 0.5, 0.08))
_old_window("bartlett_window", "", lambda k, n: 1 - (k * (2 / n) - 1).abs())
_old_window("kaiser_window", ", float beta=12.0", _bessel)


# ------------------------------------------------------------------------------------------------ torch.signal.windows
def _window_of(name, extra, shape, said=None):
    said = said or name

    @composite(
        f"signal.windows.{name}(int M, *, {extra}bool sym=True, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool requires_grad=False) -> Tensor",
        out=False,
    )
    def window(M, *rest):
        *params, sym, dtype, layout, device, requires_grad = rest
        if M < 0:
            raise ValueError(f"{said} requires non-negative window length, got M={M}")
        if layout is not None and layout.name != "strided":
            raise ValueError(f"{said} is implemented for strided tensors only, got: {layout}")
        d = dtype or dt.get_default_dtype()
        if d not in (dt.float32, dt.float64):
            raise ValueError(f"{said} expects float32 or float64 dtypes, got: {d}")
        w = shape(_positions(M, device, d), M - 1 if sym else M, *params)
        return _flag(T.ones((M,), dtype=d, device=device) if M == 1 else w.to(d), requires_grad)

    return window


def _coefficients(k, n, a):
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(k, n or 1, *a)


def _exponential(k, n, center, tau):
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if center is not None and n == k._shape[0] - 1:
        raise ValueError("Center must be None for symmetric windows")
    return (-(k - (n / 2 if center is None else center)).abs() / tau).exp()


def _gaussian(k, n, std):
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    x = (k - n / 2) / std
    return (x * x * -0.5).exp()


def _kaiser(k, n, beta):
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _bessel(k, n or 1, beta)


_window_of("general_cosine", "Any? a, ", _coefficients)
_window_of(
    "general_hamming", "float alpha=0.54, ", lambda k, n, alpha: _cosines(k, n or 1, alpha, 1 - alpha), "general_cosine"
)
for _n, _a in {
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
}.items():
    _window_of(_n, "", lambda k, n, _a=_a: _cosines(k, n or 1, *_a), "general_cosine" if _n != "blackman" else None)
_window_of("bartlett", "", lambda k, n: 1 - (k * (2 / (n or 1)) - 1).abs())
_window_of("cosine", "", lambda k, n: ((k + 0.5) * (math.pi / (n + 1 or 1))).sin())
_window_of("exponential", "float? center=None, Scalar tau=1.0, ", _exponential)
_window_of("gaussian", "Scalar std=1.0, ", _gaussian)
_window_of("kaiser", "Scalar beta=12.0, ", _kaiser)
