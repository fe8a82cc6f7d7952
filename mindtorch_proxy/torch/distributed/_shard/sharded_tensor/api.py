"""ShardedTensor: a tensor whose shards are on several ranks. It is the predecessor of DTensor."""

import copy
import math

import torch

from ... import distributed_c10d as c10d
from ..sharding_spec import ShardingSpec, _infer_sharding_spec_from_shards_metadata
from ..sharding_spec._internals import check_tensor, validate_non_overlapping_shards_metadata
from ..sharding_spec.chunk_sharding_spec import narrow_tensor
from .metadata import TensorProperties
from .shard import Shard
from .utils import (
    _flatten_tensor_size,
    _parse_and_validate_remote_device,
    build_global_metadata,
    build_metadata_from_local_shards,
)

__all__ = []
_PROPERTIES = {
    getattr(torch.Tensor, name).__get__
    for name in ("dtype", "shape", "device", "requires_grad", "is_leaf", "ndim", "grad_fn", "grad")
}
_PROPERTIES |= {
    torch.Tensor.size,
    torch.Tensor.dim,
    torch.Tensor.numel,
    torch.Tensor.nelement,
    torch.Tensor.is_floating_point,
    torch.Tensor.requires_grad_,
}


def _check_local(shard, properties, rank):
    """Check a local shard against its metadata and the properties of the full tensor."""
    t, wanted = shard.tensor, shard.metadata
    if not t.is_contiguous():
        raise ValueError("Only torch.contiguous_format memory_format is currently supported")
    of_whole, of_piece = "tensor property", "local ShardMetadata"
    for name, what, a, b in (
        ("layout", of_whole, properties.layout, t.layout),
        ("size", of_piece, wanted.shard_sizes, list(t.size())),
        ("device", of_piece, wanted.placement.device(), t.device),
        ("dtype", of_whole, properties.dtype, t.dtype),
        ("requires_grad", of_whole, properties.requires_grad, t.requires_grad),
    ):
        if a != b:
            raise ValueError(
                f"Local shards' tensor {name} property is incompatible with {what} on rank {rank}: {what} {name}={a}, "
                f"local shard tensor {name}={b}."
            )


class ShardedTensorBase(torch.Tensor):
    """The local shards of a tensor, with its sharding spec and metadata."""

    def __new__(
        cls, sharding_spec, *size, dtype=None, layout=torch.strided, pin_memory=False, requires_grad=False, **kwargs
    ):
        if not isinstance(sharding_spec, ShardingSpec):
            raise ValueError(f"Expecting ShardingSpec but got: {type(sharding_spec)}")
        size, dtype = _flatten_tensor_size(size), dtype or torch.get_default_dtype()
        metadata = sharding_spec.build_metadata(
            size, TensorProperties(dtype, layout, requires_grad, pin_memory=pin_memory)
        )
        made = torch.Tensor._make_wrapper_subclass(cls, size, dtype=dtype, layout=layout, requires_grad=requires_grad)
        made._sharding_spec, made._metadata, made._local_shards, made._process_group = sharding_spec, metadata, [], None
        return made

    def metadata(self):
        """Return the metadata of the full tensor."""
        return self._metadata

    def local_shards(self):
        """Return this rank's shards."""
        return self._local_shards

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(
            f"A {cls.__name__} object is being used from c++ while calling {func}, but it has no operators"
        )


class ShardedTensor(ShardedTensorBase):
    """A tensor of which each rank holds some shards.

    It is only a container, for checkpoints and libraries that use it. For operators, use DTensor.
    """

    def __init__(
        self,
        sharding_spec,
        *size,
        dtype=None,
        layout=torch.strided,
        requires_grad=False,
        pin_memory=False,
        memory_format=torch.contiguous_format,
        process_group=None,
        init_rrefs=False,
    ):
        if init_rrefs:
            raise NotImplementedError("ShardedTensor: init_rrefs is not supported: there are no remote procedure calls")
        if layout != torch.strided:
            raise ValueError("Only torch.strided layout is currently supported")
        if memory_format != torch.contiguous_format:
            raise ValueError("Only torch.contiguous_format memory_format is currently supported")
        self._process_group, rank = process_group or c10d._get_default_group(), c10d.get_rank()
        for piece in self._metadata.shards_metadata:
            where, device = _parse_and_validate_remote_device(self._process_group, piece.placement)
            if where == rank:
                self._local_shards.append(
                    Shard(
                        torch.empty(piece.shard_sizes, dtype=self.dtype, device=device, requires_grad=requires_grad),
                        piece,
                    )
                )

    @classmethod
    def _made(cls, metadata, local_shards, process_group, spec=None):
        properties = metadata.tensor_properties
        spec = _infer_sharding_spec_from_shards_metadata(metadata.shards_metadata) if spec is None else spec
        made = cls.__new__(
            cls,
            spec,
            metadata.size,
            dtype=properties.dtype,
            layout=properties.layout,
            pin_memory=properties.pin_memory,
            requires_grad=properties.requires_grad,
        )
        made._local_shards, made._process_group = local_shards, process_group
        return made

    @classmethod
    def _init_from_local_shards(cls, local_shards, *global_size, process_group=None, init_rrefs=False):
        """Create the tensor from the local shards of all ranks, which exchange their metadata."""
        if None in global_size:
            raise NotImplementedError("init_from_local_shards: sizes that are not known (None) are not supported")
        group = process_group or c10d._get_default_group()
        size, rank = _flatten_tensor_size(global_size), c10d.get_rank()
        known = [None] * c10d.get_world_size(group)
        c10d.all_gather_object(
            known,
            build_metadata_from_local_shards(local_shards, size, rank, group) if local_shards else None,
            group=group,
        )
        return cls._made(build_global_metadata(known), local_shards, group)

    @classmethod
    def _init_from_local_shards_and_global_metadata(
        cls, local_shards, sharded_tensor_metadata, process_group=None, init_rrefs=False, sharding_spec=None
    ):
        """Create the tensor from local shards and metadata that every rank already has."""
        group, rank = process_group or c10d._get_default_group(), c10d.get_rank()
        pieces = sharded_tensor_metadata.shards_metadata
        if not pieces:
            raise ValueError("shards_metadata must not be empty!")
        mine = [p for p in pieces if _parse_and_validate_remote_device(group, p.placement)[0] == rank]
        if len(local_shards) != len(mine):
            raise RuntimeError(
                f"Number of local shards ({len(local_shards)}) does not match number of local shards metadata in "
                f"sharded_tensor_metadata ({len(mine)}) on rank ({rank}) "
            )
        if sharded_tensor_metadata.tensor_properties.layout != torch.strided:
            raise ValueError("Only torch.strided layout is currently supported")
        for shard in local_shards:
            _check_local(shard, sharded_tensor_metadata.tensor_properties, rank)
        validate_non_overlapping_shards_metadata(pieces)
        check_tensor(pieces, list(sharded_tensor_metadata.size))
        return cls._made(sharded_tensor_metadata, local_shards, group, sharding_spec)

    @classmethod
    def _init_from_local_tensor(cls, local_tensor, sharding_spec, *global_size, process_group=None, init_rrefs=False):
        """Create the tensor from one local tensor on each rank."""
        if not local_tensor.is_contiguous():
            raise ValueError("local_tensor is not a contiguous Tensor.")
        metadata = sharding_spec.build_metadata(
            _flatten_tensor_size(global_size), TensorProperties.create_from_tensor(local_tensor)
        )
        rank = c10d.get_rank()
        local = [Shard(local_tensor, p) for p in metadata.shards_metadata if p.placement.rank() == rank]
        return cls._init_from_local_shards_and_global_metadata(
            local, metadata, process_group, sharding_spec=sharding_spec
        )

    def sharding_spec(self):
        """Return the sharding spec."""
        return self._sharding_spec

    def local_tensor(self):
        """Return the tensor of this rank's only shard."""
        if len(self._local_shards) != 1:
            raise NotImplementedError(
                f"Only single local shard is supported. Number of shards: {len(self._local_shards)}"
            )
        return self._local_shards[0].tensor

    def remote_shards(self):
        """Raise an error, because remote shards are not available without RRefs."""
        raise RuntimeError("ShardedTensor created with init_rrefs=False, no RRefs to remote shards available")

    def is_pinned(self):
        """Whether the shards are in pinned memory."""
        return self._metadata.tensor_properties.pin_memory

    def gather(self, dst=0, out=None, enforce_dtype=False, dtype=None):
        """Gather the full tensor into ``out`` on rank ``dst`` of the group."""
        group, size = self._process_group, self._metadata.size
        rank = c10d.get_rank(group)
        if rank == dst:
            if out is None:
                raise ValueError(f"Argument ``dst_tensor`` must be specified on destination rank {dst}")
            if out.size() != size:
                raise ValueError(f"Argument ``dst_tensor`` have size {tuple(out.size())},but should be {tuple(size)}")
        elif out is not None:
            raise ValueError("Argument ``dst_tensor`` must NOT be specified on non-destination ranks.")
        dtype = dtype or self.dtype
        ranks = c10d.get_process_group_ranks(group)
        held = {r: [p for p in self._metadata.shards_metadata if p.placement.rank() == r] for r in ranks}
        most = max(sum(math.prod(p.shard_sizes) for p in pieces) for pieces in held.values())
        with torch.no_grad():
            data = torch.zeros(most, dtype=dtype)
            parts = [s.tensor.detach().flatten().to(dtype) for s in self._local_shards]
            if parts:
                flat = torch.cat(parts)
                data[: flat.numel()] = flat
            rows = [torch.empty_like(data) for _ in ranks] if rank == dst else None
            c10d.gather(data, rows, group=group, group_dst=dst)
            for r, row in zip(ranks, rows or ()):
                at = 0
                for piece in held[r]:
                    count = math.prod(piece.shard_sizes)
                    narrow_tensor(out, piece).copy_(row[at : at + count].view(piece.shard_sizes))
                    at += count

    def __deepcopy__(self, memo):
        shards = [
            Shard(s.tensor.detach().clone().requires_grad_(s.tensor.requires_grad), copy.deepcopy(s.metadata))
            for s in self._local_shards
        ]
        return type(self)._made(copy.deepcopy(self._metadata), shards, self._process_group, self._sharding_spec)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in _PROPERTIES:
            name = getattr(func, "__name__", func)
            raise RuntimeError(
                f"torch function '{name}', with args: {args} and kwargs: {kwargs} not supported for ShardedTensor!"
            )
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"ShardedTensor({self._metadata})"


ShardingSpec._assembled = ShardedTensor._init_from_local_shards_and_global_metadata
