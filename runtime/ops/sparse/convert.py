"""Conversions between layouts, strided tensors included, and sparse_mask."""

import math

from ...context import CONTEXT
from ...declare import composite
from ...device import strided
from ..common import M, T, dt
from . import compressed, coo
from .compressed import TABLE as ON_COMPRESSED
from .compressed import batch_of, block_of, compress
from .coo import TABLE as ON_COO
from .gradients import given_by, named, same_elements
from .tensors import BLOCKS, COMPRESSED, COO, ROWS, SPOKEN, SparseTensor, could_not_run

_LONG = {layout: str(layout).removeprefix("torch.") for layout in COMPRESSED}


# ------------------------------------------------------------------------------------------------ of strided tensors
def _dense_to_coo(self, sparse_dim):
    n = len(self._shape)
    k = n if sparse_dim is None else sparse_dim
    if not 0 <= k <= n:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{n}] range, but {k} is given")
    if n and not k:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    mask = self.detach() != 0
    rows = (mask.flatten(k).any(-1) if k < n else mask).nonzero()
    indices = rows.t().contiguous()
    return coo.make(indices, self[tuple(indices)] if n else self.reshape(1)[: rows._shape[0]], self._shape, True)


def _check_block(name, block, size):
    if len(block) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(block)}")
    if min(block) <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(block)}")
    if size[0] % block[0] or size[1] % block[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({size[0]},{size[1]}) must be divisible by given blocksize "
            f"({block[0]},{block[1]})"
        )


def _dense_to_compressed(self, layout, block, dense_dim):
    name, n, dense = f"dense_to_{_LONG[layout]}", len(self._shape), dense_dim or 0
    if n < 2:
        raise IndexError(f"{name}: a tensor of at least two dimensions is expected, but got size {list(self._shape)}")
    if not 0 <= dense <= n - 2:
        raise RuntimeError(f"{name}: dense_dim argument must be in [0,{n - 2}] range, but {dense} is given")
    b = n - 2 - dense
    if 0 in self._shape[:b]:
        raise RuntimeError(
            f"to_{str(layout).removeprefix('torch.')}: Expected product of batch dimensions to be non-zero."
        )
    rows, columns = self._shape[b : b + 2]
    x = self
    if layout in BLOCKS:
        _check_block(name, block, (rows, columns))
        shape = (*self._shape[:b], rows // block[0], block[0], columns // block[1], block[1], *self._shape[b + 2 :])
        x = self.reshape(shape).transpose(b + 1, b + 2)
    if layout not in ROWS:
        x = x.transpose(b, b + 1)
    mask = x.detach() != 0
    mask = mask.flatten(b + 2).any(-1) if len(mask._shape) > b + 2 else mask
    count = mask.sum(-1)
    if b:
        each = count.flatten(0, b - 1).sum(-1)
        if each._shape[0] and bool((each != each[0]).any()):
            raise RuntimeError("Expect the same number of specified elements per batch.")
    at = mask.nonzero().t()
    batch = self._shape[:b]
    nnz = at._shape[1] // max(math.prod(batch), 1)
    lines = T.cat((T.zeros((*batch, 1), dtype=dt.int64, device=self.device), count.cumsum(-1)), -1)
    values = x[tuple(at)]
    return compressed.make(
        lines, at[-1].reshape(*batch, nnz), values.reshape(*batch, nnz, *values._shape[1:]), self._shape, layout
    )


def _pair(blocksize):
    if blocksize is None:
        return None
    return (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)


def _check_request(name, self, layout, block, dense_dim):
    """Raise PyTorch's errors of to_sparse for arguments that do not apply to a layout."""
    what = f"{name}: conversion from {SPOKEN[self._layout]} to {SPOKEN[layout]}"
    if layout in BLOCKS and block is None:
        raise RuntimeError(f"{what} without blocksize argument given is not supported")
    if layout not in BLOCKS and block is not None:
        raise RuntimeError(f"{what} with blocksize argument given is not supported")
    if dense_dim is not None and self._layout is not strided:
        raise RuntimeError(f"{what} with dense_dim argument given is not supported")


def dense_to_sparse(self, sparse_dim, layout, blocksize, dense_dim):
    layout, block = layout or COO, _pair(blocksize)
    if layout is strided:
        return self
    if layout is not COO and layout not in COMPRESSED:
        raise NotImplementedError(
            f"to_sparse: layout {layout} is not supported (dtype {self.dtype}, device {self.device})"
        )
    _check_request("dense_to_sparse", self, layout, block, dense_dim)
    if layout is COO:
        name = "to_sparse" if sparse_dim is None else "to_sparse.sparse_dim"
        return _of_strided(
            self, name, _dense_to_coo(self, sparse_dim if dense_dim is None else len(self._shape) - dense_dim)
        )
    return _of_strided(
        self, _LONG[layout].replace("sparse", "to_sparse"), _dense_to_compressed(self, layout, block, dense_dim)
    )


def _of_strided(self, name, out):
    """Connect a sparse tensor to the graph of the strided tensor that it was made of."""
    return named(name, given_by(out, self)) if CONTEXT.grad and self._requires_grad else out


@composite(
    "Tensor.to_sparse(Tensor self, int? sparse_dim=None, *, Layout? layout=None, int[]? blocksize=None, "
    "int? dense_dim=None) -> Tensor",
    no_forward="_to_sparse",
)
def to_sparse(self, sparse_dim, layout, blocksize, dense_dim):
    return dense_to_sparse(self, sparse_dim, layout, blocksize, dense_dim)


composite("Tensor.to_sparse_coo(Tensor self) -> Tensor")(lambda self: M.to_sparse(self))


def _named(layout):
    """Declare Tensor.to_sparse_csr or a similar method."""
    name, blocked = f"to_{_LONG[layout]}", layout in BLOCKS

    def convert(self, *args):
        block, dense_dim = (_pair(args[0]), args[1]) if blocked else (None, args[0])
        if self._layout is strided:
            return _of_strided(self, name, _dense_to_compressed(self, layout, block, dense_dim))
        return sparse_to_sparse(self, layout, block, dense_dim)

    more = "int[2] blocksize, int? dense_dim=None" if blocked else "int? dense_dim=None"
    composite(f"Tensor.{name}(Tensor self, {more}) -> Tensor")(convert)

    @same_elements
    def on_sparse(self, *args, blocksize=None, dense_dim=None):
        if blocked:
            blocksize, *args = (blocksize, *args) if blocksize is not None else args
        return sparse_to_sparse(self, layout, _pair(blocksize), args[0] if args else dense_dim)

    ON_COO[name] = ON_COMPRESSED[name] = on_sparse


for _layout in COMPRESSED:
    _named(_layout)


# ------------------------------------------------------------------------------------------------ among sparse layouts
def _conversion(self, layout):
    """Return the name of a conversion in error messages."""
    if self._layout is COO:
        return f"coo_to_{_LONG[layout]}"
    return f"{'to' if self._layout is layout else 'sparse_compressed_to'}_{_LONG[layout]}"


def sparse_to_sparse(self, layout, block, dense_dim=None, name=None):
    """Convert a sparse tensor to a compressed layout."""
    name = name or _conversion(self, layout)
    _check_request(name, self, layout, block, dense_dim)
    return (
        _coo_to_compressed(self, layout, block, name)
        if self._layout is COO
        else _recompressed(self, layout, block, name)
    )


def _coo_to_compressed(self, layout, block, name):
    k = self._i._shape[0]
    if k != 2:
        what = f"conversion from Sparse to {SPOKEN[layout]} for input tensors with sparse_dim()!=2 is not supported"
        raise RuntimeError(f"{name}: {what}")
    if layout not in BLOCKS:
        return compressed.from_coordinates(self, layout)
    _check_block(name, block, self._shape)
    return _blocked(self.coalesce(), layout, block, dt.int64)


def _blocked(self, layout, block, dtype):
    """Convert a coordinate tensor to blocks; only blocks that contain a value are stored."""
    (row, column), (height, width), dense = self._i, block, self._shape[2:]
    across = self._shape[1] // width
    flat, where = T.unique((row // height) * across + column // width, return_inverse=True)
    values = T.zeros((flat._shape[0], height, width, *dense), dtype=self.dtype, device=self.device)
    values = values.index_put((where, row % height, column % width), self._v)
    return compress(flat // max(across, 1), flat % max(across, 1), values, self._shape, layout, dtype, block)


def _recompressed(self, layout, block, name):
    old = self._layout
    if layout is old:
        if block is not None:
            if min(block) <= 0:
                raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(block)}")
            if block != block_of(self):
                change = f"blocksize changed from {list(block_of(self))} to {list(block)}"
                raise RuntimeError(
                    f"{name}: conversion from {SPOKEN[old]} to {SPOKEN[layout]} with {change} is not supported"
                )
        return self
    if layout not in BLOCKS:
        if old in BLOCKS:
            raise RuntimeError(f"{name}: expected SparseCsr or SparseCsc layout but got {SPOKEN[old]}")
        row, column = compressed.coordinates(self)
        return compress(row, column, self._v, self._shape, layout, self._lines.dtype)
    b = batch_of(self)
    _check_block(name, block, self._shape[b : b + 2])
    if old in BLOCKS:
        if block != block_of(self):
            change = f"blocksize changed from {list(block_of(self))} to {list(block)}"
            raise RuntimeError(
                f"{name}: conversion from {SPOKEN[old]} to {SPOKEN[layout]} with {change} is not supported"
            )
        row, column = compressed.coordinates(self)
        return compress(row, column, self._v, self._shape, layout, self._lines.dtype, block)
    if b:
        raise RuntimeError(
            f"{name}: conversion from {SPOKEN[old]} to {SPOKEN[layout]} for batched inputs is not supported"
        )
    return _blocked(compressed.to_coordinates(self), layout, block, self._lines.dtype)


@same_elements
def _sparse_to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """Tensor.to_sparse of a sparse tensor."""
    layout, block = layout or COO, _pair(blocksize)
    if layout is strided:
        raise RuntimeError(f"to_sparse: conversion from {SPOKEN[self._layout]} to Strided is not supported")
    own = self._layout
    name = "to_sparse" if own is layout else "coo_to_sparse" if own is COO else "sparse_compressed_to_sparse"
    if layout is COO:
        _check_request(name, self, layout, block, dense_dim)
        k = self.sparse_dim()
        if sparse_dim not in (None, k):
            wanted = "self.sparse_dim()" if own is COO else "2"
            raise RuntimeError(
                f"{name}: conversion from {SPOKEN[own]} to Sparse with sparse_dim argument !={wanted} is not supported"
            )
        return self if own is COO else compressed.to_coordinates(self)
    if layout in BLOCKS and block is None and own is layout:
        return self
    return sparse_to_sparse(self, layout, block, dense_dim)


ON_COO["to_sparse"] = ON_COMPRESSED["to_sparse"] = _sparse_to_sparse
ON_COO["to_sparse_coo"] = lambda self: self
ON_COMPRESSED["to_sparse_coo"] = same_elements(lambda self: compressed.to_coordinates(self))


# ------------------------------------------------------------------------------------------------ to strided tensors
@composite("Tensor.to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor")
def to_dense(self, dtype, masked_grad):
    return self if dtype is None else self.to(dtype)


@same_elements
def _coo_to_dense(self, dtype=None, *, masked_grad=None):
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    if not self._i._shape[0]:
        return self._v.sum(0, dtype=self.dtype)
    s = self.coalesce() if self.dtype is dt.bool_ else self
    return T.zeros(self._shape, dtype=self.dtype, device=self.device).index_put(tuple(s._i), s._v, not s._c)


@same_elements
def _compressed_to_dense(self, dtype=None, *, masked_grad=None):
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_csr_to_dense")
    t = compressed.to_coordinates(self)
    for i, size in zip(t._i, self._shape):
        if i._shape[0] and not 0 <= int(i.min()) <= int(i.max()) < size:
            raise IndexError("index out of range in self")
    return _coo_to_dense(t)


ON_COO["to_dense"], ON_COMPRESSED["to_dense"] = _coo_to_dense, _compressed_to_dense


# ------------------------------------------------------------------------------------------------ masks
@composite("Tensor.sparse_mask(Tensor self, Tensor mask) -> Tensor")
def sparse_mask(self, mask):
    raise could_not_run("sparse_mask", self)


def _at(self, mask):
    """Return the values of a coordinate tensor at the indices of another one."""
    k = mask._i._shape[0]
    self = self.coalesce()
    keys, wanted = (coo.flat_index(t._i, self._shape[:k]) for t in (self, mask))
    zeros = T.zeros((wanted._shape[0], *self._v._shape[1:]), dtype=self.dtype, device=self.device)
    if not keys._shape[0] or not wanted._shape[0]:
        return zeros
    at = T.searchsorted(keys, wanted).clamp(max=keys._shape[0] - 1)
    found = (keys[at] == wanted).reshape(-1, *(1,) * (len(self._v._shape) - 1))
    return T.where(found, self._v[at], zeros)


def _check_mask(self, mask):
    if self._shape != mask._shape:
        sizes = f"self has size {list(self._shape)} but mask has size {list(mask._shape)}"
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; {sizes}")


def _mask_coo(self, mask):
    if not isinstance(mask, SparseTensor):
        raise could_not_run("sparse_mask", self)
    _check_mask(self, mask)
    if not isinstance(self, SparseTensor):
        return mask._with(coo.values_at(self, mask._i))
    return mask._with(_at(self, mask))


def _mask_compressed(self, mask):
    if mask._layout not in COMPRESSED:
        raise RuntimeError(
            f"sparse_mask_sparse_compressed expects mask to have sparse compressed layout, got {SPOKEN[mask._layout]}"
        )
    _check_mask(self, mask)
    if isinstance(self, SparseTensor):
        if mask._layout in BLOCKS or batch_of(mask):
            self = self.to_dense()
        else:
            row, column = compressed.coordinates(mask)
            own = self if self._layout is COO else compressed.to_coordinates(self)
            return mask._with(_at(own, coo.make(T.stack((row, column)), mask._v, mask._shape)))
    t = compressed.to_coordinates(mask._with(T.arange(mask._v.numel(), device=mask.device).reshape(mask._v._shape)))
    dense = self[tuple(t._i)]
    return mask._with(
        T.zeros_like(mask._v, dtype=self.dtype)
        .flatten()
        .index_put((t._v.flatten(),), dense.flatten())
        .reshape(mask._v._shape)
    )


ON_COO["sparse_mask"], ON_COMPRESSED["sparse_mask"] = _mask_coo, _mask_compressed


# --------------------------------------------------------------------------------------------- parts of strided tensors
def _part(name, of_strided):
    def part(self):
        found = of_strided(self)
        if isinstance(found, Exception):
            raise found
        return found

    composite(f"Tensor.{name}(Tensor self) -> Any", out=False)(part)


def _expected(name, kind):
    _part(name, lambda self: RuntimeError(f"{name} expected {kind} layout but got {SPOKEN[self._layout]}"))


for _name in ("indices", "coalesce", "is_coalesced"):
    _expected(_name, "sparse coordinate tensor")
for _name in ("crow_indices", "col_indices"):
    _expected(_name, "sparse row compressed tensor")
for _name in ("ccol_indices", "row_indices"):
    _expected(_name, "sparse column compressed tensor")
_expected("values", "sparse tensor")
_part("sparse_dim", lambda self: 0)
_part("dense_dim", lambda self: len(self._shape))
for _name in ("_indices", "_values", "_nnz"):
    _part(_name, lambda self, name=_name: could_not_run(name, self))
