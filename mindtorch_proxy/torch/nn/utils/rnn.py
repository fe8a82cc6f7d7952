"""Batches of sequences of different lengths."""

from collections.abc import Iterable
from typing import NamedTuple, Optional

import torch

from .._arguments import _parse_to

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: torch.Tensor
    batch_sizes: torch.Tensor
    sorted_indices: Optional[torch.Tensor]
    unsorted_indices: Optional[torch.Tensor]


def bind(optional, fn):
    """Apply fn to a value, or return None if the value is None."""
    return None if optional is None else fn(optional)


def _caster(dtype):
    def cast(self):
        return self.to(dtype=getattr(torch, dtype))

    cast.__doc__ = f"The sequences as {dtype}."
    return cast


class PackedSequence(PackedSequence_):
    """A batch of sequences sorted from the longest, stored step by step.

    batch_sizes is the number of sequences that are still running at each step.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually; "
                "use pack_sequence and pack_padded_sequence."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _move(self, data, fn):
        return type(self)(data, self.batch_sizes, bind(self.sorted_indices, fn), bind(self.unsorted_indices, fn))

    def pin_memory(self):
        """Return a copy in page-locked memory."""
        return self._move(self.data.pin_memory(), lambda t: t.pin_memory())

    def to(self, *args, **kwargs):
        """Return the sequences with another dtype or on another device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        _, _, non_blocking, memory_format = _parse_to(*args, **kwargs)
        return self._move(data, lambda t: t.to(data.device, non_blocking=non_blocking, memory_format=memory_format))

    def _to_device(self, device, args, kwargs):
        example = self.data.new_empty(0).to(*args, **kwargs)
        return self.to(*args, **(kwargs if example.device.type == device else kwargs | {"device": device}))

    def cuda(self, *args, **kwargs):
        """Return the sequences on the GPU."""
        return self._to_device("cuda", args, kwargs)

    def cpu(self, *args, **kwargs):
        """Return the sequences on the CPU."""
        return self._to_device("cpu", args, kwargs)

    double, float, half, long, int, short, char, byte = map(
        _caster, ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8")
    )

    @property
    def is_cuda(self):
        """Whether the data are on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the data are in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation):
    """Return the inverse permutation, or None for None."""
    if permutation is None:
        return None
    return torch.empty_like(permutation).scatter_(
        0, permutation, torch.arange(permutation.numel(), device=permutation.device)
    )


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack a batch of padded sequences with the given lengths into a PackedSequence.

    The lengths must be in descending order, unless enforce_sorted=False.
    """
    lengths = torch.as_tensor(lengths, dtype=torch.int64, device=None if isinstance(lengths, torch.Tensor) else "cpu")
    order = None
    if not enforce_sorted:
        lengths, order = torch.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} Long tensor"
        )
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    steps, lengths = input.transpose(0, 1) if batch_first else input, lengths.tolist()
    if len(lengths) != steps.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={steps.size(1)})"
        )
    if not lengths or lengths[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(lengths, lengths[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    sizes = [sum(length > t for length in lengths) for t in range(lengths[0])]
    return PackedSequence(torch.cat([steps[t, :n] for t, n in enumerate(sizes)]), torch.tensor(sizes), order, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Return the padded sequences of a PackedSequence and their lengths.

    A total_length below the longest sequence raises ValueError.
    """
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got total_length="
            f"{total_length} and max sequence length being {longest}"
        )
    lengths = torch.tensor([sum(n > i for n in sizes) for i in range(sizes[0])])
    padded = _padded(sequence.data.split(sizes), sizes[0], padding_value)
    if total_length is not None and total_length > longest:
        padded = torch.cat([padded, padded.new_full((total_length - longest, *padded.shape[1:]), padding_value)])
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def _padded(parts, size, value, side="right"):
    """Stack tensors, of which the first dimension of each is padded to `size` with `value`."""
    lacks = [size - part.size(0) for part in parts]
    pieces = parts
    if any(lacks):
        fill = parts[0].new_full((max(lacks), *parts[0].shape[1:]), value)
        pieces = []
        for part, n in zip(parts, lacks):
            pieces += [fill[:n], part] if side == "left" else [part, fill[:n]]
    return torch.cat(pieces).view(len(parts), size, *parts[0].shape[1:])


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences of different lengths, padded to the longest one.

    Sequences that are not an iterable, or an unknown padding_side, raise RuntimeError.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    first, longest = sequences[0], max(s.size(0) for s in sequences)
    for s in sequences:
        if s.shape[1:] != first.shape[1:]:
            raise RuntimeError(
                f"The size of tensor a {tuple(first.shape[1:])} must match the size of tensor b {tuple(s.shape[1:])} "
                f"in all dimensions but the first"
            )
    padded = _padded([s.to(first.dtype) for s in sequences], longest, padding_value, padding_side)
    return padded if batch_first else padded.transpose(0, 1).clone(memory_format=torch.contiguous_format)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Return the list of sequences that pad_sequence padded."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    if len(padded_sequences) != len(lengths):
        raise ValueError("zip() argument 2 is not as long as argument 1")
    idx = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [sequence[idx < length] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences into a PackedSequence."""
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Return the list of sequences in a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
