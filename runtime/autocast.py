"""Autocast: which operators run in low precision, which in float32, which in the widest type; and the state behind torch.autocast."""

import threading

from . import dtypes as dt
from .overrides import LOCAL, activate
from .tensor import Tensor

LOW_CPU = frozenset(
    """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bmm mm baddbmm addmm addbmm linear matmul
 nn.functional.linear nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d
 nn.functional.conv_transpose3d linalg.vecdot nn.functional.scaled_dot_product_attention prelu nn.functional.prelu
 conv_tbc""".split()
)
LOW_ACCELERATOR = LOW_CPU | {"mv", "addmv", "chain_matmul", "linalg.multi_dot"}
FULL_CPU = frozenset(
    """nn.functional.avg_pool3d nn.functional.binary_cross_entropy nn.functional.grid_sample polar prod quantile nanquantile stft cdist trace
 view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse nn.functional.max_unpool2d nn.functional.max_unpool3d
 nn.functional.adaptive_avg_pool3d nn.functional.mse_loss nn.functional.cosine_embedding_loss nn.functional.nll_loss nn.functional.hinge_embedding_loss
 nn.functional.poisson_nll_loss nn.functional.smooth_l1_loss nn.functional.cross_entropy nn.functional.l1_loss nn.functional.huber_loss
 nn.functional.margin_ranking_loss nn.functional.soft_margin_loss nn.functional.triplet_margin_loss nn.functional.multi_margin_loss nn.functional.ctc_loss
 nn.functional.kl_div nn.functional.multilabel_margin_loss nn.functional.binary_cross_entropy_with_logits linalg.cond linalg.matrix_rank linalg.solve
 linalg.cholesky linalg.svdvals linalg.eigvals linalg.eigvalsh linalg.inv linalg.householder_product linalg.tensorinv linalg.tensorsolve geqrf lstsq
 linalg.qr linalg.svd linalg.eig linalg.eigh linalg.lstsq linalg.cholesky_ex linalg.inv_ex qr svd triangular_solve
 nn.functional.max_pool3d nn.functional.adaptive_max_pool3d nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d fft.fft fft.ifft
 fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfft2 fft.irfft2 fft.rfftn fft.irfftn fft.hfft fft.ihfft""".split()
)
FULL_ACCELERATOR = FULL_CPU | frozenset(
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softmax log_softmax
 nn.functional.softmax nn.functional.log_softmax nn.functional.softmin layer_norm nn.functional.layer_norm group_norm nn.functional.group_norm norm
 nn.functional.softplus cosine_similarity nn.functional.cosine_similarity cumprod cumsum dist sum renorm logsumexp""".split()
)
WIDEST_CPU = frozenset(["stack", "cat", "concat", "concatenate", "index_copy"])
WIDEST_ACCELERATOR = WIDEST_CPU | frozenset(
    "addcdiv addcmul atan2 bilinear cross dot nn.functional.grid_sample index_put scatter_add tensordot nn.functional.bilinear vdot".split()
)
CPU, ACCELERATOR = (LOW_CPU, FULL_CPU, WIDEST_CPU), (LOW_ACCELERATOR, FULL_ACCELERATOR, WIDEST_ACCELERATOR)


class _State(threading.local):
    def __init__(self):
        self.enabled = {}
        self.dtype = {}
        self.nesting = 0
        self.cache = True


STATE = _State()
_DEFAULT = {"cpu": dt.bfloat16, "npu": dt.float16, "cuda": dt.float16, "xpu": dt.float16}


def set_enabled(device_type, enabled):
    before = any(STATE.enabled.values())
    STATE.enabled[device_type] = bool(enabled)
    after = any(STATE.enabled.values())
    if before != after:
        activate(1 if after else -1)
    LOCAL.autocast = cast_arguments if after else None


def is_enabled(device_type=None):
    return STATE.enabled.get(device_type, False) if device_type is not None else STATE.enabled.get("cuda", False)


def get_dtype(device_type):
    return STATE.dtype.get(device_type, _DEFAULT.get(device_type, dt.float16))


def set_dtype(device_type, d):
    STATE.dtype[device_type] = d


def nest(n):
    STATE.nesting += n
    return STATE.nesting


def _tensors(args):
    for a in args:
        if isinstance(a, Tensor):
            yield a
        elif isinstance(a, (list, tuple)):
            yield from (t for t in a if isinstance(t, Tensor))


def cast_arguments(op, args):
    """The arguments of an autocast operator in its type, or None to leave them."""
    name = op.name if op.namespace in ("torch", "Tensor") else op.namespace + "." + op.name
    first = next(_tensors(args), None)
    if first is None or not STATE.enabled.get(first.device.type):
        return None
    low, full, widest = CPU if first.device.type == "cpu" else ACCELERATOR
    if name in low:
        want = get_dtype(first.device.type)
    elif name in full:
        want = dt.float32
    elif name in widest:
        want = None
        for t in _tensors(args):
            if t.dtype.is_floating_point:
                want = t.dtype if want is None else dt.promote_types(want, t.dtype)
        if want is None:
            return None
    else:
        return None

    def cast(t):
        if not isinstance(t, Tensor):
            return t
        eligible = t.dtype.is_floating_point and t.dtype is not dt.float64 and (name not in full or t.dtype in (dt.float16, dt.bfloat16))
        return t.to(want) if eligible and t.dtype is not want else t

    prev, LOCAL.autocast = LOCAL.autocast, None
    try:
        return [
            cast(a) if isinstance(a, Tensor) else type(a)([cast(t) for t in a]) if isinstance(a, (list, tuple)) and a and isinstance(a[0], Tensor) else a
            for a in args
        ]
    finally:
        LOCAL.autocast = prev
