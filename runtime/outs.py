"""What PyTorch asks of out=: which functions take none, where the dtype must be the result's own, what may not share memory."""

from . import dtypes as dt

NONE = frozenset(
    """
 alpha_dropout argwhere as_strided_scatter avg_pool1d bilinear broadcast_to clone constant_pad_nd corrcoef cov diagonal_scatter dist
 dropout dropout2d dropout3d empty_like empty_permuted empty_strided feature_alpha_dropout fill flatten full_like index_fill logdet
 masked_fill matrix_exp movedim narrow ones_like pinverse positive rand_like randint_like randn_like ravel real reshape resolve_conj
 resolve_neg rsub select_scatter t unflatten vander zeros_like""".split()
)

# elsewhere a result is cast to out's dtype where the category allows; here it must have it
_EXACT = {
    n: message
    for message, names in {
        "Expected out tensor to have dtype {want}, but got {got} instead": """
 addmm addmv baddbmm bmm cross expand_copy diag diagonal_copy alias_copy isin lu_unpack lu_solve softmax aminmax as_strided_copy avg_pool3d
 avg_pool2d linear topk mm view_copy permute_copy qr split_with_sizes_copy slice_scatter triangular_solve svd gather index_copy index_add
 index_reduce sort scatter scatter_add unbind_copy unfold_copy msort renorm squeeze_copy take_along_dim unsqueeze_copy transpose_copy tril
 triu log_softmax norm t_copy argmax argmin scatter_reduce det linalg.cholesky cholesky_ex eigh eigvalsh ldl_factor ldl_factor_ex ldl_solve
 slogdet vector_norm lu_factor lu_factor_ex linalg.lu inv inv_ex solve solve_ex svdvals vecdot multi_dot torch.max.dim torch.min.dim""",
        "Found dtype {Got} but expected {Want}": "abs ceil conj_physical frac floor softshrink hardshrink gelu neg round sign trunc softplus ifft ihfft",
        "Expected the dtype for input and out to match, but got {Want} for input's dtype and {Got} for out's dtype.": "amax amin",
        "{name}(): self and result must have the same scalar type": "masked_select index_select",
        "Expected object of scalar type {Want} but got scalar type {Got} for argument 'out'": "complex polar",
        "{name} expects {Want} tensor out, got: {Got}": "multinomial",
        "{name}: expected out tensor of scalar type {Want} but found {Got}": """
 addbmm dot vdot mv matmul cummax cummin diff frexp kthvalue quantile nanquantile heaviside native_batch_norm logsigmoid mode narrow_copy
 ormqr float_power signbit nan_to_num isposinf isneginf take histogram histc bucketize searchsorted inner tensordot logcumsumexp nonzero
 nonzero_static matrix_norm solve_triangular""",
    }.items()
    for n in names.split()
}
_JOINS = frozenset("cat concat concatenate stack hstack vstack dstack column_stack row_stack".split())
# a resized out= is contiguous; others keep the result's order
_CONTIGUOUS = frozenset(
    "torch.kron torch.cholesky torch.cholesky_solve torch.matrix_power linalg.matrix_power linalg.tensorinv torch.nanquantile "
    "torch.quantile special.ndtr".split()
)
# may not even be written over an argument as a whole
_APART = frozenset("cat concat concatenate index_select gather scatter index_copy take".split())
_CPP = {
    dt.float32: "float",
    dt.float64: "double",
    dt.int64: "long int",
    dt.int32: "int",
    dt.int16: "short int",
    dt.int8: "signed char",
    dt.uint8: "unsigned char",
    dt.bool_: "bool",
    dt.float16: "c10::Half",
    dt.bfloat16: "c10::BFloat16",
    dt.complex64: "c10::complex<float>",
    dt.complex128: "c10::complex<double>",
    dt.complex32: "c10::complex<c10::Half>",
}


def strides(name, result, args):
    """The strides that a resized out= gets: None for contiguous."""
    if name in _CONTIGUOUS or name.startswith("fft.") and not (name in ("fft.ifft", "fft.ihfft") and not args[0].dtype.is_complex):
        return None
    from .ops.memory import preserved_strides

    return preserved_strides(result) if args and result is args[0] else result._stride


def check_dtype(name, want, got):
    """PyTorch's error where a result of dtype `want` may not be written to an out= of dtype `got`."""
    short = name.rpartition(".")[2].lstrip("_")
    message = _EXACT.get(name) or _EXACT.get(short)
    if message is not None:
        raise RuntimeError(message.format(name=short, want=_CPP.get(want, want), got=_CPP.get(got, got), Want=dt.scalar_name(want), Got=dt.scalar_name(got)))
    if not dt.can_cast(want, got):
        kind = TypeError if short in _JOINS else RuntimeError
        raise kind(
            f"torch.cat(): input types can't be cast to the desired output type {dt.scalar_name(got)}"
            if kind is TypeError
            else f"result type {dt.scalar_name(want)} can't be cast to the desired output type {dt.scalar_name(got)}"
        )


def check_overlap(op, out, args):
    """PyTorch's error where out= shares memory with an argument in a way that the function cannot take."""
    apart = op.name.lstrip("_") in _APART
    if out._storage is None or not (apart or op.promote is not None) or 0 in out._shape or op.name == "masked_fill":
        return  # masked_fill's value is read first
    for a in args:
        for t in a if isinstance(a, (list, tuple)) else (a,):
            if getattr(t, "_storage", None) is out._storage and 0 not in t._shape and (apart or not _same(t, out)) and _meet(t, out):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                    "memory location. Please clone() the tensor before performing the operation."
                )


def _same(a, b):
    return a._offset == b._offset and a._shape == b._shape and a.stride() == b.stride()


def _meet(a, b):
    """Whether the memory of two dense tensors of one storage meets; tensors with gaps are not told apart."""
    from .tensor import is_dense, numel

    if not all(is_dense(t._shape, t.stride()) for t in (a, b)):
        return False
    (a0, a1), (b0, b1) = ((t._offset * t.dtype.itemsize, (t._offset + numel(t._shape)) * t.dtype.itemsize) for t in (a, b))
    return a0 < b1 and b0 < a1
