"""The parameters of one FSDP unit.

They are gathered together for computation, and their gradients are reduced together.
"""

import contextlib
import itertools
import math

import torch
from torch.utils._pytree import tree_leaves

from ... import distributed_c10d as c10d
from ...device_mesh import DeviceMesh
from ...tensor import DTensor, Replicate, Shard
from ...tensor._spec import DTensorSpec, TensorMeta, contiguous_strides
from ...tensor.placement_types import _chunk_bounds, _StridedShard


class ShardedParameter:
    """One parameter: the modules that have it, how it is sharded, and its sharded form."""

    def __init__(self, places, parameter, mesh, placement):
        self.places, self.mesh, self.dim = places, mesh, placement.dim
        self.requires_grad = parameter.requires_grad
        self.tensor_parallel = parameter._spec if isinstance(parameter, DTensor) else None
        whole = parameter._local_tensor if self.tensor_parallel else parameter
        self.shape, self.dtype = torch.Size(whole.shape), whole.dtype  # of the tensor that is sharded over this mesh
        self.count, self.index = mesh.size(-1), mesh.get_local_rank(mesh.ndim - 1)
        if self.dim != 0 and self.shape[self.dim] % self.count:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {self.dim}: {self.shape} (world size: {self.count}). "
                f"Only dim 0 can be sharded unevenly."
            )
        start, stop = _chunk_bounds(self.shape[self.dim], self.count, self.index)
        local = whole.detach().narrow(self.dim, start, stop - start).clone(memory_format=torch.contiguous_format)
        self.spec = self._sharded_spec(parameter, placement)
        self.sharded = torch.nn.Parameter(DTensor(local, self.spec), requires_grad=parameter.requires_grad)
        self.sharded.__dict__.update(
            {k: v for k, v in parameter.__dict__.items() if k not in ("_local_tensor", "_spec", "_is_param")}
        )
        self.step = -(-self.shape[self.dim] // self.count)
        self.numel = self.step * math.prod(self.shape[: self.dim] + self.shape[self.dim + 1 :])
        self.accumulated = None

    def _sharded_spec(self, parameter, placement):
        mine = [Replicate()] * (self.mesh.ndim - 1)
        if self.tensor_parallel is None:
            return DTensorSpec(
                self.mesh, (*mine, placement), TensorMeta(self.shape, contiguous_strides(self.shape), self.dtype)
            )
        other = self.tensor_parallel
        cuts = math.prod(other.mesh.size(i) for i, p in enumerate(other.placements) if p.is_shard(placement.dim))
        if cuts > 1:
            placement = _StridedShard(placement.dim, split_factor=cuts)
        mesh = DeviceMesh._concatenate([self.mesh, other.mesh])
        return DTensorSpec(mesh, (*mine, placement, *other.placements), other.tensor_meta)

    def refresh(self):
        """Update to the modules' current parameter, which a conversion or a loaded state may have replaced."""
        module, name = self.places[0]
        found = module._parameters.get(name)
        if isinstance(found, DTensor) and found is not self.sharded and found._spec.placements == self.spec.placements:
            self.sharded, self.dtype, self.requires_grad = found, found.dtype, found.requires_grad

    def put(self, tensor):
        """Register a form of the parameter on its modules."""
        for module, name in self.places:
            module._parameters[name] = tensor

    def piece(self, whole, rank, dtype):
        """Return a rank's piece of a full tensor, flattened and padded with zeros."""
        start, stop = _chunk_bounds(self.shape[self.dim], self.count, rank)
        return self.padded(whole.narrow(self.dim, start, stop - start), dtype)

    def padded(self, local, dtype):
        """Return a piece, flattened and padded with zeros."""
        flat = local.detach().reshape(-1).to(dtype)
        return flat if flat.numel() == self.numel else torch.cat([flat, flat.new_zeros(self.numel - flat.numel())])

    def whole_of(self, pieces):
        """Return the full tensor from the flat pieces of all ranks."""
        shape = [*self.shape]
        shape[self.dim] = self.step
        return (
            torch.cat([p.view(shape) for p in pieces], self.dim).narrow(self.dim, 0, self.shape[self.dim]).contiguous()
        )

    def own(self, flat):
        """Return this rank's piece from its flat, padded form."""
        start, stop = _chunk_bounds(self.shape[self.dim], self.count, self.index)
        shape = [*self.shape]
        shape[self.dim] = self.step
        return flat.view(shape).narrow(self.dim, 0, stop - start)


class _Unshard(torch.autograd.Function):
    """Map sharded parameters to full ones; backward reduces and shards their gradients."""

    @staticmethod
    def forward(ctx, group, wholes, *sharded):
        ctx.group, ctx.again = group, group.in_backward is not None
        ctx.set_materialize_grads(False)
        return tuple(wholes)

    @staticmethod
    def backward(ctx, *grads):
        reduced = ctx.group.reduce(grads)
        if not ctx.again:  # a part that was recomputed; other parts may follow
            ctx.group.end_backward()
        return None, None, *reduced


class ParamGroup:
    """The parameters of one fully_shard call."""

    live: dict = {}  # id of a full tensor in use: (group, index)

    def __init__(self, parameters, mesh, policy):
        self.parameters, self.mesh, self.policy = parameters, mesh, policy
        self.group = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None
        self.wholes = self.pending = self.in_backward = None
        self.sync, self.all_reduce, self.divide_by, self.hook = True, True, None, None
        self.partly_reduced = None
        self.backward_prefetch = []

    # ---- gathering
    def _dtype(self, p):
        return self.policy.param_dtype if self.policy.param_dtype is not None and p.dtype.is_floating_point else p.dtype

    def start_gather(self):
        """Start to gather the full parameters."""
        if self.pending is not None:
            return
        started = []
        for p in self.parameters:
            p.refresh()
            if p.sharded.device.type == "meta":
                raise RuntimeError(
                    "FSDP parameters should be materialized from meta device before training: "
                    "call to_empty() and initialize them."
                )
        key = lambda i: str(self._dtype(self.parameters[i]))
        for _, numbers in itertools.groupby(sorted(range(len(self.parameters)), key=key), key):
            numbers = list(numbers)
            mine = torch.cat(
                [
                    self.parameters[i].padded(self.parameters[i].sharded._local_tensor, self._dtype(self.parameters[i]))
                    for i in numbers
                ]
            )
            every = mine.new_empty(mine.numel() * self.group.size())
            started.append((numbers, every, c10d.all_gather_into_tensor(every, mine, self.group, async_op=True)))
        self.pending = started

    def gather(self):
        """Return the full parameters, in the dtype used for computation."""
        self.start_gather()
        wholes = [None] * len(self.parameters)
        for numbers, every, work in self.pending:
            work.wait()
            rows = every.view(self.group.size(), -1)
            at = 0
            for i in numbers:
                p = self.parameters[i]
                wholes[i] = p.whole_of([row[at : at + p.numel] for row in rows])
                at += p.numel
        self.pending = None
        return wholes

    # ---- parameters of the modules
    def unshard(self):
        """Register full parameters; their gradients flow to the sharded ones."""
        with torch.no_grad():
            wholes = list(self.in_backward) if self.in_backward is not None else self.gather()
        for i, p in enumerate(self.parameters):
            wholes[i].requires_grad_(p.requires_grad and not torch.is_grad_enabled())
        if torch.is_grad_enabled() and any(p.requires_grad for p in self.parameters):
            wholes = self._connected(wholes)
        self._forget_wholes()
        self.wholes = wholes
        for i, (p, whole) in enumerate(zip(self.parameters, wholes)):
            ParamGroup.live[id(whole)] = self, i
            p.put(self._registered(p, whole))

    def _connected(self, wholes):
        """Connect the full parameters that require grad to the sharded ones in the autograd graph."""
        trained = [i for i, p in enumerate(self.parameters) if p.requires_grad]
        made = _Unshard.apply(self, [wholes[i] for i in trained], *(self.parameters[i].sharded for i in trained))
        for i, whole in zip(trained, made):
            wholes[i] = whole
        return wholes

    def _registered(self, p, whole):
        other = p.tensor_parallel
        if other is None:
            return whole
        return DTensor.from_local(whole, other.mesh, other.placements, shape=other.shape, stride=other.stride)

    def _forget_wholes(self):
        for whole in self.wholes or ():
            ParamGroup.live.pop(id(whole), None)
        self.wholes = None

    def reshard(self):
        """Register the sharded parameters again."""
        if self.wholes is not None:
            for p in self.parameters:
                p.put(p.sharded)
            self._forget_wholes()

    # ---- backward
    def start_backward(self):
        """Gather full parameters for backward if they are not there yet, and prefetch other units."""
        if self.in_backward is None:
            with torch.no_grad():
                self.in_backward = self.gather()
            for other in self.backward_prefetch:
                if other.in_backward is None:
                    other.start_gather()

    def whole_in_backward(self, number):
        """Return a full parameter for backward; the first call gathers all of them."""
        self.start_backward()
        return self.in_backward[number]

    def end_backward(self):
        """Free the parameters gathered for backward."""
        self.in_backward = None
        self.reshard()

    def reduce(self, grads):
        """Reduce the gradients of the full parameters and return those of the sharded parameters."""
        trained = [p for p in self.parameters if p.requires_grad]
        with torch.no_grad():
            if not self.sync:
                for p, g in zip(trained, grads):
                    if g is not None:
                        g = g.to(self.policy.reduce_dtype) if self.policy.reduce_dtype is not None else g.detach()
                        p.accumulated = g if p.accumulated is None else p.accumulated + g
                return [None] * len(trained)
            whole = [self._with_accumulated(p, g) for p, g in zip(trained, grads)]
            reduced = [None] * len(trained)
            key = lambda i: str(whole[i].dtype)
            for _, numbers in itertools.groupby(
                sorted((i for i, g in enumerate(whole) if g is not None), key=key), key
            ):
                numbers = list(numbers)
                flat = self._reduced([trained[i] for i in numbers], [whole[i] for i in numbers])
                at = 0
                for i in numbers if flat is not None else ():
                    p = trained[i]
                    local = p.own(flat[at : at + p.numel]).to(p.sharded.dtype).contiguous()
                    reduced[i] = DTensor(local, p.sharded._spec)
                    at += p.numel
            return reduced

    @staticmethod
    def _with_accumulated(p, grad):
        held, p.accumulated = p.accumulated, None
        return grad if held is None else held if grad is None else held + grad.to(held.dtype)

    def _reduced(self, parameters, grads):
        """Return this rank's pieces of the averaged gradients as a flat tensor."""
        count = self.group.size()
        dtype = self.policy.reduce_dtype or grads[0].dtype
        pieces = torch.cat([p.piece(g, rank, dtype) for rank in range(count) for p, g in zip(parameters, grads)])
        mine = pieces.new_empty(pieces.numel() // count)
        c10d.reduce_scatter_tensor(mine, pieces, group=self.group)
        if self.replicas is not None:
            if self.partly_reduced is not None:
                mine, self.partly_reduced = mine + self.partly_reduced, None
            if not self.all_reduce:
                self.partly_reduced = mine
                return None
            c10d.all_reduce(mine, group=self.replicas)
            count *= self.replicas.size()
        if self.hook is not None:
            self.hook(mine)
        return mine / (count if self.divide_by is None else self.divide_by)


def pack(tensor):
    """Replace a saved tensor that is a full parameter, or a view of one, by its group, index and view geometry."""
    for candidate in (tensor, tensor._base):
        found = ParamGroup.live.get(id(candidate)) if candidate is not None else None
        if found is not None and found[0].wholes[found[1]] is candidate:
            return (*found, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
    return tensor


def unpack(kept):
    """Return the saved tensor; a full parameter is gathered again if needed."""
    if isinstance(kept, torch.Tensor):
        return kept
    group, number, shape, stride, offset = kept
    return group.whole_in_backward(number).as_strided(shape, stride, offset)


def freeing_hooks():
    """Return saved-tensor hooks for units that free their parameters, so that autograd does not keep them alive.

    If the program has its own saved-tensor hooks, return a null context: these hooks then get all saved tensors, and a
    checkpoint drops them and runs the unit again.
    """
    top = torch._C._autograd._top_saved_tensors_default_hooks(False)
    return (
        torch.autograd.graph.saved_tensors_hooks(pack, unpack)
        if top is None or top[0] is pack
        else contextlib.nullcontext()
    )


def runs_again():
    """Whether a backward is running, in which case a forward is the recomputation of a checkpoint."""
    return torch._C._current_graph_task_id() != -1


def whole_in_backward(output, unit):
    """Gather a unit's parameters at the first gradient of its outputs.

    Checkpoints within the unit may run parts of its forward again.
    """

    def start(grad):
        if unit.in_backward is None:
            unit.start_backward()
            with torch.enable_grad():  # recomputed parts may need these parameters in their graph
                unit.unshard()
            torch.autograd.Variable._execution_engine.queue_callback(unit.end_backward)

    for t in tree_leaves(output):
        if isinstance(t, torch.Tensor) and t.requires_grad:
            t.register_hook(start)
