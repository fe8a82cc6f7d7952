"""DTensor: one tensor for the program, with a local tensor on each rank of a mesh."""

import inspect
import warnings

import torch

from ..device_mesh import _mesh_resources
from . import _collective_utils as comm
from ._redistribute import _partition, redistribute_local_tensor
from ._spec import (
    DTensorSpec,
    TensorMeta,
    compute_global_tensor_info,
    compute_local_shape,
    contiguous_strides,
    is_shard,
    local_shape_and_offset,
    normalize_placements,
)
from .placement_types import Replicate, Shard

__all__ = ["DTensor", "distribute_tensor", "distribute_module", "ones", "empty", "full", "rand", "randn", "zeros"]


def _for_gradients(placements):
    """Return the placements of a gradient: those of the value, with Partial replaced by Replicate."""
    return tuple(Replicate() if p.is_partial() else p for p in placements)


class _ToLocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, grad_placements):
        ctx.spec, ctx.grad_placements = input._spec, grad_placements
        ctx.set_materialize_grads(False)
        return input._local_tensor.view_as(input._local_tensor)

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None
        spec = ctx.spec
        placements = _for_gradients(spec.placements) if ctx.grad_placements is None else tuple(ctx.grad_placements)
        meta = TensorMeta(spec.shape, contiguous_strides(spec.shape), grad.dtype)
        return DTensor(grad, DTensorSpec(spec.mesh, placements, meta), requires_grad=grad.requires_grad), None


class _FromLocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, mesh, placements, run_check, shape, stride, grad_placements):
        ctx.placements = _for_gradients(placements) if grad_placements is None else tuple(grad_placements)
        ctx.set_materialize_grads(False)
        if bool(shape) != bool(stride):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time."
            )
        if not shape:
            shape, stride = compute_global_tensor_info(input, mesh, placements)
        if not mesh._is_current_rank_part_of_mesh():
            input = input.new_empty(0)
        elif run_check:
            input = input.contiguous()
            for i, p in enumerate(placements):
                if p.is_replicate():
                    comm.mesh_broadcast(input, mesh, i)
        spec = DTensorSpec(mesh, placements, TensorMeta(torch.Size(shape), tuple(stride), input.dtype))
        return DTensor(input.view_as(input), spec, requires_grad=input.requires_grad)

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return (None,) * 7
        if grad.placements != ctx.placements:
            grad = grad.redistribute(placements=ctx.placements)
        return grad.to_local(), *(None,) * 6


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, placements, forward_dtype, backward_dtype):
        ctx.spec, ctx.dtypes = input._spec, (backward_dtype, input.dtype)
        local, spec = input._local_tensor, input._spec
        if forward_dtype is not None and forward_dtype != local.dtype:
            local = local.to(forward_dtype)
        local = redistribute_local_tensor(local, spec, placements)
        meta = TensorMeta(spec.shape, spec.stride, local.dtype)
        return DTensor(
            local.view_as(local), DTensorSpec(spec.mesh, placements, meta), requires_grad=input.requires_grad
        )

    @staticmethod
    def backward(ctx, grad):
        spec, local = grad._spec, grad._local_tensor
        backward_dtype, dtype = ctx.dtypes
        if backward_dtype is not None:
            local = local.to(backward_dtype)
        # the gradient has the placements of the input, but is replicated where the input was partial
        target = tuple(Replicate() if before.is_partial() else before for before in ctx.spec.placements)
        local = redistribute_local_tensor(local, spec, target).to(dtype)
        meta = TensorMeta(spec.shape, spec.stride, dtype)
        return DTensor(local, DTensorSpec(spec.mesh, target, meta), requires_grad=grad.requires_grad), None, None, None


class DTensor(torch.Tensor):
    """A tensor distributed over the ranks of a mesh. Operators run on the local tensors and communicate as needed.

    The constructor is internal. Use distribute_tensor for a full tensor and DTensor.from_local for local tensors.
    """

    __slots__ = ("_local_tensor", "_spec")

    @staticmethod
    def __new__(cls, local_tensor, spec, *, requires_grad=False):
        meta = spec.tensor_meta
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            meta.shape,
            strides=meta.stride,
            dtype=local_tensor.dtype,
            device=local_tensor.device,
            requires_grad=requires_grad,
        )
        made._local_tensor, made._spec = local_tensor, spec
        return made

    def __init__(self, *args, **kwargs):
        super().__init__()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from ._functions import FUNCTIONS  # imported lazily, because only computation needs the functions and rules

        instead = FUNCTIONS.get(func)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {})) if instead is None else instead(DTensor, func, *args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from ._dispatch import dispatch

        return dispatch(DTensor, func, args, kwargs or {})

    def __repr__(self):
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})"
        )

    def __tensor_flatten__(self):
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner_tensors, flatten_spec, outer_size, outer_stride):
        spec, requires_grad = flatten_spec
        local = inner_tensors["_local_tensor"]
        return DTensor(
            local,
            DTensorSpec(spec.mesh, spec.placements, TensorMeta(outer_size, outer_stride, local.dtype)),
            requires_grad=requires_grad,
        )

    def __reduce_ex__(self, protocol):
        return _rebuild, (
            self._local_tensor.detach(),
            self._spec.mesh,
            self._spec.placements,
            tuple(self.shape),
            self.stride(),
            self.requires_grad,
        )

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            local = self._local_tensor.detach().clone()
            made = DTensor(local, self._spec, requires_grad=self.requires_grad)
            if getattr(self, "_is_param", False):
                made._is_param = True
            memo[id(self)] = made
        return memo[id(self)]

    @staticmethod
    def from_local(
        local_tensor,
        device_mesh=None,
        placements=None,
        *,
        run_check=False,
        shape=None,
        stride=None,
        grad_placements=None,
    ):
        """Create a DTensor from each rank's local tensor.

        With ``run_check``, the first rank's tensor is broadcast along replicated mesh dimensions.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value."
            )
        mesh = device_mesh or _mesh_resources.get_current_mesh()
        if placements is None:
            placements = [Replicate()] * mesh.ndim
        for p in placements:
            if is_shard(p) and not -local_tensor.ndim <= p.dim < local_tensor.ndim:
                raise AssertionError(f"Sharding dim {p.dim} greater than tensor ndim {local_tensor.ndim}")
        placements = normalize_placements(placements, mesh, local_tensor.ndim)
        return _FromLocal.apply(local_tensor, mesh, placements, run_check, shape, stride, grad_placements)

    def to_local(self, *, grad_placements=None):
        """Return this rank's local tensor.

        Its gradient has this tensor's placements, or ``grad_placements`` if given.
        """
        if not torch.is_grad_enabled():
            return self._local_tensor
        if grad_placements is not None:
            grad_placements = normalize_placements(grad_placements, self._spec.mesh, self.ndim)
        return _ToLocal.apply(self, grad_placements)

    def redistribute(
        self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None, backward_dtype=None
    ):
        """Return a DTensor with the same value and other placements."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        placements = normalize_placements(placements, self.device_mesh, self.ndim)
        for p, current in zip(placements, self._spec.placements):
            if p.is_partial() and p != current:
                raise RuntimeError(
                    f"Can not redistribute from {current} to {p}, redistributing to Partial is for internal use only!"
                )
            if is_shard(p) and not 0 <= p.dim < self.ndim:
                raise RuntimeError(f"Sharding dim {p.dim} out of range for a tensor of {self.ndim} dimensions")
        if len(placements) != self.device_mesh.ndim:
            raise ValueError(
                f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
                f"{len(placements)}"
            )
        return _Redistribute.apply(self, placements, forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements=None):
        """Return the full tensor on every rank."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return _ToLocal.apply(whole, grad_placements)

    @property
    def device_mesh(self):
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self):
        """The placement for each mesh dimension."""
        return self._spec.placements

    def __create_chunk_list__(self):
        """Return the chunks that this rank holds, for torch.distributed.checkpoint."""
        from ..checkpoint.metadata import ChunkStorageMetadata

        if any(p.is_partial() for p in self.placements):
            raise NotImplementedError(
                f"a checkpoint of a DTensor with placements {self.placements} is not supported: redistribute it first"
            )
        sizes, offsets = local_shape_and_offset(self.shape, self.device_mesh, self.placements)
        if self.device_mesh.get_coordinate() is None or 0 in sizes and 0 not in self.shape:
            return []
        return [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))]


def _rebuild(local, mesh, placements, shape, stride, requires_grad):
    return DTensor(
        local,
        DTensorSpec(mesh, placements, TensorMeta(torch.Size(shape), stride, local.dtype)),
        requires_grad=requires_grad,
    )


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """Create a DTensor from a full tensor.

    The data come from rank ``src_data_rank`` of each mesh dimension's group, or from each rank itself if it is None.
    """
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if tensor.device.type not in (mesh.device_type, "meta"):
        tensor = tensor.to(mesh.device_type)
    placements = normalize_placements(placements, mesh, tensor.ndim)
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}."
            )
        if tensor.placements != placements:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements "
                f"{placements}. Use redistribute."
            )
        return tensor
    local = tensor.detach()
    meta = TensorMeta(tensor.shape, tuple(tensor.stride()), tensor.dtype)
    if mesh._is_current_rank_part_of_mesh():
        local = _local_piece(local, mesh, placements, src_data_rank)
    else:
        local = local.new_empty(0)
    made = DTensor(
        local.requires_grad_(tensor.requires_grad) if local.is_leaf else local,
        DTensorSpec(mesh, placements, meta),
        requires_grad=tensor.requires_grad,
    )
    if isinstance(tensor, torch.nn.Parameter):
        made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
    return made


def _local_piece(local, mesh, placements, src_data_rank):
    coordinate = mesh.get_coordinate()
    for i, p in enumerate(placements):
        if is_shard(p) and not isinstance(p, Shard):
            raise NotImplementedError(f"distribute_tensor with {p!r} is not supported: place it by DTensor.from_local")
        if p.is_shard():
            local = _scattered(local, p, mesh, i, src_data_rank)
        elif p.is_replicate() or p.is_partial():
            if src_data_rank is not None and local.device.type != "meta":
                local = local.clone(memory_format=torch.contiguous_format)
                comm.mesh_broadcast(local, mesh, i, group_src=src_data_rank)
            if p.is_partial():
                local = _partition(local, p, mesh.size(i), coordinate[i])
        else:
            raise RuntimeError(
                f"Trying to distribute tensor with unsupported placements {p} on device mesh dimension {i}!"
            )
    return local


def _scattered(local, placement, mesh, mesh_dim, src_data_rank):
    count, index = mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    if src_data_rank is None or local.device.type == "meta" or count == 1:
        return comm.chunk(local, placement.dim, count, index).clone(memory_format=torch.contiguous_format)
    pieces, paddings = placement._split_tensor(local, count)
    out = torch.empty_like(pieces[index])
    comm.mesh_scatter(out, pieces, mesh, mesh_dim, group_src=src_data_rank)
    return (
        out.narrow(placement.dim, 0, out.size(placement.dim) - paddings[index]).contiguous() if paddings[index] else out
    )


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Make the parameters and buffers of a module DTensors.

    ``partition_fn(name, module, mesh)`` distributes some of them; the others are replicated. ``input_fn(module, inputs,
    mesh)`` and ``output_fn(module, outputs, mesh)`` run before and after the module's forward.
    """
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been called on this module!"
        )
    for name, submodule in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, submodule, mesh)
        _replicate_rest(submodule, mesh)
    if input_fn is not None:
        with_module = _takes_module(input_fn, "input_fn", "inputs")
        module.register_forward_pre_hook(
            lambda m, inputs: input_fn(m, inputs, mesh) if with_module else input_fn(inputs, mesh)
        )
    if output_fn is not None:
        given_module = _takes_module(output_fn, "output_fn", "outputs")
        module.register_forward_hook(
            lambda m, inputs, outputs: output_fn(m, outputs, mesh) if given_module else output_fn(outputs, mesh)
        )
    module._distribute_module_applied = True
    return module


def _takes_module(function, name, what):
    if len(inspect.signature(function).parameters) != 2:
        return True
    warnings.warn(
        f"Deprecating {name} that takes two arguments ({what}, device_mesh), please use {name} that takes in "
        f"(module, {what}, device_mesh) instead!",
        FutureWarning,
        stacklevel=3,
    )
    return False


def _replicate_rest(module, mesh):
    whole = [Replicate()] * mesh.ndim
    for name, p in module._parameters.items():
        if p is not None and not isinstance(p, DTensor):
            module.register_parameter(
                name, torch.nn.Parameter(distribute_tensor(p.detach(), mesh, whole), requires_grad=p.requires_grad)
            )
    for name, b in module._buffers.items():
        if b is not None and not isinstance(b, DTensor):
            module._buffers[name] = distribute_tensor(b, mesh, whole)


def _made(make, size, dtype, requires_grad, device_mesh, placements, layout):
    if layout is not torch.strided:
        raise RuntimeError(f"layout={layout} not supported!")
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    size = torch.Size(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)
    placements = normalize_placements(placements, mesh, len(size))
    if len(placements) != mesh.ndim:
        raise ValueError("mesh dimension does not match the length of placements")
    local = make(compute_local_shape(size, mesh, placements), dtype=dtype, device=mesh.device_type)
    meta = TensorMeta(size, contiguous_strides(size), local.dtype)
    return DTensor(local, DTensorSpec(mesh, placements, meta), requires_grad=requires_grad)


def ones(*size, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
    """Return a DTensor of ones."""
    return _made(torch.ones, size, dtype, requires_grad, device_mesh, placements, layout)


def zeros(*size, requires_grad=False, dtype=None, layout=torch.strided, device_mesh=None, placements=None):
    """Return a DTensor of zeros."""
    return _made(torch.zeros, size, dtype, requires_grad, device_mesh, placements, layout)


def empty(*size, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
    """Return an uninitialized DTensor."""
    return _made(torch.empty, size, dtype, requires_grad, device_mesh, placements, layout)


def full(size, fill_value, *, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
    """Return a DTensor filled with one value."""
    return _made(
        lambda shape, **kwargs: torch.full(shape, fill_value, **kwargs),
        [tuple(size)],
        dtype,
        requires_grad,
        device_mesh,
        placements,
        layout,
    )


def rand(*size, requires_grad=False, dtype=None, layout=torch.strided, device_mesh=None, placements=None):
    """Return a DTensor of uniform random numbers. Each rank uses its own generator."""
    return _made(torch.rand, size, dtype, requires_grad, device_mesh, placements, layout)


def randn(*size, requires_grad=False, dtype=None, layout=torch.strided, device_mesh=None, placements=None):
    """Return a DTensor of normal random numbers. Each rank uses its own generator."""
    return _made(torch.randn, size, dtype, requires_grad, device_mesh, placements, layout)
