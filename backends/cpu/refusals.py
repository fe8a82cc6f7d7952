"""Dtypes that PyTorch's CPU kernels refuse although the kernels here could compute them.

Such calls raise the same error as in PyTorch. A row holds the name in the message ("*" is replaced by the operator's
own), the dtypes and the operators.
"""

from ...runtime import dtypes as dt
from ..host import COMPLEXES, HALVES, INTS, UNSIGNED, dtype_set

WHOLE = f"bool {INTS}"  # bool and integer dtypes
_REFUSED = [
    ("abs_cpu", "bool", "abs"),
    ("addcmul_cpu_out", "bool", "addcmul"),
    ("digamma", COMPLEXES, "digamma"),
    ("erfc_vml_cpu", COMPLEXES, "erfc"),
    ("lgamma_vml_cpu", COMPLEXES, "lgamma"),
    ("lerp_kernel_scalar", "bool", "lerp"),
    ("round_cpu", COMPLEXES, "_round.decimals"),
    ("threshold_cpu", "bool", "threshold"),
    (
        "*_cpu",
        f"{HALVES} {COMPLEXES}",
        "special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.erfcx "
        "special.log_ndtr special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0 "
        "special.modified_bessel_k1 special.ndtri special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 "
        "special.spherical_bessel_j0 special.zeta special.chebyshev_polynomial_t special.chebyshev_polynomial_u "
        "special.chebyshev_polynomial_v special.chebyshev_polynomial_w special.hermite_polynomial_h "
        "special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p "
        "special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u "
        "special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w",
    ),
    ("glu_cpu", "bool", "_C._nn.glu"),
    ("cumsum_out_cpu", "bool", "cumsum"),
    ("cumprod_out_cpu", "bool", "cumprod"),
    ("searchsorted_out_cpu", f"bool {COMPLEXES}", "_searchsorted"),
    ("softmax_backward_lastdim_kernel_impl", f"{WHOLE} {COMPLEXES}", "_softmax_backward_data"),
    ("softmax_kernel_impl", f"{WHOLE} {COMPLEXES}", "_safe_softmax"),
    ("avg_pool2d", f"bool u8 i8 i16 i32 {COMPLEXES}", "_C._nn.avg_pool1d _C._nn.avg_pool2d"),
    ("avg_pool3d_out_frame", f"bool u8 i8 i16 i32 {HALVES} {COMPLEXES}", "_C._nn.avg_pool3d"),
    ("max_pool2d", COMPLEXES, "_C._nn.max_pool1d_with_indices"),
    ("max_pool2d", f"{UNSIGNED} {COMPLEXES}", "_C._nn.max_pool2d_with_indices"),
    ("max_pool3d", f"{UNSIGNED} {COMPLEXES}", "_C._nn.max_pool3d_with_indices"),
    (
        "compute_index_ranges_weights",
        f"bool i8 i16 i32 i64 {HALVES} {COMPLEXES}",
        "_C._nn._upsample_bilinear2d_aa _C._nn._upsample_bicubic2d_aa _C._nn._upsample_lanczos2d_aa",
    ),
    ("im2col_out_cpu", INTS, "_C._nn.im2col"),
    ("col2im_out_cpu", INTS, "_C._nn.col2im"),
    ("arange_cpu", f"bool {COMPLEXES}", "_arange"),
    ("linspace_cpu", "bool", "_linspace"),
    ("batch_norm", f"{WHOLE} {COMPLEXES}", "_C.native_batch_norm"),
    ("GroupNormKernelImpl", f"{WHOLE} {COMPLEXES}", "native_group_norm"),
    ("LayerNormKernelImpl", f"{WHOLE} {COMPLEXES}", "native_layer_norm"),
    ("rms_norm", WHOLE, "_fused_rms_norm"),
    ("binary_cross_entropy", f"{WHOLE} {COMPLEXES}", "_C._nn.binary_cross_entropy"),
    ("huber_cpu", f"{WHOLE} {COMPLEXES}", "_C._nn.huber_loss"),
    ("mse_cpu", f"{WHOLE} {COMPLEXES}", "_C._nn.mse_loss"),
    ("smooth_l1_cpu", f"{WHOLE} {COMPLEXES}", "_C._nn.smooth_l1_loss"),
    ("nll_loss_out_frame", f"{WHOLE} {COMPLEXES}", "_C._nn.nll_loss"),
    ("pdist", f"{HALVES} {COMPLEXES}", "_pdist"),
    ("cholesky_solve_cpu", f"{WHOLE} {HALVES}", "cholesky_solve"),
    ("geqrf_cpu", f"{WHOLE} {HALVES}", "geqrf linalg.qr"),
    ("linalg_eig_out_cpu", f"{WHOLE} {HALVES}", "linalg.eig"),
    ("triangular_solve_cpu", f"{WHOLE} {HALVES}", "linalg.solve_triangular"),
]
# operators that return early for empty arguments in PyTorch
_UNLESS_EMPTY = [
    ("cholesky_cpu", f"{WHOLE} {HALVES}", "_linalg_cholesky_ex"),
    ("ldl_factor_kernel_cpu", HALVES, "_linalg_ldl_factor_ex"),
    ("ldl_solve_kernel_cpu", HALVES, "linalg.ldl_solve"),
    ("linalg_eigh_cpu", f"{WHOLE} {HALVES}", "_linalg_eigh"),
    ("linalg_svd_cpu", f"{WHOLE} {HALVES}", "_linalg_svd"),
    (
        "lu_cpu",
        f"{WHOLE} {HALVES}",
        "_linalg_lu_factor_ex _lu_with_info _linalg_det _linalg_slogdet _linalg_solve_ex _linalg_inv_ex",
    ),
]
# operators that support complex32, computed in complex64
COMPLEX_HALF = frozenset(
    """abs neg sgn conj_physical _conj add sub _rsub mul eq ne isnan isinf isfinite _isclose _where masked_fill addcmul
 _var _std linalg.vector_norm index_add any all""".split()
)
_NOT_HALF = frozenset("_arange _linspace gather scatter scatter_add take".split())
REFUSED = {}
for _rows, _always in ((_REFUSED, True), (_UNLESS_EMPTY, False)):
    for _kernel, _dtypes, _ops in _rows:
        for _name in _ops.split():
            REFUSED[_name] = _kernel.replace("*", _name.rpartition(".")[2]), dtype_set(_dtypes), _always


def refuse(op, dtype, args):
    """Raise if PyTorch has no kernel of this operator for the dtype."""
    if dtype is dt.complex32 and op.full not in COMPLEX_HALF and (op.options.opmath or op.full in _NOT_HALF):
        raise NotImplementedError(f"\"{op.name.lstrip('_')}_cpu\" not implemented for 'ComplexHalf'")
    r = REFUSED.get(op.full)
    if r is not None and dtype in r[1] and (r[2] or 0 not in args[op.first]._shape):
        raise NotImplementedError(f"\"{r[0]}\" not implemented for '{dt.scalar_name(dtype)}'")


def depends_on_shape(op):
    """Whether a dtype is refused for some shapes only."""
    return op.full in REFUSED and not REFUSED[op.full][2]
