"""ZeRO stage 1 (arXiv:1910.02054): the optimizer state is sharded over the ranks.

Each rank keeps the state of its share of the parameters and broadcasts them after a step.
"""

import copy
import io
import logging
from collections.abc import Mapping
from itertools import chain

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]
logger = logging.getLogger(__name__)


def _recursive_copy_to_device(value, non_blocking, device):
    """Copy the tensors in nested containers to a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=non_blocking)
    if isinstance(value, (list, tuple)):
        return type(value)(_recursive_copy_to_device(v, non_blocking, device) for v in value)
    if isinstance(value, Mapping):
        return {key: _recursive_copy_to_device(v, non_blocking, device) for key, v in value.items()}
    return value


def _broadcast_object(obj, src_rank, group=None, device=torch.device("cpu")):
    """Broadcast an object from a global rank; its tensors are moved to a device."""
    if dist.get_rank() == src_rank:
        file = io.BytesIO()
        torch.save(obj, file)
        data = torch.frombuffer(bytearray(file.getbuffer()), dtype=torch.uint8).to(device)
        dist.broadcast(torch.tensor([data.numel()], device=device), src=src_rank, group=group)
        dist.broadcast(data, src=src_rank, group=group)
        return obj
    size = torch.zeros(1, dtype=torch.int64, device=device)
    dist.broadcast(size, src=src_rank, group=group)
    data = torch.empty(int(size), dtype=torch.uint8, device=device)
    dist.broadcast(data, src=src_rank, group=group)
    return torch.load(io.BytesIO(data.cpu().numpy().tobytes()), map_location=device, weights_only=False)


class _ZeROJoinHook(JoinHook):
    def __init__(self, zero):
        self.zero = zero

    def main_hook(self):
        """Continue to update and broadcast this rank's share of the parameters."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of which each rank runs a share.

    Example: ``ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)``.

    Each parameter belongs to one rank: they are assigned by descending size to the rank with the fewest elements. With
    ``parameters_as_bucket_view``, a rank's parameters are views of one tensor and are broadcast together.
    ``overlap_with_ddp`` is not supported.
    """

    def __init__(
        self,
        params,
        optimizer_class,
        process_group=None,
        parameters_as_bucket_view=False,
        overlap_with_ddp=False,
        **defaults,
    ):
        params = self._verify_and_init_params(params)
        self._verify_same_dense_param_type()
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True is not supported; step() after backward is"
            )
        self.initialized = False  # until then `add_param_group`, which Optimizer calls, does only what Optimizer's does
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self.process_group = dist.distributed_c10d._get_default_group() if process_group is None else process_group
        self.world_size, self.rank = dist.get_world_size(self.process_group), dist.get_rank(self.process_group)
        self.global_rank = dist.get_global_rank(self.process_group, self.rank)
        self._default_device = self._all_params[0].device
        self._is_trainable_mask = [p.requires_grad for p in self._all_params]
        self._optim_defaults, self._optim_constructor = defaults, optimizer_class
        self._partition, self._all_state_dicts, self._buckets = None, [], []
        self.parameters_as_bucket_view = parameters_as_bucket_view
        # a parameter group may be empty, the list of groups may not
        self.optim = optimizer_class(self._partition_parameters()[self.rank], **defaults)
        self._sync_param_groups(self.optim.param_groups, self.param_groups)
        self._build_param_buckets()
        self.initialized = True

    def _verify_and_init_params(self, params):
        if isinstance(params, torch.Tensor):
            raise TypeError(f"`params` argument should be an iterable of Tensors, but got {torch.typename(params)}")
        try:
            given = list(params)
        except TypeError as error:
            raise TypeError(
                f"`params` argument should be an iterable of Tensors or dicts, but got {torch.typename(params)}"
            ) from error
        if not given:
            raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
        if all(isinstance(p, torch.Tensor) for p in given):
            self._all_params = given
        elif all(isinstance(p, dict) for p in given):
            if not all("params" in g for g in given):
                raise ValueError(
                    "Each parameter group passed-in via `params` must have a 'params' key mapping to the parameters "
                    "in the group"
                )
            given = [
                {**g, "params": [g["params"]] if isinstance(g["params"], torch.Tensor) else list(g["params"])}
                for g in given
            ]
            self._all_params = [p for g in given for p in g["params"]]
        else:
            raise TypeError("`params` argument should be an iterable of Tensors or dicts")
        return given

    def _verify_same_dense_param_type(self):
        names = [torch.typename(p) for p in self._all_params]
        if self._all_params[0].is_sparse:
            raise ValueError(
                f"ZeroRedundancyOptimizer only supports using the same dense type for all parameters but got {names[0]}"
            )
        if (other := next((n for n in names if n != names[0]), None)) is not None:
            raise ValueError(
                f"ZeroRedundancyOptimizer only supports using the same dense type for all parameters but got both "
                f"{names[0]} and {other}"
            )

    # -- partition of the parameters

    def _partition_parameters(self):
        """Return the parameter groups of each rank."""
        if self._partition is None:
            self._partition, sizes = [[] for _ in range(self.world_size)], [0] * self.world_size
            for group in self.param_groups:
                shares = [[] for _ in range(self.world_size)]
                for param in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
                    rank = sizes.index(min(sizes))
                    shares[rank].append(param)
                    sizes[rank] += param.numel()
                for rank, share in enumerate(shares):
                    self._partition[rank].append({**copy.copy(group), "params": share})
        return self._partition

    @property
    def _param_to_rank(self):
        return {
            p: rank for rank, groups in enumerate(self._partition_parameters()) for g in groups for p in g["params"]
        }

    @property
    def _index_to_param(self):
        return list(chain.from_iterable(g["params"] for g in self.param_groups))

    @property
    def _param_to_index(self):
        return {p: i for i, p in enumerate(self._index_to_param)}

    def add_param_group(self, param_group):
        """Add a parameter group. Must be called on all ranks."""
        super().add_param_group(param_group)
        if not self.initialized:
            return
        self._partition = None  # the partition of the previous groups does not change
        groups = self._partition_parameters()[self.rank]
        if len(groups) == len(self.optim.param_groups) + 1:
            self.optim.add_param_group(groups[-1])
        self._all_params = self._index_to_param
        self._is_trainable_mask = [p.requires_grad for p in self._all_params]
        self._build_param_buckets()

    def _build_param_buckets(self):
        """With ``parameters_as_bucket_view``, make parameters views of one tensor for each device and rank."""
        if not self.parameters_as_bucket_view:
            return
        self._buckets = []
        for device in dict.fromkeys(p.device for p in self._index_to_param):
            buckets = []
            for groups in self._partition_parameters():
                mine = [p for g in groups for p in g["params"] if p.device == device]
                for p in mine:
                    if not p.requires_grad:  # it may be a view of an old bucket
                        p.data = p.data.clone()
                trained = [p for p in mine if p.requires_grad]
                bucket = torch.cat([p.data.reshape(-1) for p in trained]) if trained else torch.zeros(1, device=device)
                for p, piece in zip(trained, bucket.split([p.numel() for p in trained]) if trained else ()):
                    p.data = piece.view_as(p)
                buckets.append(bucket)
            self._buckets.append(buckets)

    # -- steps

    def _local_step(self, closure=None, **kwargs):
        """Run a step on this rank's share of the parameters."""
        Join.notify_join_context(self)
        mask = [p.requires_grad for p in self._all_params]
        if mask != self._is_trainable_mask:
            logger.warning(
                "ZeroRedundancyOptimizer detected that the trainable parameters changed; rebuilding the parameter "
                "buckets if enabled"
            )
            self._build_param_buckets()
            self._is_trainable_mask = mask
        self._sync_param_groups(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._sync_param_groups(self.optim.param_groups, self.param_groups)
        return loss

    def _sync_params(self):
        """Broadcast each rank's share of the parameters."""
        works = []
        for rank in range(self.world_size):
            if self.parameters_as_bucket_view:
                tensors = [buckets[rank] for buckets in self._buckets]
            else:
                tensors = [p.data for g in self._partition_parameters()[rank] for p in g["params"]]
            source = dist.get_global_rank(self.process_group, rank)
            works += [dist.broadcast(t, src=source, group=self.process_group, async_op=True) for t in tensors]
        for work in works:
            work.wait()

    def step(self, closure=None, **kwargs):
        """Run a step on all parameters."""
        loss = self._local_step(closure=closure, **kwargs)
        self._sync_params()
        return loss

    def join_hook(self, **_kwargs):
        """Return a hook with which a rank without inputs continues to update its parameters."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self):
        """The device of the parameters."""
        return self._default_device

    @property
    def join_process_group(self):
        """The process group."""
        return self.process_group

    # -- state

    def consolidate_state_dict(self, to=0):
        """Gather the state of all ranks on one rank, where ``state_dict`` then returns it.

        Must be called on all ranks.
        """
        self._sync_param_groups(self.param_groups, self.optim.param_groups)
        self._all_state_dicts = []
        host = torch.device("cpu")
        for rank in range(self.world_size):
            if rank == self.rank == to:
                self._all_state_dicts.append(_recursive_copy_to_device(self.optim.state_dict(), True, host))
            elif rank != to:
                source = dist.get_global_rank(self.process_group, rank)
                mine = self.optim.state_dict() if rank == self.rank else None
                received = _broadcast_object(mine, source, self.process_group, self._default_device)
                if self.rank == to:
                    self._all_state_dicts.append(_recursive_copy_to_device(received, True, host))

    def state_dict(self):
        """Return the state of all parameters, as of the last ``consolidate_state_dict``."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. "
                f"Please call `consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save "
                "the global state."
            )
        state_dict, indices = super().state_dict(), self._param_to_index
        for groups, found in zip(self._partition_parameters(), self._all_state_dicts):
            for theirs, local in zip(groups, found["param_groups"]):
                for param, i in zip(theirs["params"], local["params"]):
                    if i in found["state"]:
                        state_dict["state"][indices[param]] = found["state"][i]
        state_dict["state"] = dict(sorted(state_dict["state"].items()))
        return state_dict

    def load_state_dict(self, state_dict):
        """Load this rank's share of a state of all parameters."""
        ranks, params = self._param_to_rank, self._index_to_param
        for index, value in state_dict["state"].items():
            param = params[index]
            if ranks[param] != self.rank:
                state_dict["state"][index] = None
                continue
            state = self.optim.state[param] = _recursive_copy_to_device(value, True, param.device)
            state.update(
                {k: v.cpu() for k, v in state.items() if torch.is_tensor(v) and v.dim() == 0}
            )  # steps are counted on the CPU
        super().load_state_dict(state_dict)
        self._sync_param_groups(state_dict["param_groups"], self.param_groups)
        self._sync_param_groups(self.param_groups, self.optim.param_groups)

    @staticmethod
    def _sync_param_groups(src_param_groups, dst_param_groups):
        """Copy the options of parameter groups."""
        if len(src_param_groups) != len(dst_param_groups):
            raise AssertionError("Mismatch between number of source and destination parameter groups")
        for source, target in zip(src_param_groups, dst_param_groups):
            target.update({k: v for k, v in source.items() if k != "params"})
