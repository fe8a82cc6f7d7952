"""The flat parameter of a FullyShardedDataParallel unit, of which each rank holds a piece."""

import torch

from .. import distributed_c10d as c10d
from ..device_mesh import DeviceMesh
from ..tensor import Shard, distribute_tensor
from ._fully_shard._param_group import ParamGroup


class FlatParameter(torch.nn.Parameter):
    """A rank's piece of the concatenated parameters of a unit."""


class _Place:
    """One parameter of a unit: the modules that have it, its shape, its range in the flat parameter.

    It also has the form of the parameter that optimizers see.
    """

    def __init__(self, name, places, parameter, start):
        self.name, self.places, self.shape, self.requires_grad = name, places, parameter.shape, parameter.requires_grad
        self.start, self.stop = start, start + parameter.numel()
        self.own = None  # with use_orig_params: a Parameter over this rank's part of it


class _Unshard(torch.autograd.Function):
    """Map a rank's piece to the full flat parameter; backward reduces and shards its gradient."""

    @staticmethod
    def forward(ctx, handle, whole, flat):
        ctx.handle, ctx.again = handle, handle.in_backward is not None
        return whole

    @staticmethod
    def backward(ctx, grad):
        reduced = ctx.handle.reduce(grad)
        if not ctx.again:  # a part that was recomputed; other parts may follow
            ctx.handle.end_backward()
        return None, None, reduced


class FlatParamHandle:
    """Gathers and shards a unit's flat parameter and reduces its gradient."""

    def __init__(self, owner, named, group, replicas, options):
        """Create the flat parameter of a unit.

        named: [(name, places, parameter)]
        options: a dict with sharded, use_orig_params and policy.
        """
        self.owner, self.group, self.replicas = owner, group, replicas
        self.sharded, self.use_orig_params, self.policy = (
            options["sharded"],
            options["use_orig_params"],
            options["policy"],
        )
        dtypes = {p.dtype for _, _, p in named}
        if len(dtypes) > 1:
            raise ValueError(f"Must flatten tensors with uniform dtype but got {sorted(map(str, dtypes))}")
        if not self.use_orig_params and len({p.requires_grad for _, _, p in named}) > 1:
            raise ValueError("Must flatten tensors with uniform requires_grad when use_orig_params=False")
        self.places, at = [], 0
        for name, places, p in named:
            self.places.append(_Place(name, places, p, at))
            at += p.numel()
        self.numel, self.count = at, group.size() if self.sharded else 1
        self.index = group.rank() if self.sharded else 0
        self.step = -(-at // self.count)
        whole = torch.cat([p.detach().reshape(-1) for _, _, p in named])
        self.flat = FlatParameter(self._piece(whole), requires_grad=any(p.requires_grad for _, _, p in named))
        self.dtype = whole.dtype
        self.flat._fqns, self.flat._shapes = tuple(n for n, _, _ in named), tuple(p.shape for *_, p in named)
        self.flat._numels = tuple(p.numel() for *_, p in named)
        self.wholes = self.in_backward = self.accumulated = None
        self.sync, self.divide_by, self.hook = True, None, None
        for place in self.places:
            for module, name in place.places:
                del module._parameters[name]
        if self.use_orig_params:
            for place, (_, _, p) in zip(self.places, named):
                a, b = self.slice_of(place)
                place.own = torch.nn.Parameter(self.flat.data[a:b], requires_grad=p.requires_grad)
        self.register_sharded()

    # ---- sharding
    def _piece(self, whole, dtype=None):
        """Return this rank's piece of a flat tensor, padded with zeros at the end."""
        mine = whole[self.index * self.step : (self.index + 1) * self.step]
        if mine.numel() < self.step:
            mine = torch.cat([mine, mine.new_zeros(self.step - mine.numel())])
        return mine.clone() if dtype is None else mine.to(dtype)

    def slice_of(self, place):
        """Return the range (start, stop) of a parameter's elements in this rank's piece."""
        offset = self.index * self.step
        clamp = lambda x: min(max(x - offset, 0), self.step)
        return clamp(place.start), clamp(place.stop)

    def gathered(self, flat):
        """Gather the pieces of all ranks and return the full flat tensor."""
        if not self.sharded:
            return flat.detach().clone()
        every = flat.new_empty(self.step * self.count)
        c10d.all_gather_into_tensor(every, flat.detach().contiguous(), self.group)
        return every[: self.numel]

    def gather(self):
        """Return the full flat parameter, in the dtype used for computation."""
        dtype = (
            self.policy.param_dtype
            if self.policy is not None and self.policy.param_dtype is not None
            else self.flat.dtype
        )
        return self.gathered(self.flat.detach().to(dtype))

    # ---- parameters of the modules
    def split(self, whole):
        """Return each parameter's part of a full flat tensor, as a view of the parameter's shape."""
        return [whole[place.start : place.stop].view(place.shape) for place in self.places]

    def put(self, tensors, register=False):
        """Set tensors on the modules in place of their parameters, as attributes or registered parameters."""
        for place, tensor in zip(self.places, tensors):
            for module, name in place.places:
                module._parameters.pop(name, None)
                if register:
                    module.__dict__.pop(name, None)
                    module._parameters[name] = tensor
                else:
                    module.__dict__[name] = tensor

    def register_sharded(self):
        """Set what the modules have outside of forward and backward.

        With use_orig_params this is the pieces, otherwise nothing.
        """
        for place in self.places:
            for module, name in place.places:
                module.__dict__.pop(name, None)
                module._parameters.pop(name, None)
                if place.own is not None:
                    module._parameters[name] = place.own

    def unshard(self):
        """Set full parameters on the modules; their gradients flow to the flat parameter."""
        with torch.no_grad():
            whole = self.gather() if self.in_backward is None else self.in_backward
        if torch.is_grad_enabled() and self.flat.requires_grad:
            whole = _Unshard.apply(self, whole, self.flat)
        self._forget()
        self.wholes = [whole]
        ParamGroup.live[id(whole)] = self, 0
        tensors = [t if p.requires_grad else t.detach() for p, t in zip(self.places, self.split(whole))]
        self.put(tensors, register=self.use_orig_params)

    def _forget(self):
        for whole in self.wholes or ():
            ParamGroup.live.pop(id(whole), None)
        self.wholes = None

    def reshard(self):
        """Free the full parameters."""
        if self.wholes is not None:
            self._forget()
            self.register_sharded()

    # ---- backward
    def start_backward(self):
        """Gather the full flat parameter for backward, if it is not there yet."""
        if self.in_backward is None:
            with torch.no_grad():
                self.in_backward = self.gather()

    def whole_in_backward(self, number):
        """Return the full flat parameter for backward."""
        self.start_backward()
        return self.in_backward

    def end_backward(self):
        """Free the parameters gathered for backward."""
        self.in_backward = None
        self.reshard()

    def reduce(self, grad):
        """Reduce a gradient and return that of this rank's piece.

        With use_orig_params the result is accumulated into the parameters' own pieces, and None is returned.
        """
        with torch.no_grad():
            if not self.sync:
                self.accumulated = grad.detach().clone() if self.accumulated is None else self.accumulated + grad
                return None
            if self.accumulated is not None:
                grad, self.accumulated = grad + self.accumulated.to(grad.dtype), None
            mine = self._reduced(grad)
            if not self.use_orig_params:
                return mine
            for place in self.places:
                if place.requires_grad:
                    a, b = self.slice_of(place)
                    piece = mine[a:b]
                    place.own.grad = piece if place.own.grad is None else place.own.grad + piece
            return None

    def _reduced(self, grad):
        policy, count = self.policy, self.group.size()
        dtype = policy.reduce_dtype if policy is not None and policy.reduce_dtype is not None else grad.dtype
        grad = grad.to(dtype)
        if self.sharded:
            padded = torch.cat([grad, grad.new_zeros(self.step * self.count - grad.numel())])
            mine = padded.new_empty(self.step)
            c10d.reduce_scatter_tensor(mine, padded, group=self.group)
        else:
            mine = grad.clone()
            c10d.all_reduce(mine, group=self.group)
        if self.replicas is not None:
            c10d.all_reduce(mine, group=self.replicas)
            count *= self.replicas.size()
        mine = mine / (self.divide_by or count)
        keep = policy is not None and policy.keep_low_precision_grads
        return mine if keep else mine.to(self.dtype)

    # ---- full parameters for the user
    def full(self):
        """Return copies of the full parameters as Parameters, in their storage dtype.

        Changes to them are not written back automatically.
        """
        return [
            torch.nn.Parameter(t.clone(), requires_grad=p.requires_grad)
            for p, t in zip(self.places, self.split(self.gathered(self.flat)))
        ]

    def write_back(self, tensors):
        """Set the flat parameter from the values of full parameters."""
        with torch.no_grad():
            self.flat.data.copy_(self._piece(torch.cat([t.detach().reshape(-1).to(self.dtype) for t in tensors])))

    def local_grad(self):
        """Return the flat gradient of this rank's piece, or None."""
        if not self.use_orig_params:
            return self.flat.grad
        if all(place.own.grad is None for place in self.places):
            return None
        flat = torch.zeros_like(self.flat)
        for place in self.places:
            if place.own.grad is not None:
                a, b = self.slice_of(place)
                flat[a:b] = place.own.grad
        return flat

    def distributed(self, whole):
        """Convert a full tensor, which every rank has, to a DTensor sharded over the unit's ranks."""
        if not whole.ndim:
            return whole
        if getattr(self, "mesh", None) is None:
            self.mesh = DeviceMesh.from_group(self.group, "cpu")
        return distribute_tensor(whole.detach(), self.mesh, [Shard(0)], src_data_rank=None)

    def trained(self):
        """Return the parameters of this unit that optimizers see."""
        return [place.own for place in self.places] if self.use_orig_params else [self.flat]
