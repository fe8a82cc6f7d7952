"""Dtypes that PyTorch's CPU kernels refuse where ours would compute: what fails there fails here, in the same words.

A line: the name in the message ("*" stands for the operator's own), codes of dtypes as in table.CODES, operators.
"""

from ...runtime import dtypes as dt
from ..host import CODES

_REFUSED = """
abs_cpu b abs
addcmul_cpu_out b addcmul
digamma FD digamma
erfc_vml_cpu FD erfc
lgamma_vml_cpu FD lgamma
lerp_kernel_scalar b lerp
round_cpu FD _round.decimals
threshold_cpu b threshold
*_cpu ezFD special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.erfcx special.log_ndtr \
special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1 special.ndtri \
special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.spherical_bessel_j0 special.zeta \
special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v special.chebyshev_polynomial_w \
special.hermite_polynomial_h special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p \
special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v \
special.shifted_chebyshev_polynomial_w
glu_cpu b _C._nn.glu
cumsum_out_cpu b cumsum
cumprod_out_cpu b cumprod
searchsorted_out_cpu bFD _searchsorted
softmax_backward_lastdim_kernel_impl bBasilFD _softmax_backward_data
softmax_kernel_impl bBasilFD _safe_softmax
avg_pool2d bBasiFD _C._nn.avg_pool1d _C._nn.avg_pool2d
avg_pool3d_out_frame bBasiezFD _C._nn.avg_pool3d
max_pool2d FD _C._nn.max_pool1d_with_indices
max_pool2d FDtuv _C._nn.max_pool2d_with_indices
max_pool3d FDtuv _C._nn.max_pool3d_with_indices
compute_index_ranges_weights basilezFD _C._nn._upsample_bilinear2d_aa _C._nn._upsample_bicubic2d_aa _C._nn._upsample_lanczos2d_aa
im2col_out_cpu Basil _C._nn.im2col
col2im_out_cpu Basil _C._nn.col2im
arange_cpu bFD _arange
linspace_cpu b _linspace
batch_norm bBasilFD _C.native_batch_norm
GroupNormKernelImpl bBasilFD native_group_norm
LayerNormKernelImpl bBasilFD native_layer_norm
rms_norm bBasil _fused_rms_norm
binary_cross_entropy bBasilFD _C._nn.binary_cross_entropy
huber_cpu bBasilFD _C._nn.huber_loss
mse_cpu bBasilFD _C._nn.mse_loss
smooth_l1_cpu bBasilFD _C._nn.smooth_l1_loss
nll_loss_out_frame bBasilFD _C._nn.nll_loss
pdist ezFD _pdist
cholesky_solve_cpu bBasilez cholesky_solve
geqrf_cpu bBasilez geqrf linalg.qr
linalg_eig_out_cpu bBasilez linalg.eig
triangular_solve_cpu bBasilez linalg.solve_triangular
"""
# these kernels are not asked for empty arguments
_UNLESS_EMPTY = """
cholesky_cpu bBasilez _linalg_cholesky_ex
ldl_factor_kernel_cpu ez _linalg_ldl_factor_ex
ldl_solve_kernel_cpu ez linalg.ldl_solve
linalg_eigh_cpu bBasilez _linalg_eigh
linalg_svd_cpu bBasilez _linalg_svd
lu_cpu bBasilez _linalg_lu_factor_ex _lu_with_info _linalg_det _linalg_slogdet _linalg_solve_ex _linalg_inv_ex
"""
# what is computed for complex32, in complex64
COMPLEX_HALF = frozenset(
    """abs neg sgn conj_physical _conj add sub _rsub mul eq ne isnan isinf isfinite _isclose _where masked_fill addcmul
 _var _std linalg.vector_norm index_add any all""".split()
)
_NOT_HALF = frozenset("_arange _linspace gather scatter scatter_add take".split())
REFUSED = {}
for _lines, _always in ((_REFUSED, True), (_UNLESS_EMPTY, False)):
    for _kernel, _codes, *_ops in map(str.split, _lines.strip().splitlines()):
        for _name in _ops:
            REFUSED[_name] = (
                _kernel.replace("*", _name.rpartition(".")[2]),
                frozenset(CODES[c] for c in _codes),
                _always,
            )


def refuse(op, dtype, args):
    """Raise if PyTorch has no kernel of this operator for the dtype."""
    if dtype is dt.complex32 and op.full not in COMPLEX_HALF and (op.options.opmath or op.full in _NOT_HALF):
        raise NotImplementedError(f"\"{op.name.lstrip('_')}_cpu\" not implemented for 'ComplexHalf'")
    r = REFUSED.get(op.full)
    if r is not None and dtype in r[1] and (r[2] or 0 not in args[op.first]._shape):
        raise NotImplementedError(f"\"{r[0]}\" not implemented for '{dt.scalar_name(dtype)}'")


def depends_on_shape(op):
    """Whether a call may be refused for a dtype that another call was served in."""
    return op.full in REFUSED and not REFUSED[op.full][2]
