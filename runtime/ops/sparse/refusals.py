"""Errors of sparse tensors in PyTorch that do not name the called operator."""

from ..common import T, Tensor
from .compressed import CSR, CompressedTensor, on_compressed, unsupported_layout
from .coo import on_coo
from .tensors import INNER, SPOKEN, SparseTensor, could_not_run, same_layout

# The inner operators that PyTorch computes these functions from, and that its errors name.
for _inner, _names in (
    ("_softmax", "softmax"),
    ("_log_softmax", "log_softmax"),
    (
        "as_strided",
        "chunk diagonal hsplit vsplit dsplit split split_with_sizes squeeze tensor_split unsafe_chunk unsafe_split "
        "narrow fill_diagonal",
    ),
    ("as_strided", "swapdims swapaxes diff fill_diagonal_"),
    ("std.correction", "std"),
    ("var.correction", "var"),
    ("mean.dim", "mean"),
    ("count_nonzero.dim_IntList", "count_nonzero"),
    ("sort.stable", "sort argsort msort"),
    ("view", "view_as sum_to_size stft take_along_dim"),
    ("eq.Tensor", "isclose allclose"),
    ("ne.Scalar", "isfinite"),
    ("ne.Tensor", "nanmean"),
    ("nonzero", "argwhere"),
    ("flip", "fliplr flipud rot90"),
    ("_unique2", "unique"),
    ("_linalg_det", "det"),
    ("_linalg_slogdet", "slogdet logdet"),
    ("_linalg_svd", "svd"),
    ("linalg_qr", "qr"),
    ("linalg_inv_ex", "inverse"),
    ("linalg_lu_factor_ex", "lu"),
    ("linalg_matrix_exp", "matrix_exp"),
    ("linalg_lu_solve", "lu_solve"),
    ("_cholesky_solve_helper", "cholesky_solve"),
    ("linalg_householder_product", "orgqr"),
    ("_cummax_helper", "cummax"),
    ("_cummin_helper", "cummin"),
    ("_logcumsumexp", "logcumsumexp"),
    ("_prelu_kernel", "prelu"),
    ("kthvalue.values", "kthvalue"),
    ("diagonal_copy", "diag"),
    ("frexp.Tensor_out", "frexp"),
    ("maximum", "fmax"),
    ("fill_.Scalar", "ones_like full_like new_ones new_full"),
    ("uniform_", "rand_like"),
    ("normal_", "randn_like"),
    ("bernoulli_.float", "dropout"),
):
    INNER.update(dict.fromkeys(_names.split(), _inner))
for _name in "and or not xor".split():
    INNER[f"logical_{_name}"] = f"logical_{_name}.out"
for (
    _name
) in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign fmod remainder xlogy".split():
    INNER[_name] = f"{_name}.Tensor"  # PyTorch converts numbers to tensors first

for _name in "all any".split():
    CompressedTensor.INNER[_name] = f"{_name}.all_out"
for _name in "mean amax amin argmax argmin cumsum cumprod norm tril triu bmm".split():
    CompressedTensor.INNER[_name] = f"{_name}.out"
CompressedTensor.INNER.update(softmax="_softmax.out", log_softmax="_log_softmax.out")
for _name in "permute movedim moveaxis".split():
    CompressedTensor.INNER[_name] = "as_strided"


# ----------------------------------------------------------------------------------------- errors that name no operator
def _raises(table, names, text):
    def refuse(*args, **kwargs):
        t = next(a for a in (args[0] if isinstance(args[0], (tuple, list)) else args) if isinstance(a, SparseTensor))
        raise RuntimeError(text.format(SPOKEN[t._layout], SPOKEN[t._layout].removeprefix("Sparse").upper()))

    table(*names.split())(refuse)


_raises(on_coo, "reshape reshape_as flatten ravel outer ger einsum", "reshape is not implemented for sparse tensors")
_raises(on_coo, "repeat_interleave repeat tile expand_as broadcast_to", "expand is unsupported for {0} tensors")
_raises(on_coo, "contiguous diagflat masked_scatter", "unsupported memory format option Contiguous")
_raises(
    on_compressed,
    "expand repeat_interleave repeat tile expand_as broadcast_to",
    "expand is unsupported for {0} tensors",
)
_raises(
    on_compressed,
    "reshape reshape_as flatten ravel cat concat concatenate stack vstack hstack",
    "Sparse {1} tensors do not have is_contiguous",
)
_raises(
    on_compressed,
    "unsqueeze squeeze diagonal diff fill_diagonal_ diag_embed diag kron",
    "Sparse {1} tensors do not have strides",
)
_raises(
    on_compressed,
    "chunk split narrow hsplit vsplit tensor_split split_with_sizes unsafe_chunk unsafe_split",
    "Sparse {1} tensors do not have strides",
)


@on_coo("expand")
def expand(self, *size, implicit=False):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if len(size) < len(self._shape):
        counts = (
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(self._shape)})"
        )
        raise RuntimeError(f"expand({self.type()}{{{list(self._shape)}}}, size={list(size)}): {counts}")
    raise RuntimeError(f"expand is unsupported for {SPOKEN[self._layout]} tensors")


def _elementwise(names):
    """Refuse functions that are composites here but elementwise operators in PyTorch."""

    def refuse(*args, **kwargs):
        raise unsupported_layout(*args)

    on_compressed(*names.split())(refuse)


_elementwise(
    "div divide true_divide div_ divide_ true_divide_ pow pow_ float_power clamp clamp_ clip clip_ clamp_min "
    "clamp_max clamp_min_ clamp_max_"
)
_elementwise("isclose allclose dist polygamma nanmean square square_ rsub where")


@on_compressed("floor_divide", "floor_divide_")
def floor_divide(self, other, **kwargs):
    raise could_not_run("floor_divide", next(t for t in (self, other) if isinstance(t, SparseTensor)))


@on_compressed("nan_to_num", "nan_to_num_")
def nan_to_num(self, *args, **kwargs):
    raise could_not_run("nan_to_num.out", self)


def _extremum(name, pairwise):
    def extremum(self, dim=None, keepdim=False, **kwargs):
        dim = kwargs.get("other", dim)
        if isinstance(dim, Tensor):
            if self._layout is CSR or isinstance(dim, CompressedTensor):
                raise unsupported_layout(self, dim)
            raise could_not_run(pairwise, self if isinstance(self, SparseTensor) else dim)
        if dim is not None and isinstance(self, CompressedTensor):
            size = list(self._shape[:dim] + self._shape[dim + 1 :])
            raise RuntimeError(
                f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {size}"
            )
        raise could_not_run(name if dim is None else f"{name}.dim_{name}", self)

    on_coo(name)(extremum)
    on_compressed(name)(extremum)


_extremum("max", "maximum")
_extremum("min", "minimum")


@on_coo("type_as")
@on_compressed("type_as")
def type_as(self, other):
    same_layout(self, other)
    return self.to(other.dtype)


# ------------------------------------------------------------------------------------------------ filled
def _like(name, fill):
    @on_compressed(name)
    def like(
        self,
        *value,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        memory_format=None,
        pin_memory=False,
        **kwargs,
    ):
        if layout is not None and layout is not self._layout:
            layouts = f"self is {SPOKEN[self._layout]} but you requested {SPOKEN[layout]}"
            raise RuntimeError(f"empty_like with different sparse layout is not supported ({layouts})")
        out = self._with(T.empty_like(self._v, dtype=dtype, device=device))
        value = (*value, *kwargs.values(), *fill)
        if value:
            out._v.fill_(*value)
        return out._requiring_grad() if requires_grad else out


_like("ones_like", (1,))
_like("full_like", ())
_like("empty_like", ())


@on_compressed("randn_like")
def randn_like(
    self, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False
):
    out = self._with(T.randn_like(self._v, dtype=dtype, device=device))
    return out._requiring_grad() if requires_grad else out
