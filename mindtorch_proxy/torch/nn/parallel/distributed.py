"""Data parallelism over processes: each process has a replica and a share of the batch.

Gradients are averaged while the backward pass is running.
"""

import copy
import inspect
import logging
import warnings
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from typing import Any

import torch
import torch.distributed as dist
from torch._utils import _get_device_index
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.utils import _sync_module_states, _to_kwargs, _verify_param_shape_across_processes
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..modules.module import Module
from ..parameter import UninitializedParameter

__all__ = ["DistributedDataParallel"]
logger = logging.getLogger(__name__)
_MB = 1 << 20


class _BufferCommHookLocation(Enum):
    """When buffers are synchronized: before or after forward."""

    PRE_FORWARD = auto()
    POST_FORWARD = auto()


@dataclass
class _BufferCommHook:
    buffer_comm_hook: Any
    buffer_comm_hook_state: Any
    buffer_comm_hook_location: _BufferCommHookLocation


def _find_tensors(obj):
    """Yield all tensors in nested lists, tuples, dicts and dataclasses."""
    if isinstance(obj, torch.Tensor):
        yield obj
        return
    if isinstance(obj, dict):
        obj = obj.values()
    elif is_dataclass(obj):
        obj = [getattr(obj, f.name) for f in fields(obj)]
    elif not isinstance(obj, (list, tuple)):
        return
    for inside in obj:
        yield from _find_tensors(inside)


class _DDPSink(torch.autograd.Function):
    """Identity applied to the outputs of forward.

    Its backward runs before that of the module, and finds out which outputs have a gradient.
    """

    @staticmethod
    def forward(ctx, ddp, *inputs):
        """Return copies of the inputs, because the caller may change them in-place.

        Without _ddp_sink_clone, the inputs themselves are returned.
        """
        ctx.set_materialize_grads(False)
        ctx.ddp = ddp
        ctx.edges = [t.grad_fn if isinstance(t, torch.Tensor) else None for t in inputs]
        if not ddp()._ddp_sink_clone:
            return inputs
        return tuple(t.clone() if isinstance(t, torch.Tensor) else t for t in inputs)

    @staticmethod
    def backward(ctx, *grads):
        """Return the gradients unchanged, after telling the reducer which outputs have none.

        With a static graph, queue the delayed all-reduce instead, in the first iteration.
        """
        ddp = ctx.ddp()
        if ddp.static_graph:
            if not ddp._static_graph_delay_allreduce_enqueued:
                torch.autograd.Variable._execution_engine.queue_callback(ddp.reducer._delay_all_reduce)
                ddp._static_graph_delay_allreduce_enqueued = True
        elif any(g is None and e is not None for g, e in zip(grads, ctx.edges)):
            by_gradient = {True: [], False: []}
            for edge, grad in zip(ctx.edges, grads):
                by_gradient[grad is not None].append(edge)
            ddp.reducer._mark_unused_outputs(by_gradient[True], by_gradient[False])
        return None, *grads


class _DDPJoinHook(JoinHook):
    """Take part in the collectives with zero gradients after this replica has run out of inputs."""

    def __init__(self, ddp, divide_by_initial_world_size):
        if not isinstance(ddp, DistributedDataParallel):
            raise AssertionError("DDP join hook requires passing in a DistributedDataParallel instance as the state")
        ddp.logger._set_uneven_input_join()
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self):
        """Run the collectives that match one forward and backward pass of the other replicas."""
        ddp = self.ddp
        ddp.reducer._push_all_rebuilt_params()
        ddp.reducer._rebuild_buckets()
        ddp._check_and_sync_module_buffers()
        syncs = ddp._check_global_requires_backward_grad_sync(is_joined_rank=True)
        ddp.require_forward_param_sync = syncs
        if not syncs:
            return
        ddp._match_all_reduce_for_bwd_pass()
        if ddp.find_unused_parameters:
            ddp._match_unused_params_allreduce()

    def post_hook(self, is_last_joiner):
        """Copy the parameters and buffers of the replica that trained last to all others."""
        self.ddp._sync_final_model(is_last_joiner)


def _limits(bucket_cap_mb, bucket_cap_mb_list):
    """Return the bytes of the first bucket, of the other buckets, and of each bucket if they are listed."""
    if bucket_cap_mb_list:
        each = [int(mb * _MB) for mb in bucket_cap_mb_list]
        return max(each), max(each), each
    if bucket_cap_mb is None:  # a small first bucket lets communication start early
        return dist._DEFAULT_FIRST_BUCKET_BYTES, 25 * _MB, []
    return int(bucket_cap_mb * _MB), int(bucket_cap_mb * _MB), []


class DistributedDataParallel(Module, Joinable):
    """Replicate a module in each process; gradients are averaged in backward, buffers come from rank 0.

    Gradients are communicated in buckets, each as soon as all its gradients are computed. The arguments are those of
    PyTorch; ``mixed_precision`` and ``delay_all_reduce_named_params`` raise NotImplementedError.

    A module without parameters that require a gradient, or with uninitialized parameters, raises RuntimeError;
    parameters on devices of several types raise ValueError.
    """

    _active_ddp_module = None

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=None,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        skip_all_reduce_unused_params=False,
        bucket_cap_mb_list=None,
        batched_grad_copy=False,
        forward_sync_buffers=None,
    ):
        super().__init__()
        Joinable.__init__(self)
        self.logger = None
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same time."
            )
        for name, given in (
            ("mixed_precision", mixed_precision),
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
        ):
            if given is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not supported, on any device or dtype")
        self._choose_group(process_group, device_mesh)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._module_parameters = [p for n, p in module.named_parameters() if n not in self.parameters_to_ignore]
        self._check_parameters()
        self._choose_devices(device_ids, output_device)
        self.static_graph, self.dim, self.module = False, dim, module
        self.device = self._module_parameters[0].device
        init_sync_buffers = self._choose_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.batched_grad_copy, self.mixed_precision, self.skip_all_reduce_unused_params = (
            batched_grad_copy,
            None,
            skip_all_reduce_unused_params,
        )
        if check_reduction:
            warnings.warn(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. "
                "Please avoid using it.",
                FutureWarning,
                stacklevel=2,
            )
        for p in self._module_parameters:
            if isinstance(p, UninitializedParameter):
                raise RuntimeError(
                    "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. "
                    "Run a dummy forward pass to correctly initialize the modules"
                )
        self._first_bucket_bytes, self.bucket_bytes_cap, self._bucket_list = _limits(bucket_cap_mb, bucket_cap_mb_list)
        self.broadcast_bucket_size = 250 * _MB
        parameters, expect_sparse_gradient = self._build_params_for_reducer()
        if init_sync:
            _verify_param_shape_across_processes(self.process_group, parameters)
            _sync_module_states(
                module, self.process_group, self.broadcast_bucket_size, 0, self.parameters_to_ignore, init_sync_buffers
            )
        self._comm_hooks, self._has_rebuilt_buckets, self._ddp_sink_clone = [], False, True
        self._divide_by_initial_world_size = True
        self._ddp_init_helper(parameters, expect_sparse_gradient, static_graph)
        if static_graph:
            self._set_static_graph()

    # -- construction

    def _choose_group(self, process_group, device_mesh):
        if process_group and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is None:
            self.process_group = dist.distributed_c10d._get_default_group() if process_group is None else process_group
            return
        if device_mesh.ndim != 1:
            raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
        self.device_mesh, self.process_group = device_mesh, device_mesh.get_group(mesh_dim=0)

    def _check_parameters(self):
        if not any(p.requires_grad for p in self._module_parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        types = {p.device.type for p in self._module_parameters}
        if len(types) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, "
                f"but input module parameters locate in {types}."
            )
        (self.device_type,) = types
        self.is_multi_device_module = len({p.device for p in self._module_parameters}) > 1

    def _choose_devices(self, device_ids, output_device):
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        if device_ids and self.device_type != "cpu" and not self.is_multi_device_module:
            self.device_ids = [_get_device_index(d, True) for d in device_ids]
            self.output_device = _get_device_index(device_ids[0] if output_device is None else output_device, True)
            return
        if device_ids or output_device:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                f"single-device/multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, "
                f"output_device {output_device}, and module parameters "
                f"{ {p.device for p in self._module_parameters} }."
            )
        self.device_ids = self.output_device = None

    def _choose_buffers(self, broadcast_buffers, forward_sync_buffers):
        """Set forward_sync_buffers, and return whether to synchronize buffers at construction."""
        if broadcast_buffers is not None:
            if forward_sync_buffers is not None:
                text = (
                    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is "
                    "deprecated, its value is ignored."
                )
            else:
                text = (
                    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead, of which False, "
                    "unlike that of `broadcast_buffers`, still syncs buffers at the start."
                )
            warnings.warn(text, FutureWarning, stacklevel=3)
        if forward_sync_buffers is not None:
            self.forward_sync_buffers = forward_sync_buffers
            return True
        self.forward_sync_buffers = True if broadcast_buffers is None else broadcast_buffers
        return self.forward_sync_buffers

    @property
    def broadcast_buffers(self):
        """The old name of forward_sync_buffers."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value):
        self.forward_sync_buffers = value

    def _build_params_for_reducer(self):
        """Return the parameters that require gradients, and whether each will have a sparse gradient."""
        found = {}
        for module_name, module in self.module.named_modules():
            sparse = isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and module.sparse
            for name, p in module.named_parameters(recurse=False):
                full = f"{module_name}.{name}"
                if p.requires_grad and full not in self.parameters_to_ignore and p not in found:
                    found[p] = sparse, full
        self._names = [name for _, name in found.values()]
        self._assign_modules_buffers()
        return list(found), [sparse for sparse, _ in found.values()]

    def _assign_modules_buffers(self):
        """List the module's buffers again, because they may be replaced between two forward passes."""
        self.named_module_buffers = {
            name: b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore
        }
        self.modules_buffers = list(self.named_module_buffers.values())

    def _ddp_init_helper(self, parameters, expect_sparse_gradient, static_graph):
        rebuilt = self._bucket_list or [self._first_bucket_bytes, self.bucket_bytes_cap]
        # The order in which gradients become ready is unknown before the first backward, and always if parameters may
        # be unused.
        first = [1 << 62] if static_graph or not self.find_unused_parameters else rebuilt
        indices, limits = dist._compute_bucket_assignment_by_size(parameters, first, expect_sparse_gradient)
        self.reducer = dist.Reducer(
            parameters,
            indices[::-1],
            limits[::-1],
            self.process_group,
            expect_sparse_gradient,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            dict(enumerate(self._names)),
            self._first_bucket_bytes,
            self.skip_all_reduce_unused_params,
            False,
            rebuilt,
            self.batched_grad_copy,
        )
        self.logger = dist.Logger(self.reducer)
        self.reducer.set_logger(self.logger)
        has_sync_bn = any(isinstance(m, torch.nn.SyncBatchNorm) for m in self.module.modules())
        self.logger.set_construction_data_and_log(
            type(self.module).__name__,
            self.device_ids or [],
            -1 if self.output_device is None else self.output_device,
            self.forward_sync_buffers,
            has_sync_bn,
            static_graph,
        )

    def __getstate__(self):
        self._check_default_group()
        return {k: v for k, v in self.__dict__.items() if k not in ("process_group", "reducer", "logger")} | {
            "broadcast_buffers": self.forward_sync_buffers
        }

    def __setstate__(self, state):
        state = copy.copy(state)
        broadcast = state.pop("broadcast_buffers", True)
        state.setdefault("forward_sync_buffers", broadcast)
        self.process_group = dist.distributed_c10d._get_default_group()
        super().__setstate__(state)
        self._ddp_init_helper(*self._build_params_for_reducer(), self.static_graph)
        if self.static_graph:
            self.reducer._set_static_graph()
            self.logger._set_static_graph()

    def _check_default_group(self):
        if self.process_group != dist.group.WORLD:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, "
                "when you have called init_process_group and have not passed process_group argument to DDP constructor"
            )

    # -- forward

    @contextmanager
    def no_sync(self):
        """Context manager in which backward passes accumulate gradients without averaging them.

        The next pass outside of it averages the accumulated gradients. The forward pass must be inside as well.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @classmethod
    def _get_active_ddp_module(cls):
        """Return the replica whose forward is running."""
        return cls._active_ddp_module

    @contextmanager
    def _inside_ddp_forward(self):
        before, DistributedDataParallel._active_ddp_module = DistributedDataParallel._active_ddp_module, self
        try:
            yield
        finally:
            DistributedDataParallel._active_ddp_module = before

    def _pre_forward(self, *inputs, **kwargs):
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            self.reducer.prepare_for_forward()
        work = Join.notify_join_context(self)
        if work:
            self.reducer._set_forward_pass_work_handle(work, self._divide_by_initial_world_size)
        if torch.is_grad_enabled() and self.reducer._rebuild_buckets():
            logger.info("Reducer buckets have been rebuilt in this iteration.")
            self._has_rebuilt_buckets = True
        if self._check_sync_bufs_pre_fwd():
            self._sync_buffers()
        if self._join_config.enable:
            self._check_global_requires_backward_grad_sync(is_joined_rank=False)
        if self.device_ids:
            moved, named = _to_kwargs(inputs, kwargs, torch.device(self.device_type, self.device_ids[0]), False)
            return moved[0], named[0]
        return inputs, kwargs

    def _post_forward(self, output):
        if self._check_sync_bufs_post_fwd():
            self._sync_buffers()
        searching = self.find_unused_parameters and not self.static_graph
        if not (torch.is_grad_enabled() and self.require_backward_grad_sync):
            self.require_forward_param_sync = False
            return output
        self.require_forward_param_sync = True
        self.reducer.prepare_for_backward(list(_find_tensors(output)) if searching else [])
        if searching or (self.static_graph and not self._static_graph_delay_allreduce_enqueued):
            output = self._through_sink(output)
        return output

    def _through_sink(self, output):
        flat, spec = tree_flatten(output)
        followed = [i for i, t in enumerate(flat) if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        if followed:
            for i, t in zip(followed, _DDPSink.apply(weakref.ref(self), *(flat[i] for i in followed))):
                flat[i] = t
        return tree_unflatten(flat, spec)

    def forward(self, *inputs, **kwargs):
        """Run the module's forward on this process's share of the batch."""
        with torch.autograd.profiler.record_function("DistributedDataParallel.forward"):
            inputs, kwargs = self._pre_forward(*inputs, **kwargs)
            with self._inside_ddp_forward():
                output = self.module(*inputs, **kwargs)
            return self._post_forward(output)

    def to_kwargs(self, inputs, kwargs, device_id):
        """Move the arguments to a device."""
        return _to_kwargs(inputs, kwargs, torch.device(self.device_type, device_id), False)

    # -- buffers

    def will_sync_module_buffers(self):
        """Whether the next forward synchronizes the buffers."""
        return self.require_forward_param_sync and self.forward_sync_buffers and len(self.modules_buffers) > 0

    def _check_sync_bufs_post_fwd(self):
        hook = self.__dict__.get("buffer_hook")
        return (
            self.will_sync_module_buffers()
            and hook is not None
            and hook.buffer_comm_hook_location == _BufferCommHookLocation.POST_FORWARD
        )

    def _check_sync_bufs_pre_fwd(self):
        hook = self.__dict__.get("buffer_hook")
        return self.will_sync_module_buffers() and (
            hook is None or hook.buffer_comm_hook_location == _BufferCommHookLocation.PRE_FORWARD
        )

    def _find_common_rank(self, input_rank, rank_cond):
        """Return the largest rank whose condition holds, over all ranks."""
        rank = torch.tensor([input_rank if rank_cond else -1], device=self.device)
        dist.all_reduce(rank, op=dist.ReduceOp.MAX, group=self.process_group)
        return rank.item()

    def _sync_buffers(self):
        with torch.no_grad():
            # A rank that has run out of inputs has outdated buffers.
            source = self._find_common_rank(self._distributed_rank, True) if self._join_config.enable else 0
            self._assign_modules_buffers()
            with torch.autograd._unsafe_preserve_version_counter(tuple(self.modules_buffers)):
                self._sync_module_buffers(source)

    def _sync_module_buffers(self, authoritative_rank):
        hook = self.__dict__.get("buffer_hook")
        if hook is None:
            self._default_broadcast_coalesced(authoritative_rank=authoritative_rank)
            return
        futures = hook.buffer_comm_hook(hook.buffer_comm_hook_state, self.named_module_buffers)
        if futures is not None:
            self.reducer._install_post_backward_futures(futures)

    def _default_broadcast_coalesced(self, bufs=None, bucket_size=None, authoritative_rank=0):
        """Broadcast the buffers of the authoritative rank."""
        self._distributed_broadcast_coalesced(
            self.modules_buffers if bufs is None else bufs,
            self.broadcast_bucket_size if bucket_size is None else bucket_size,
            authoritative_rank,
        )

    def _distributed_broadcast_coalesced(self, tensors, buffer_size, authoritative_rank=0):
        dist._broadcast_coalesced(self.process_group, tensors, buffer_size, authoritative_rank)

    # -- uneven inputs

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """Context manager for a training loop in which the ranks have different numbers of inputs.

        Use it as ``with model.join():`` around the loop.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs):
        """Return the hook that runs after this replica has run out of inputs."""
        return _DDPJoinHook(self, divide_by_initial_world_size=kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self):
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self):
        """The process group."""
        return self.process_group

    def _check_global_requires_backward_grad_sync(self, is_joined_rank):
        """Tell the joined ranks whether gradients are averaged in this iteration.

        A rank that is still training only sends the information and gets None; a joined rank gets the answer.
        """
        syncs = torch.tensor([float(not is_joined_rank and self.require_backward_grad_sync)], device=self.device)
        work = dist.all_reduce(syncs, group=self.process_group, async_op=True)
        if not is_joined_rank:
            return None
        work.wait()
        return syncs.item() != 0

    def _check_and_sync_module_buffers(self):
        if self._check_sync_bufs_pre_fwd():
            self._sync_module_buffers(self._find_common_rank(self._distributed_rank, False))

    def _sync_final_model(self, is_last_joiner):
        self._authoritative_rank = self._find_common_rank(self._distributed_rank, is_last_joiner)
        _sync_module_states(
            self.module,
            self.process_group,
            self.broadcast_bucket_size,
            self._authoritative_rank,
            self.parameters_to_ignore,
            self.forward_sync_buffers,
        )

    def _match_all_reduce_for_bwd_pass(self):
        for future in [self.reducer._run_comm_hook(b) for b in self.reducer._get_zeros_like_grad_buckets()]:
            future.wait()

    def _match_unused_params_allreduce(self):
        dist.all_reduce(self.reducer._get_local_used_map(), group=self.process_group)
        self.reducer._get_local_used_map().zero_()

    # -- hooks

    def register_comm_hook(self, state, hook):
        """Use ``hook(state, bucket)`` to reduce the gradients of each bucket.

        It must return a Future of one tensor. A hook that is not callable raises TypeError, and wrong annotations raise
        ValueError.
        """
        self._check_comm_hook(hook)
        self.logger._set_comm_hook_name(hook.__qualname__)
        self._comm_hooks.append((hook, state))
        dist._register_comm_hook(self.reducer, state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type):
        """Use one of PyTorch's built-in hooks to reduce the gradients."""
        self.logger._set_comm_hook_name(str(comm_hook_type))
        dist._register_builtin_comm_hook(self.reducer, comm_hook_type)

    def _register_buffer_comm_hook(self, state, hook, comm_hook_location=_BufferCommHookLocation.POST_FORWARD):
        """Use ``hook(state, {name: buffer})`` to synchronize buffers."""
        if not callable(hook):
            raise AssertionError(f"hook must be callable, got {type(hook).__name__}")
        self.buffer_hook = _BufferCommHook(hook, state, comm_hook_location)

    def _log_and_throw(self, err_type, err_msg):
        """Raise an error after recording it in the logging data of this model."""
        if self.logger is not None:
            self.logger.set_error_and_log(f"{err_type}: {err_msg}")
        raise err_type(err_msg)

    def _check_comm_hook(self, hook):
        if not callable(hook):
            self._log_and_throw(TypeError, "Communication hook must be callable.")
        signature = inspect.signature(hook)
        bucket = signature.parameters["bucket"].annotation
        if bucket is not inspect.Parameter.empty and bucket != dist.GradBucket:
            self._log_and_throw(ValueError, "Communication hook: bucket annotation should be dist.GradBucket.")
        if (
            signature.return_annotation is not inspect.Parameter.empty
            and signature.return_annotation != torch.futures.Future[torch.Tensor]
        ):
            self._log_and_throw(
                ValueError, "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
            )

    # -- other internals that callers of PyTorch use

    @property
    def _distributed_rank(self):
        return dist.get_rank(self.process_group)

    @staticmethod
    def _get_data_parallel_params(module, named_params=False):
        """Yield the parameters whose gradients are averaged."""
        for p in module.named_parameters() if named_params else module.parameters():
            if not hasattr(p, "_ddp_ignored"):
                yield p

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        """Exclude the named parameters and buffers from synchronization; call it before wrapping the module."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if name in params_and_buffers_to_ignore:
                tensor._ddp_ignored = True

    def _get_ddp_logging_data(self):
        """Return the logging data about this model, its buckets and its group as a dict."""
        data = self.logger._get_ddp_logging_data()
        return {**data.strs_map, **data.ints_map}

    def _set_ddp_runtime_logging_sample_rate(self, sample_rate):
        if sample_rate < 1:
            raise ValueError("DDP runtime logging sample rate should be equal or greater than 1")
        self.reducer._set_ddp_runtime_logging_sample_rate(sample_rate)

    def _set_static_graph(self):
        """Declare that the graph, and the use of each parameter in it, is the same in all iterations."""
        if self.static_graph:
            warnings.warn("You've set static_graph to be True, no need to set it again.", stacklevel=2)
            return
        self.static_graph, self._static_graph_delay_allreduce_enqueued = True, False
        self.reducer._set_static_graph()
        self.logger._set_static_graph()
        if self.find_unused_parameters:
            warnings.warn(
                "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will detect "
                "unused parameters automatically, so you do not need to set find_unused_parameters=true, "
                "just be sure these unused parameters will not change during training loop while calling "
                "`_set_static_graph`.",
                stacklevel=2,
            )

    def _remove_autograd_hooks(self):
        """Remove the reducer's hooks from the parameters."""
        self.reducer._remove_autograd_hooks()

    def _check_reducer_finalized(self):
        """Raise RuntimeError if the last backward did not reach all parameters."""
        self.reducer._check_reducer_finalized()

    def _update_process_group(self, new_process_group):
        """Average gradients over another process group from now on."""
        self._has_rebuilt_buckets = False
        self.reducer._reset_state()
        if not dist._rank_not_in_group(new_process_group):
            self.process_group = new_process_group
            self.reducer._update_process_group(new_process_group)

    def _set_ddp_sink_clone(self, val):
        """Set whether _DDPSink copies the outputs, which is needed if they are changed in-place."""
        self._ddp_sink_clone = val
