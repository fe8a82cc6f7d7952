"""Construction of nested tensors of both layouts."""

from ...warn import warn_once
from ..common import T, Tensor, dt
from ..creation import FUNCTIONS
from .jagged import JaggedTensor, of_rows, offsets_of, over
from .strided import NestedTensor, nested
from .strided import over as buffered

_PROTOTYPE = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. "
    "We recommend specifying layout=torch.jagged when constructing a nested tensor, as this layout receives active "
    "development, has better operator coverage, and works with torch.compile."
)


def _checked(tensors):
    for i, (a, b) in enumerate(zip(tensors, tensors[1:])):
        if len(a._shape) != len(b._shape):
            raise RuntimeError(
                f"All Tensors given to nested_tensor must have the same dimension. Found dimension {len(b._shape)} for "
                f"Tensor at index {i + 1} and dimension {len(a._shape)} for Tensor at index {i}."
            )
    return tensors


def _is_jagged(layout):
    """Whether the requested layout is torch.jagged rather than torch.strided. Raises PyTorch's error for others."""
    if layout is None or layout.name == "strided":
        return False
    if layout.name != "jagged":
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return True


def _jagged(tensors):
    """Return the nested tensor of layout torch.jagged of copies of tensors. Gradients flow back to them."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    shapes = [t._shape for t in tensors]
    if len(set(map(len, shapes))) > 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if len({t.dtype for t in tensors}) > 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dtype")
    if len({t.device for t in tensors}) > 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must be on the same device")
    if not shapes[0]:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    different = [i for i, sizes in enumerate(zip(*shapes)) if len(set(sizes)) > 1]
    if len(different) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout "
            "only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    return of_rows(tensors, (different or [0])[0] + 1)


def _even(t):
    """Return the nested tensor of layout torch.jagged whose rows are those of a strided tensor."""
    if len(t._shape) < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    rows, length = t._shape[:2]
    return over(t.reshape(rows * length, *t._shape[2:]), offsets_of([length] * rows, t.device), None, 1, length, length)


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """Return a nested tensor of tensors. Gradients flow back to them.

    Args:
        ts: tensors with the same number of dimensions, a tensor whose rows they are, or a nested tensor.
        layout: ``torch.strided`` (the default), or ``torch.jagged``: the tensors may differ in one dimension only.

    Raises RuntimeError where the layout cannot hold them. Source: torch.nested.as_nested_tensor of PyTorch 2.13.
    """
    jagged = _is_jagged(layout)
    if isinstance(ts, (NestedTensor, JaggedTensor)):
        if isinstance(ts, JaggedTensor) is not jagged:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device or ts.device, dtype or ts.dtype)
    if jagged and isinstance(ts, Tensor):
        return _even(ts.to(device or ts.device, dtype or ts.dtype))
    ts = ts.unbind() if isinstance(ts, Tensor) else ts
    if not isinstance(ts, (list, tuple)) or not all(isinstance(t, Tensor) for t in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if not jagged:
        warn_once(_PROTOTYPE)
    tensors = [t.to(device or t.device, dtype or t.dtype) for t in (ts if jagged else _checked(list(ts)))]
    return _jagged(tensors) if jagged else nested(tensors)


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a nested tensor of copies of tensors, or of lists of numbers. It is a leaf.

    Args:
        tensor_list: tensors with the same number of dimensions; for layout ``torch.jagged`` also a tensor whose rows
            they are.
        layout: ``torch.strided`` (the default), or ``torch.jagged``: the tensors may differ in one dimension only.

    Raises RuntimeError where the layout cannot hold them. Source: torch.nested.nested_tensor of PyTorch 2.13.
    """
    jagged = _is_jagged(layout)
    if jagged and isinstance(tensor_list, Tensor):
        tensor_list = tensor_list.unbind()
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    made = [
        t.detach() if isinstance(t, Tensor) else FUNCTIONS["tensor"](t, dtype=dtype, device=device) for t in tensor_list
    ]
    made = [t.to(device or t.device, dtype or t.dtype) for t in made]
    if jagged:
        out = _jagged(made)
    else:
        warn_once(_PROTOTYPE)
        out = nested(_checked(made)) if made else buffered(T.empty(0, dtype=dtype, device=device), [])
    if requires_grad and out.dtype.category < dt.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return out._requiring_grad() if requires_grad else out


def to_padded_tensor(input, padding, output_size=None, out=None):
    """Return a strided tensor as large as the largest row in each dimension, filled up with `padding`."""
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor, dim, start, length, layout=None):
    """Return the slices [start, start + length) of each row of a tensor along a dimension as a nested tensor.

    Args:
        dim: 0 for layout ``torch.strided``, 1 for ``torch.jagged``.
        start, length: ints; for layout ``torch.jagged`` also tensors of one int for each row. The result is then a
            view with holes.

    Raises RuntimeError for other dimensions and starts. Source: torch.nested.narrow of PyTorch 2.13.
    """
    if not _is_jagged(layout):
        if not (isinstance(start, int) and isinstance(length, int)):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(T.unbind(T.narrow(tensor, dim, start, length)))
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    return view_of_pieces(tensor, _for_rows(tensor, start), _for_rows(tensor, length))


def _for_rows(tensor, n):
    """Return an int for each row of a tensor."""
    rows = tensor._shape[0]
    try:
        return (n if isinstance(n, Tensor) else FUNCTIONS["tensor"](n, device=tensor.device)).to(dt.int64).expand(rows)
    except RuntimeError as error:
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that "
            "broadcast to input.shape[0]"
        ) from error


def view_of_pieces(tensor, starts, lengths):
    """Return a view of the slices [start, start + length) of each row of a tensor along dimension 1.

    The view has holes where rows are longer.
    """
    rows, n = tensor._shape[:2]
    begins = T.arange(0, rows * n, n, device=tensor.device) + starts if n else starts
    offsets = T.cat([begins, (begins[-1:] + lengths[-1:])]) if rows else FUNCTIONS["tensor"]([0])
    values = tensor.reshape(-1, *tensor._shape[2:])
    same = bool((begins[:-1] + lengths[:-1] == begins[1:]).all()) and rows and not int(offsets[0])
    return over(values, offsets, None if same else lengths, 1, *_extremes(lengths))


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """Return a view of `values` as a nested tensor of layout torch.jagged, whose rows are concatenated in `values`.

    Args:
        values: (..., all rows, ...), the rows along dimension `jagged_dim` - 1.
        offsets: (rows + 1,), where each row begins, and where the last one ends. None if there are no holes and
            `lengths` is given.
        lengths: (rows,), how long each row is, where there are holes.
        min_seqlen, max_seqlen: the smallest and the greatest length, where they are known.

    Raises RuntimeError where neither offsets nor lengths are given, ValueError for another dimension.
    Source: torch.nested.nested_tensor_from_jagged of PyTorch 2.13.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = _begins(lengths.cumsum(0)), None
    if not isinstance(offsets, Tensor):
        raise TypeError(
            f"_nested_view_from_jagged(): argument 'offsets' (position 2) must be Tensor, not {type(offsets).__name__}"
        )
    jagged_dim = 1 if jagged_dim is None else jagged_dim
    if jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    if isinstance(values, (JaggedTensor, NestedTensor)):
        raise ValueError("nested_tensor_from_jagged(): expected values to be a tensor")
    return over(values.view_as(values), offsets, lengths, jagged_dim, min_seqlen, max_seqlen)


def _extremes(lengths):
    known = lengths.tolist()
    return min(known, default=0), max(known, default=0)


def _begins(ends):
    """Return where rows begin, from where they end."""
    return T.cat([T.zeros(1, dtype=ends.dtype, device=ends.device), ends])


def masked_select(tensor, mask):
    """Return the elements that a two-dimensional mask selects from each row, as a nested tensor of layout torch.jagged.

    Args:
        tensor: (rows, n), or what broadcasts to it.
        mask: (rows, n) of booleans.

    Source: torch.nested.masked_select of PyTorch 2.13.
    """
    if tensor._layout.name != "strided":
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor._layout}")
    if mask._layout.name != "strided":
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask._layout}")
    lengths = mask.expand(tensor._shape).sum(-1).flatten()
    return over(tensor.masked_select(mask), _begins(lengths.cumsum(0)), None, 1, *_extremes(lengths))
