"""Construction of sparse tensors from indices and values, with the checks of these."""

import inspect

from ...call.overrides import asking_modes
from ...warn import warn_once
from ..common import T, Tensor, dt, numel
from ..creation import FUNCTIONS, NOTHING, place
from . import compressed, coo
from .coo import make
from .gradients import named
from .tensors import BLOCKS, COMPRESSED, COO, INVARIANTS, ROWS, SPOKEN


def public(fn):
    """Register a factory as a function of torch."""
    fn.__module__ = "torch"
    FUNCTIONS[fn.__name__] = asking_modes(fn)
    return fn


def _values(values, dtype, device):
    if not isinstance(values, Tensor):
        values = FUNCTIONS["tensor"](values, dtype=dtype, device=device)
    return values.to(dtype=dtype or values.dtype, device=values.device if device is None else device)


def _own(values, requires_grad):
    """Return the values of a new tensor: a leaf if requires_grad, otherwise connected to the graph of `values`."""
    values = values.view_as(values) if values._requires_grad and not requires_grad else values.detach()
    if requires_grad and values.dtype.category < dt.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return values._requiring_grad() if requires_grad else values


# ------------------------------------------------------------------------------------------------ coordinates
def _check_dims(size, n, dense):
    if len(size) != n + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {n}, "
            f"dense_dim = {dense}"
        )


def _check_sizes(size, n, nnz, values):
    _check_dims(size, n, len(values._shape) - 1)
    if values._shape[0] != nnz:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: "
            f"{values._shape[0]}"
        )
    if tuple(values._shape[1:]) != size[n:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *size[n:]]}, got {list(values._shape)}")


def _check_range(indices, size):
    for d, (low, high) in enumerate(
        zip(indices.amin(1).tolist(), indices.amax(1).tolist()) if indices._shape[1] else ()
    ):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}"
            )


def validate_coo(indices, values, size):
    """Raise PyTorch's errors for indices and values that do not make a valid tensor of a size."""
    n, nnz = indices._shape
    _check_sizes(tuple(size), n, nnz, values)
    _check_range(indices, size)


def _to_check(check_invariants):
    """Whether indices are checked against the size. Warns, as PyTorch does, if the program has not chosen."""
    if check_invariants is None and not INVARIANTS.chosen:
        warn_once(
            "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating "
            "on a sparse tensor which violates the invariants, but checks incur performance overhead. "
            "To silence this warning, explicitly opt in or out. "
            "See `torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. "
        )
    return INVARIANTS.checked if check_invariants is None else check_invariants


@public
def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """Return a sparse tensor of values at indices (one column each), or an empty one of a size."""
    if values is None:
        size = indices if indices is not None else size
        if size is None:
            raise TypeError("sparse_coo_tensor() received an invalid combination of arguments - got ()")
        if isinstance(size, Tensor):
            raise TypeError("sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, not Tensor")
        size, n = tuple(size), len(tuple(size))
        indices = T.zeros((n, 0), dtype=dt.int64, device=place(device))
        values, is_coalesced = T.zeros((0,), dtype=dtype, device=place(device)), True
    values = _values(values, dtype, device)
    indices = FUNCTIONS["as_tensor"](indices, dtype=dt.int64, device=values.device).detach()
    values = values if values._shape else values.expand(1)
    if size is not None:
        size = tuple(size)
        _check_dims(size, indices._shape[0] if indices._shape else 0, len(values._shape) - 1)
    if len(indices._shape) != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices._shape)}")
    n, nnz = indices._shape
    if size is None:
        size = (*(_least_sizes(indices) if nnz else (0,) * n), *values._shape[1:])
    _check_sizes(size, n, nnz, values)
    if any(s < 0 for s in size):
        raise RuntimeError("numel: integer multiplication overflow")
    out = make(indices, _own(values, requires_grad), size, bool(is_coalesced))
    if _to_check(check_invariants):
        _check_range(indices, size)
        if is_coalesced and not coo.rises(out):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    if is_coalesced is not None:
        out._c = bool(is_coalesced)
    return named("sparse_coo_tensor", out)


# ------------------------------------------------------------------------------------------------ compressed
def _names(layout):
    """Return (name of the compressed indices, name of the plain indices, compressed dimension, plain dimension).

    Each dimension is described by a short and a long name.
    """
    if layout in ROWS:
        return "crow_indices", "col_indices", ("nrows", "number of rows"), ("ncols", "number of columns")
    return "ccol_indices", "row_indices", ("ncols", "number of columns"), ("nrows", "number of rows")


def _validate_shapes(compressed_indices, plain_indices, values, size, layout):
    comp, plain, (_, counted), _ = _names(layout)
    block = 2 if layout in BLOCKS else 0
    for name, t in ((comp, compressed_indices), (plain, plain_indices)):
        if not t._shape:
            raise RuntimeError(f"{name} must have dimensionality >= 1 but got {len(t._shape)}")
    batch, other = len(compressed_indices._shape) - 1, len(plain_indices._shape)
    if batch + 1 != other:
        raise RuntimeError(
            f"{comp} and {plain} dimensionalities must be equal but got {batch + 1} and {other}, respectively"
        )
    if len(values._shape) <= batch + block:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {block}) but got "
            f"{len(values._shape)}"
        )
    dense = len(values._shape) - batch - block - 1
    if len(size) != batch + 2 + dense:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) "
            f"but got {len(size)}"
        )
    blocks = tuple(values._shape[batch + 1 : batch + 3]) if block else (1, 1)
    for d in range(2) if block else ():
        if not blocks[d] or size[batch + d] % blocks[d]:
            at = f"tensor shape[{batch + d}] (={size[batch + d]}) must be divisible with blocksize[{d}] (={blocks[d]})"
            raise RuntimeError(f"{at} as defined by values shape")
    shapes = [list(t._shape[:batch]) for t in (compressed_indices, plain_indices, values)]
    if any(s != list(size[:batch]) for s in shapes):
        raise RuntimeError(
            f"all batch dimensions of {comp} (={shapes[0]}), {plain} (={shapes[1]}), and values (={shapes[2]}) must be "
            f"equal to tensor batch dimensions (={list(size[:batch])})"
        )
    row = layout in ROWS
    n = size[batch + (not row)] // blocks[not row]
    if compressed_indices._shape[-1] != n + 1:
        raise RuntimeError(
            f"{comp}.shape[-1] must be equal to the {counted} + 1 (={n + 1}), but got {compressed_indices._shape[-1]}"
        )
    nnz = values._shape[batch]
    if plain_indices._shape[-1] != nnz:
        raise RuntimeError(
            f"{plain}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch}], "
            f"but got {plain_indices._shape[-1]}"
        )
    return n, size[batch + row] // blocks[row], nnz


def _validate_indices(compressed_indices, plain_indices, layout, n, m, nnz):
    comp, plain, (short, _), (other, _) = _names(layout)
    a, b = compressed_indices.dtype, plain_indices.dtype
    if a is not b:
        raise RuntimeError(
            f"{comp} and {plain} must have the same dtype, bot got {dt.scalar_name(a)} and {dt.scalar_name(b)}, "
            f"respectively"
        )
    if a not in (dt.int32, dt.int64):
        raise RuntimeError(f"{comp} and {plain} dtype must be Int or Long, but got {dt.scalar_name(a)}")

    def check(holds, text):
        if not bool(holds.all()):
            raise RuntimeError(f"`{text}` is not satisfied.")

    check(compressed_indices[..., 0] == 0, f"{comp}[..., 0] == 0")
    check(compressed_indices[..., -1] == nnz, f"{comp}[..., -1] == nnz")
    step = compressed_indices.diff(dim=-1)
    check((step >= 0) & (step <= m), f"0 <= {comp}[..., 1:] - {comp}[..., :-1] <= {other}")
    check((plain_indices >= 0) & (plain_indices < m), f"0 <= {plain} < {other}")
    if nnz > 1:
        line = compressed.lines(compressed_indices, nnz)
        rises = (plain_indices.diff(dim=-1) > 0) | (line.diff(dim=-1) != 0)
        what = (
            f"{plain}[..., {comp}[..., i - 1]:{comp}[..., i]] for all i = 1, ..., {short} are sorted and distinct "
            f"along the last dimension values"
        )
        check(rises, what)


def validate_compressed(compressed_indices, plain_indices, values, size, layout):
    """Raise PyTorch's errors for indices and values that do not make a valid tensor of a size and compressed layout."""
    n, m, nnz = _validate_shapes(compressed_indices, plain_indices, values, tuple(size), layout)
    _validate_indices(compressed_indices, plain_indices, layout, n, m, nnz)


def _least_sizes(indices):
    """Return the smallest sizes that contain the coordinates."""
    for d, low in enumerate(indices.amin(1).tolist()):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
    return (indices.amax(1) + 1).tolist()


def _inferred(compressed_indices, plain_indices, values, layout):
    batch = len(compressed_indices._shape) - 1
    blocks = values._shape[batch + 1 : batch + 3] if layout in BLOCKS else (1, 1)
    lines = compressed_indices._shape[-1] - 1
    plain = int(plain_indices.max()) + 1 if numel(plain_indices._shape) else 0
    rows, columns = (lines, plain) if layout in ROWS else (plain, lines)
    return (
        *compressed_indices._shape[:batch],
        rows * blocks[0],
        columns * blocks[1],
        *values._shape[batch + 1 + 2 * (layout in BLOCKS) :],
    )


def _compressed(name, layout, parts, size, dtype, device, requires_grad, check_invariants):
    if layout not in COMPRESSED:
        raise RuntimeError(
            f"{name} expected sparse compressed tensor layout but got {'none' if layout is None else SPOKEN[layout]}"
        )
    values = _values(parts[2], dtype, device)
    indices = [FUNCTIONS["as_tensor"](p, device=values.device).detach() for p in parts[:2]]
    size = _inferred(*indices, values, layout) if size is None else tuple(size)
    if _to_check(check_invariants):
        validate_compressed(*indices, values, size, layout)
    if any(s < 0 for s in size):
        raise RuntimeError("numel: integer multiplication overflow")
    return named("sparse_compressed_tensor", compressed.make(*indices, _own(values, requires_grad), size, layout))


@public
def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Return a tensor of one of the compressed layouts."""
    parts = (compressed_indices, plain_indices, values)
    return _compressed("sparse_compressed_tensor", layout, parts, size, dtype, device, requires_grad, check_invariants)


def _of_layout(layout):
    """Declare torch.sparse_csr_tensor or a similar function; the names of the indices depend on the layout."""
    name, parameters = f"{layout}_tensor".removeprefix("torch."), list(_SIGNATURE.parameters.values())
    signature = inspect.Signature([p.replace(name=n) for p, n in zip(parameters, _names(layout)[:2])] + parameters[2:])

    def of_layout(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        *parts, size, dtype, given, device, _, requires_grad, check_invariants = bound.arguments.values()
        if given not in (None, layout):
            raise RuntimeError(f"{name}: layout must be {SPOKEN[layout]} but got {SPOKEN[given]}")
        return _compressed(name, layout, parts, size, dtype, device, requires_grad, check_invariants)

    of_layout.__name__ = of_layout.__qualname__ = name
    of_layout.__doc__, of_layout.__signature__ = f"A tensor of layout {layout}.", signature
    public(of_layout)


_SIGNATURE = inspect.signature(sparse_compressed_tensor)
for _layout in COMPRESSED:
    _of_layout(_layout)


NOTHING[COO] = lambda size, dtype, device: coo.nothing(size, len(size), dtype, device)
NOTHING.update({a: lambda size, dtype, device, a=a: compressed.nothing(size, dtype, a, device) for a in COMPRESSED})


@public
def _validate_sparse_coo_tensor_args(indices, values, size, is_coalesced=None, check_pinning=None):
    validate_coo(indices, values, size)


@public
def _validate_sparse_compressed_tensor_args(
    compressed_indices, plain_indices, values, size, layout, check_pinning=None
):
    validate_compressed(compressed_indices, plain_indices, values, size, layout)


def _validator(layout):
    def validate(compressed_indices, plain_indices, values, size, check_pinning=None):
        validate_compressed(compressed_indices, plain_indices, values, size, layout)

    validate.__name__ = validate.__qualname__ = f"_validate_{layout}_tensor_args".replace("torch.", "")
    public(validate)


for _layout in COMPRESSED:
    _validator(_layout)
