"""The gradient reducer of DistributedDataParallel: it reduces gradients across processes while backward runs."""

import os
import time
import warnings
import weakref
from types import SimpleNamespace

import torch

from ._types import (
    AllgatherOptions,
    AllreduceOptions,
    BroadcastOptions,
    BuiltinCommHookType,
    DebugLevel,
    get_debug_level,
)

__all__ = ["GradBucket", "Logger", "Reducer"]
_DEFAULT_FIRST_BUCKET_BYTES = 1 << 20
_DEFAULT_BUCKET_BYTES = 25 << 20


def _nbytes(tensor):
    return tensor.numel() * tensor.element_size()


def _compute_bucket_assignment_by_size(
    tensors, bucket_size_limits, expect_sparse_gradient=(), tensor_indices=(), logger=None
):
    """Assign tensors to buckets; return the tensor indices of each bucket, and each bucket's size limit.

    All tensors of a bucket have the same dtype and device. A bucket is full when its size reaches its limit in bytes;
    the limits are used in order, and the last one is repeated. A tensor for which a sparse gradient is expected gets
    its own bucket.
    """
    if not tensors:
        raise RuntimeError("tensors.size() > 0")
    numbers = list(tensor_indices) or list(range(len(tensors)))
    done, open_buckets, used = [], {}, {}
    for i, tensor in zip(numbers, tensors):
        if expect_sparse_gradient and expect_sparse_gradient[i]:
            done.append(([i], 0))
            continue
        key = tensor.dtype, tensor.device
        indices, size = open_buckets.get(key, ([], 0))
        indices, size = [*indices, i], size + _nbytes(tensor)
        limit = bucket_size_limits[min(used.get(key, 0), len(bucket_size_limits) - 1)]
        if size >= limit:
            done.append((indices, limit))
            used[key], indices, size = used.get(key, 0) + 1, [], 0
        open_buckets[key] = indices, size
    for key, (indices, _) in open_buckets.items():
        if indices:
            done.append((indices, bucket_size_limits[min(used.get(key, 0), len(bucket_size_limits) - 1)]))
    if not tensor_indices:  # sort by the first tensor of each bucket; given indices are already in gradient order
        done.sort(key=lambda found: min(found[0]))
    return [indices for indices, _ in done], [limit for _, limit in done]


def _coalesced(tensors, buffer_size):
    """Split tensors into lists of one dtype and device, each of at most about ``buffer_size`` bytes."""
    lists = {}
    for t in tensors:
        of_kind = lists.setdefault((t.dtype, t.device), [[]])
        if of_kind[-1] and sum(map(_nbytes, of_kind[-1])) + _nbytes(t) > buffer_size:
            of_kind.append([])
        of_kind[-1].append(t)
    return [tensors for of_kind in lists.values() for tensors in of_kind]


def _broadcast_coalesced(process_group, tensors, buffer_size, src=0):
    """Broadcast tensors from rank ``src`` of the group, with few messages for many tensors."""
    with torch.no_grad():
        flying = []
        for together in _coalesced([t.detach() for t in tensors], buffer_size):
            flat = torch.cat([t.reshape(-1) for t in together])
            flying.append((together, flat, process_group.broadcast([flat], BroadcastOptions(rootRank=src))))
        for together, flat, work in flying:
            work.wait()
            if process_group.rank() != src:
                for t, piece in zip(together, flat.split([t.numel() for t in together])):
                    t.copy_(piece.view(t.shape))


def _all_gathered(process_group, numbers):
    """Gather a list of integers, of the same length on all ranks, from every rank."""
    mine = torch.tensor(numbers, dtype=torch.int64, device=process_group._default_device())
    everything = [torch.empty_like(mine) for _ in range(process_group.size())]
    process_group.allgather([everything], [mine], AllgatherOptions()).wait()
    return [t.tolist() for t in everything]


def _verify_params_across_processes(process_group, params, logger=None):
    """Raise RuntimeError on all ranks if their parameters differ in number, shape, strides or dtype."""
    rank = process_group.rank()
    described = [
        (list(p.shape), list(p.stride()), torch._utils._element_size(p.dtype) << 1 | p.is_floating_point())
        for p in params
    ]
    flat = [n for sizes, strides, dtype in described for n in (len(sizes), dtype, *sizes, *strides)]
    counts = _all_gathered(process_group, [len(params), len(flat)])
    other = next((r for r in range(len(counts)) if counts[r][0] != counts[0][0]), None)
    if other is not None:
        raise RuntimeError(
            f"DDP expects same model across all ranks, but Rank {rank} has {len(params)} params, "
            f"while rank {other if rank != other else 0} has inconsistent {counts[other if rank != other else 0][0]} "
            "params."
        )
    longest = max(length for _, length in counts)
    every = _all_gathered(process_group, flat + [-1] * (longest - len(flat)))
    different = next((r for r in range(len(every)) if every[r] != every[0]), None)
    if different is None:
        return
    against = 0 if rank else different
    if every[against] == every[rank]:
        raise RuntimeError(
            f"DDP expects same model across all ranks, but the parameters of rank {different} and rank 0 differ; "
            f"those of rank {rank} do not"
        )
    position = 0
    for i, (sizes, strides, dtype) in enumerate(described):
        mine = [len(sizes), dtype, *sizes, *strides]
        if every[against][position : position + len(mine)] != mine:
            raise RuntimeError(
                f"[{rank}]: params[{i}] in this process with sizes {sizes}, strides {strides} and dtype "
                f"{params[i].dtype} appears not to match the same param in process {against}."
            )
        position += len(mine)


class _Bucket:
    """A bucket of gradients: a flat tensor with a view for each parameter, or a single sparse gradient."""

    __slots__ = ("indices", "params", "limit", "sparse", "flat", "views", "pending", "future", "gradient")

    def __init__(self, indices, params, limit, sparse):
        self.indices, self.params, self.limit, self.sparse = list(indices), params, limit, sparse
        self.flat, self.views, self.pending, self.future, self.gradient = None, [], 0, None, None
        if not sparse:
            self.flat = torch.zeros(sum(p.numel() for p in params), dtype=params[0].dtype, device=params[0].device)
            self.views = _views(self.flat, params)


def _views(flat, params):
    """Return views of a flat tensor with the shapes of parameters.

    A view has its parameter's strides if those are dense, as gradients do.
    """
    found = []
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        dense = p.numel() and torch.empty_like(p).stride() == p.stride()
        found.append(
            piece.as_strided(p.shape, p.stride(), piece.storage_offset())
            if dense and not p.is_contiguous()
            else piece.view(p.shape)
        )
    return found


class GradBucket:
    """The argument of a communication hook: the gradients of a bucket, as a flat tensor and for each parameter."""

    def __init__(self, index, buffer, parameters, is_last):
        self._index, self._buffer, self._parameters, self._last = index, buffer, parameters, is_last

    def index(self):
        """Return the bucket's index, in the order in which buckets are reduced."""
        return self._index

    def buffer(self):
        """Return all gradients as one flat 1D tensor."""
        return self._buffer

    def gradients(self):
        """Return a view of the buffer for each parameter."""
        return [self._buffer] if self._buffer.is_sparse else _views(self._buffer, self._parameters)

    def parameters(self):
        """Return the bucket's parameters."""
        return list(self._parameters)

    def is_last(self):
        """Whether this is the last bucket of an iteration."""
        return self._last

    def set_buffer(self, buffer):
        """Replace the buffer."""
        self._buffer = buffer


class Reducer:
    """Reduces the gradients of parameters across processes during backward.

    A bucket is reduced as soon as all of its gradients are ready; buckets are reduced in the same order on all ranks.
    """

    def __init__(
        self,
        params,
        bucket_indices,
        per_bucket_size_limits,
        process_group,
        expect_sparse_gradients=(),
        bucket_bytes_cap=_DEFAULT_BUCKET_BYTES,
        find_unused_parameters=False,
        gradient_as_bucket_view=False,
        param_to_name_mapping=None,
        first_bucket_bytes_cap=_DEFAULT_FIRST_BUCKET_BYTES,
        skip_all_reduce_unused_params=False,
        use_python_reducer=False,
        bucket_bytes_cap_list=(),
        batched_grad_copy=False,
    ):
        self.params, self.group = list(params), process_group
        if not self.params:
            raise RuntimeError("Expected at least one parameter.")
        self.sparse = list(expect_sparse_gradients) or [False] * len(self.params)
        self.limits = list(bucket_bytes_cap_list) or [first_bucket_bytes_cap, bucket_bytes_cap]
        self.find_unused, self.as_view, self.names = (
            find_unused_parameters,
            gradient_as_bucket_view,
            dict(param_to_name_mapping or {}),
        )
        self.skip_unused = skip_all_reduce_unused_params
        self.static, self.iteration, self.logger, self.hook, self.extra_futures = False, 0, None, None, []
        self.used = torch.zeros(len(self.params), dtype=torch.int32)
        self.nodes = [torch.autograd.graph.get_gradient_edge(p).node for p in self.params]
        me = weakref.ref(self)  # weak, because a parameter's node lives as long as the parameter
        self.handles = [n.register_hook(_watcher(me, i)) for i, n in enumerate(self.nodes)]
        self.hook_counts, self.hooks_left = [0] * len(self.params), []
        self.join_work, self.divide_statically = None, True
        self.times, self.sampled, self.totals, self.samples, self.sample_rate = {}, (0, {}), {}, 0, 100
        self._reset_state()
        self._make_buckets(bucket_indices, per_bucket_size_limits)

    def __del__(self):
        for handle in getattr(self, "handles", ()):
            handle.remove()

    def _make_buckets(self, bucket_indices, limits):
        if any(self.params[i].dtype is not self.params[b[0]].dtype for b in bucket_indices for i in b):
            raise RuntimeError("All parameters in a bucket must have the same dtype.")
        self.buckets = [
            _Bucket(b, [self.params[i] for i in b], limit, self.sparse[b[0]])
            for b, limit in zip(bucket_indices, limits)
        ]
        self.places = {i: (bucket, k) for bucket in self.buckets for k, i in enumerate(bucket.indices)}

    def _reset_state(self):
        """Reset the state to that before the first iteration."""
        self.expecting, self.unfinished, self.marked_unused, self.next_bucket = False, False, False, 0
        self.ready, self.unused, self.order, self.rebuilt, self.divisor = set(), [], [], False, None
        self.used_work = None

    def _update_process_group(self, new_process_group):
        self.group = new_process_group

    def _remove_autograd_hooks(self):
        for handle in self.handles:
            handle.remove()

    def set_logger(self, logger):
        """Store a weak reference to the logger."""
        self.logger = weakref.ref(logger)

    def _set_static_graph(self):
        if self.iteration:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after DistributedDataParallel "
                "is constructed"
            )
        self.static = True

    def _ddp_graph_static(self):
        return self.static

    def _set_ddp_runtime_logging_sample_rate(self, rate):
        self.sample_rate = rate

    def _set_forward_pass_work_handle(self, work, use_static_world_size):
        self.join_work, self.divide_statically = work, use_static_world_size

    def _install_post_backward_futures(self, futures):
        self.extra_futures += futures

    # -- an iteration

    @property
    def _first_static(self):
        return self.static and self.iteration == 1

    @property
    def _searching(self):
        return self.find_unused and not self.static

    def prepare_for_forward(self):
        """Count the iteration, and record the timings of the last one."""
        done, last, self.times = self.iteration, self.times, {"forward": time.perf_counter_ns()}
        if "end" in last and (done <= 10 or done % self.sample_rate == 0):
            self.sampled = done, _durations(last)
            for name, took in self.sampled[1].items():
                self.totals[name] = self.totals.get(name, 0) + took
            self.samples += 1
        self.iteration += 1

    def prepare_for_backward(self, outputs):
        """Start to expect gradients.

        If unused parameters are searched, those that the outputs do not depend on are marked as unused.
        """
        self._check_finished()
        self.times["backward"] = time.perf_counter_ns()
        self.expecting, self.marked_unused, self.next_bucket, self.divisor = True, False, 0, None
        self.ready.clear()
        self.hooks_left = list(self.hook_counts)
        for bucket in self.buckets:
            bucket.pending, bucket.future = len(bucket.indices), None
        if self._searching:
            outputs = [outputs] if isinstance(outputs, torch.Tensor) else outputs
            reached = _reachable([t.grad_fn if t.grad_fn is not None else t for t in outputs])
            self.unused = [i for i, n in enumerate(self.nodes) if n not in reached]
            if not self.unused and self.iteration == 1:
                warnings.warn(
                    "find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
                    "parameters in the forward pass. This flag results in an extra traversal of the autograd graph "
                    "every iteration, which can adversely affect performance. If your model indeed never has any "
                    "unused parameters in the forward pass, consider turning this flag off.",
                    stacklevel=3,
                )

    def _mark_unused_outputs(self, given, missing):
        """At the start of backward, find the parameters that only outputs without a gradient depend on.

        They are marked as unused.
        """
        if not (self.expecting and self._searching):
            return
        reached, behind = _reachable(given), _reachable(missing)
        self.unused = list(
            dict.fromkeys([*self.unused, *(i for i, n in enumerate(self.nodes) if n in behind and n not in reached)])
        )

    def _autograd_hook(self, index):
        """Handle a parameter's gradient when it has been accumulated."""
        has_gradient = self.params[index].grad is not None
        if has_gradient and (self._searching or self._first_static):
            self.used[index] = 1
        if not self.expecting:  # for example inside no_sync
            return
        self.unfinished = True
        if self._first_static:
            self.hook_counts[index] += 1
            if self.hook_counts[index] == 1:
                self.order.append(index)
            return
        if not self.marked_unused:
            self.marked_unused = True
            for i in self.unused:
                self._mark_ready(i)
        if not self.static:
            self._mark_ready(index)
            return
        self.hooks_left[index] -= 1
        if self.hooks_left[index] == 0:
            self._mark_ready(index)

    def _delay_all_reduce(self):
        """Finish backward in the first iteration of a static graph.

        Now it is known how many times each gradient is accumulated.
        """
        if not self.expecting:
            return
        self.unfinished, self.marked_unused = True, True
        self.unused = [i for i, count in enumerate(self.hook_counts) if count == 0]
        for bucket in self.buckets:
            for i in bucket.indices:
                self._mark_ready(i)
        self.order += self.unused

    def _mark_ready(self, index):
        if index in self.ready:
            self._fail_twice(index)
        self.ready.add(index)
        if not (self.rebuilt or self._searching or self.static):
            self.order.append(index)
        bucket, place = self.places[index]
        with torch.no_grad():
            self._take(bucket, place)
        bucket.pending -= 1
        while self.next_bucket < len(self.buckets) and self.buckets[self.next_bucket].pending == 0:
            self._launch(self.next_bucket)
            self.next_bucket += 1
        if self.next_bucket == len(self.buckets) and len(self.ready) == len(self.params):
            if self._searching or self._first_static:
                self.used_everywhere = self.used.to(self.group._default_device())
                self.used_work = self.group.allreduce([self.used_everywhere], AllreduceOptions())
            torch.autograd.Variable._execution_engine.queue_callback(self._finalize)

    def _take(self, bucket, place):
        """Copy a gradient to its bucket."""
        param = bucket.params[place]
        grad = param.grad
        if bucket.sparse:
            if grad is None:
                grad = torch.sparse_coo_tensor(
                    torch.empty(1, 0, dtype=torch.int64), param.new_empty((0, *param.shape[1:])), param.shape
                )
            elif not grad.is_sparse:
                raise RuntimeError(
                    "Expected variable to have sparse gradient: the layer that has it was made with sparse=True, "
                    "but its gradient is a dense tensor"
                )
            bucket.gradient = grad
            return
        view = bucket.views[place]
        if grad is None:
            view.zero_()
            return
        if grad.is_sparse:
            raise RuntimeError("Encountered a sparse gradient: this parameter was expected to have a dense one")
        if grad.requires_grad:
            warnings.warn(
                "Using DistributedDataParallel with create_graph=True is not well-supported. The higher-order gradient "
                "will not be synchronized across ranks, and backpropagation through all_reduce operations will not "
                "occur.",
                stacklevel=2,
            )
            grad = grad.detach()
        if grad.data_ptr() != view.data_ptr() or not view.numel():
            view.copy_(grad)
            if self.as_view:
                param.grad = view

    def _divide(self):
        """Return the divisor of gradients: the number of ranks, or of the ranks that still have inputs."""
        if self.divisor is None:
            self.divisor = self.group.size()
            if self.join_work is not None and not self.divide_statically:
                self.join_work.wait()
                self.divisor = int(self.join_work.result()[0].item())
        return self.divisor

    def _grad_bucket(self, index, tensor):
        return GradBucket(index, tensor, self.buckets[index].params, index == len(self.buckets) - 1)

    def _launch(self, index):
        bucket = self.buckets[index]
        if self.skip_unused and all(i in self.unused for i in bucket.indices):
            return
        self.times.setdefault("sending", time.perf_counter_ns())
        bucket.future = self._run_comm_hook(self._grad_bucket(index, bucket.gradient if bucket.sparse else bucket.flat))

    def _run_comm_hook(self, bucket):
        """Reduce a bucket with the registered hook, or by an averaging all_reduce."""
        with torch.no_grad():
            if self.hook is not None:
                state, hook = self.hook
                future = hook(state, bucket)
                if not hasattr(future, "wait"):
                    kind = f"{type(future).__module__}.{type(future).__qualname__}"
                    raise RuntimeError(
                        f"DDP communication hook's callback must return a torch.futures.Future object, but got {kind}"
                    )
                return future
            return self._run_allreduce_hook(bucket)

    def _run_allreduce_hook(self, bucket):
        tensor = bucket.buffer()
        divisor = self._divide()
        if tensor.is_sparse:
            tensor = tensor.coalesce() / divisor
        elif divisor != 1:
            tensor.mul_(1.0 / divisor)
        return self.group.allreduce([tensor], AllreduceOptions()).get_future()

    def _finalize(self):
        """At the end of backward, wait for the reductions and write the results to the parameters' gradients."""
        self.expecting = self.unfinished = False
        self.times["computed"] = time.perf_counter_ns()
        with torch.no_grad():
            for bucket in self.buckets:
                if bucket.future is not None:
                    self._give_back(bucket, _result(bucket.future.wait()))
                    bucket.future = bucket.gradient = None
            for future in self.extra_futures:
                future.wait()
            self.extra_futures = []
            if self.used_work is not None:
                self.used_work.wait()
                self.used_work = None
                if not self.static:  # a static graph uses the same parameters in all iterations
                    self.used.zero_()
        self.times["end"] = time.perf_counter_ns()

    def _give_back(self, bucket, result):
        if bucket.sparse:
            bucket.params[0].grad.copy_(result)
            return
        if result.data_ptr() != bucket.flat.data_ptr() and result.numel():
            bucket.flat.copy_(result.view(bucket.flat.shape))
        for i, param, view in zip(bucket.indices, bucket.params, bucket.views):
            if self._nowhere_used(i):
                continue
            if self.as_view:
                if param.grad is None or param.grad.data_ptr() != view.data_ptr():
                    param.grad = view
            elif param.grad is None:
                param.grad = torch.empty_like(param).copy_(view)
            elif param.grad.requires_grad:
                param.grad = param.grad.detach().copy_(view)
            else:
                param.grad.copy_(view)

    def _nowhere_used(self, index):
        """Whether no rank used a parameter. Its gradient is then left unchanged."""
        if not (self.find_unused or self.static) or self.used[index]:
            return False
        if self.used_work is not None:
            self.used_work.wait()
        return not self.used[index]

    # -- errors

    def _name(self, index):
        return f"Parameter at index {index}" + (f" with name {self.names[index]}" if index in self.names else "")

    def _fail_twice(self, index):
        self._fail(
            "Expected to mark a variable ready only once. Either a parameter is used outside of `forward`, "
            "or by several forward and backward passes at a time, or several reentrant backward passes (as those of "
            "`checkpoint`) share it. `static_graph=True` (_set_static_graph()) allows these where the graph is the "
            f"same in all iterations. {self._name(index)} has been marked as ready twice. "
            "This means that multiple autograd engine hooks have fired for this particular parameter during this "
            "iteration."
        )

    def _fail(self, text):
        if self.logger is not None and self.logger() is not None:
            self.logger().set_error_and_log(text)
        raise RuntimeError(text)

    def _check_reducer_finalized(self):
        self._check_finished()

    def _check_finished(self):
        """Raise RuntimeError if the last backward left buckets without some of their gradients."""
        if not self.unfinished:
            return
        missing = [i for i in range(len(self.params)) if i not in self.ready]
        text = "Expected to have finished reduction in the prior iteration before starting a new one. "
        if self.static:
            text += (
                "This error indicates that your training graph has changed in this iteration: "
                "a parameter that was used in the first one was not used now. This is not compatible with "
                "static_graph set to True."
            )
        else:
            text += "This error indicates that your module has parameters that were not used in producing loss. "
            if self.find_unused:
                text += (
                    "Since `find_unused_parameters=True` is enabled, this likely means that not all `forward` "
                    "outputs participate in computing loss, or "
                )
            else:
                text += (
                    "You can enable unused parameter detection by passing the keyword argument "
                    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, "
                    "and by making sure all `forward` function outputs participate in calculating loss. Or "
                )
            text += (
                "the outputs could not be found in what `forward` returns (they may stand in lists, tuples, "
                "dicts and dataclasses)."
            )
        where = f"did not receive grad for rank {self.group.rank()}: "
        if get_debug_level() is not DebugLevel.OFF:
            text += f"\nParameters which {where}{', '.join(self.names.get(i, str(i)) for i in missing)}"
        text += f"\nParameter indices which {where}{' '.join(map(str, missing))}"
        if get_debug_level() is DebugLevel.OFF:
            text += (
                "\nWith the environment variable TORCH_DISTRIBUTED_DEBUG at INFO or DETAIL their names are printed, "
                "too."
            )
        self._fail(text)

    # -- buckets in the order in which gradients become ready

    def _rebuild_buckets(self):
        """Once, after the first iteration, rebuild the buckets in the order in which gradients became ready.

        Return True if they were rebuilt. All ranks use the order of rank 0.
        """
        self._check_finished()
        if self.rebuilt or self._searching or not self.order:
            return False
        if len(set(self.order)) != len(self.params):  # some gradients are missing, for example if backward had `inputs`
            self.order = []
            return False
        order, self.order, self.rebuilt = self.order, [], True
        indices, limits = _compute_bucket_assignment_by_size(
            [self.params[i] for i in order], self.limits, self.sparse, order
        )
        self._make_buckets(*self._as_rank_0(indices, limits))
        return True

    def _as_rank_0(self, indices, limits):
        width = 2 * len(self.params) + 1
        numbers = [len(indices), *(n for b, limit in zip(indices, limits) for n in (len(b), limit))] + [
            i for b in indices for i in b
        ]
        numbers += [0] * (width + len(self.params) - len(numbers))
        numbers = torch.tensor(numbers, dtype=torch.int64, device=self.group._default_device())
        self.group.broadcast([numbers], BroadcastOptions(rootRank=0)).wait()
        count, *rest = numbers.tolist()
        sizes, limits, flat = rest[: 2 * count : 2], rest[1 : 2 * count : 2], rest[2 * count :]
        starts = [sum(sizes[:k]) for k in range(count)]
        return [flat[s : s + n] for s, n in zip(starts, sizes)], limits

    def _push_all_rebuilt_params(self):
        """Set an arbitrary gradient order on a rank without inputs; the order of rank 0 is used anyway."""
        self.order = list(range(len(self.params)))

    # -- for a rank that has no inputs left but takes part in collectives

    def _get_zeros_like_grad_buckets(self):
        return [
            self._grad_bucket(
                i,
                torch.zeros_like(b.flat)
                if not b.sparse
                else torch.zeros(b.params[0].shape, dtype=b.params[0].dtype).to_sparse(1),
            )
            for i, b in enumerate(self.buckets)
        ]

    def _get_local_used_map(self):
        return self.used


def _watcher(reducer, index):
    def hook(_, gradients):
        alive = reducer()
        if alive is not None and gradients[0] is not None:  # without a gradient, the parameter counts as unused
            alive._autograd_hook(index)

    return hook


def _reachable(roots):
    """Return the graph nodes that are reachable from the given nodes or tensors."""
    seen = set()
    stack = [
        torch.autograd.graph.get_gradient_edge(r).node if isinstance(r, torch.Tensor) else r
        for r in roots
        if r is not None and _in_graph(r)
    ]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [following for following, _ in node.next_functions]
    return seen


def _in_graph(root):
    return not isinstance(root, torch.Tensor) or root.requires_grad


_VARIABLES = "master_addr master_port cuda_visible_devices gloo_socket_ifname gloo_device_transport".split()


def _durations(times):
    """Return the timings of an iteration in nanoseconds, under PyTorch's names."""
    sending = times.get("sending", times["end"])
    return {
        "forward_compute_time": times["backward"] - times["forward"],
        "backward_compute_time": times["computed"] - times["backward"],
        "backward_comm_time": times["end"] - sending,
        "backward_compute_comm_overlap_time": max(times["computed"] - sending, 0),
    }


def _result(value):
    """Return the tensor that a hook's future holds, directly or in a list of one."""
    return value[0] if isinstance(value, (list, tuple)) else value


def _register_comm_hook(reducer, state, comm_hook):
    """Register a hook that reduces the buckets."""
    if reducer.hook is not None:
        raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
    reducer.hook = state, comm_hook


def _register_builtin_comm_hook(reducer, comm_hook_type):
    """Register one of the hooks that PyTorch implements in C++."""
    from .algorithms.ddp_comm_hooks.default_hooks import allreduce_hook, fp16_compress_hook

    hooks = {BuiltinCommHookType.ALLREDUCE: allreduce_hook, BuiltinCommHookType.FP16_COMPRESS: fp16_compress_hook}
    _register_comm_hook(reducer, reducer.group, hooks[comm_hook_type])


class Logger:
    """The logging data of a DistributedDataParallel instance, as strings and integers."""

    def __init__(self, reducer):
        self._reducer, self._words, self._numbers = weakref.ref(reducer), {}, {}

    def set_construction_data_and_log(
        self, module_name, device_ids, output_device, broadcast_buffers, has_sync_bn, static_graph
    ):
        """Record the arguments with which the instance was created."""
        self._words |= {
            "module_name": module_name,
            "device_ids": ", ".join(map(str, device_ids)),
            "backend_name": self._reducer().group.name(),
        }
        self._numbers |= {
            "output_device": output_device,
            "broadcast_buffers": int(broadcast_buffers),
            "has_sync_bn": int(has_sync_bn),
        }
        if static_graph:
            self._set_static_graph()

    def set_error_and_log(self, error):
        """Record an error."""
        self._words["error"], self._numbers["has_error"] = error, 1

    def _set_comm_hook_name(self, name):
        self._words["comm_hook"] = name

    def _set_static_graph(self):
        self._numbers["static_graph"] = 1

    def _set_uneven_input_join(self):
        self._numbers["join_uneven_inputs"] = 1

    def _get_ddp_logging_data(self):
        """Return the data as an object with the dicts ``strs_map`` and ``ints_map``."""
        reducer = self._reducer()
        sizes = ", ".join(str(sum(map(_nbytes, b.params))) for b in reducer.buckets)
        words = {
            "bucket_sizes": sizes,
            "dtypes": ", ".join(
                dict.fromkeys(str(p.dtype).removeprefix("torch.").replace("float32", "float") for p in reducer.params)
            ),
            "torch_distributed_debug": os.environ.get("TORCH_DISTRIBUTED_DEBUG", "N/A"),
            **{name: os.environ.get(name.upper(), "N/A") for name in _VARIABLES},
        }
        if reducer.rebuilt:
            words |= {
                "rebuilt_bucket_sizes": sizes,
                "rebuilt_per_bucket_param_indices": ", ".join(" ".join(map(str, b.indices)) for b in reducer.buckets),
            }
        numbers = {
            "rank": reducer.group.rank(),
            "world_size": reducer.group.size(),
            "iteration": reducer.sampled[0],
            **reducer.sampled[1],
            **{f"avg_{name}": total // reducer.samples for name, total in reducer.totals.items()},
            "num_parameter_tensors": len(reducer.params),
            "total_parameter_size_bytes": sum(map(_nbytes, reducer.params)),
            "bucket_cap_bytes": reducer.limits[-1],
            "find_unused_parameters": int(reducer.find_unused),
            "gradient_as_bucket_view": int(reducer.as_view),
            "has_rebuilt_buckets": int(reducer.rebuilt),
            "num_buckets_reduced": len(reducer.buckets),
            "unused_parameter_size": sum(_nbytes(reducer.params[i]) for i in reducer.unused),
        }
        return SimpleNamespace(strs_map={**self._words, **words}, ints_map={**self._numbers, **numbers})


for _cls in (Reducer, GradBucket, Logger):
    _cls.__module__ = "torch._C._distributed_c10d"
