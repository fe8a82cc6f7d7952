"""Functional collectives on two ranks."""

import torch
import torch.distributed as dist


def numbers(rank, *shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float32) + 10 * rank).reshape(shape)


def functional(rank, size):
    """Every function, its group given in several ways; what all ranks get."""
    import torch.distributed._functional_collectives as f

    group, mesh = dist.group.WORLD, dist.device_mesh.init_device_mesh("cpu", (size,))
    x = numbers(rank, 4, 2)
    found = [f.wait_tensor(f.all_reduce(x, op, group)) for op in ("sum", "max", "product")]
    found += [
        f.wait_tensor(f.all_reduce(x, "avg", mesh)),
        f.wait_tensor(f.all_reduce(x, "sum", (mesh, 0))),
        f.wait_tensor(f.broadcast(x, 1, group)),
    ]
    found += [f.wait_tensor(f.all_gather_tensor(x, d, group)) for d in (0, 1)]
    found += [f.wait_tensor(f.reduce_scatter_tensor(x, "sum", d, group)) for d in (0, 1)]
    sent, got = ([1, 3], [1, 2]) if rank == 0 else ([2, 2], [3, 2])
    found += [
        f.wait_tensor(f.all_to_all_single(x, None, None, group)),
        f.wait_tensor(f.all_to_all_single(x, got, sent, group)),
    ]
    found += [
        f.wait_tensor(f.permute_tensor(x.flatten(), [1, 0], group)),
        *map(f.wait_tensor, f.all_reduce_coalesced([x, x + 1], "sum", group)),
    ]
    for function in (
        lambda w: f.all_gather_tensor_autograd(w, 1, group),
        lambda w: f.reduce_scatter_tensor_autograd(w, "sum", 0, group),
        lambda w: f.all_to_all_single_autograd(w, got, sent, group),
    ):
        w = x.clone().requires_grad_()
        out = function(w)
        (out * numbers(rank, *out.shape)).sum().backward()
        found += [out.detach(), w.grad]
    return [t.tolist() for t in found]


def derivatives(rank, size):
    """The gradients of every function, and the errors of those that have none; operators by group, name and ranks."""
    import torch.distributed._functional_collectives as f

    group, found = dist.group.WORLD, []
    name, ranks = group.group_name, list(range(size))
    ops, old, x = torch.ops._c10d_functional, torch.ops.c10d_functional, numbers(rank, 4, 2)
    sent, got = ([1, 3], [1, 2]) if rank == 0 else ([2, 2], [3, 2])
    for function in (
        lambda w: f.all_reduce(w, "SUM", group),
        lambda w: f.broadcast(w, 1, group),
        *(lambda w, d=d: f.all_gather_tensor(w, d, group) for d in (0, 1)),
        *(lambda w, d=d: f.reduce_scatter_tensor(w, "sum", d, group) for d in (0, 1)),
        lambda w: f.all_to_all_single(w, got, sent, group),
        lambda w: f.permute_tensor(w.flatten(), [1, 0], group),
        lambda w: f.all_reduce_coalesced([w, x], "sum", group)[0],
        lambda w: f.all_gather_into_tensor_coalesced([x, w], group)[1],
        lambda w: f.reduce_scatter_tensor_coalesced([w, w], "sum", [1, 0], group)[0],
        lambda w: f.wait_tensor(w),
        lambda w: ops.wait_tensor(ops.all_reduce(w, "sum", group)),
        lambda w: ops.wait_tensor(torch.ops._c10d_functional_autograd.all_gather_into_tensor(w, size, name)),
        lambda w: old.wait_tensor(old.all_reduce(w, "sum", "", ranks, size)),
        lambda w: old.wait_tensor(old.all_to_all_single(w, None, None, "", ranks, size)),
        lambda w: f.all_reduce(w, "avg", group),
        lambda w: f.reduce_scatter_tensor(w, "avg", 0, group),
        lambda w: f.all_reduce(w, "concat", group),
        lambda w: ops.all_reduce(w, "SUM", name),
        lambda w: ops.all_reduce(w, "sum", "nobody"),
        lambda w: ops.all_reduce(w, "sum", 3),
    ):
        w = x.clone().requires_grad_()
        try:
            out = function(w)
            kind = type(out).__name__, type(out.grad_fn).__name__.replace("GeneratedBackwardFor__c10d_functional_", "")
            (out * numbers(rank, *out.shape)).sum().backward()
            found.append((*kind, out.tolist(), w.grad.tolist()))
        except RuntimeError as error:
            found.append(str(error))
    return [found[:1], *found[2:]]  # the name of a broadcast's derivative is another


def lazy(rank, size):
    """What waits for a collective: operators that are no views."""
    import torch.distributed._functional_collectives as f

    act = f.all_reduce(numbers(rank, 4, 2), "sum", dist.group.WORLD)
    views = [type(v).__name__ for v in (act.view(2, 4), act.t(), act[0], act.split(2)[0], act.detach())]
    before = act.completed
    after = type(act.view(2, 4) + 1).__name__, (act + 1).tolist(), act.completed
    inner, context = act.__tensor_flatten__()
    return views, before, after, inner, context, repr(act), act.tolist(), act.trigger_wait() is act.elem


class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "c10d" in str(func):
            self.found.append((str(func), len(args)))
        return func(*args, **(kwargs or {}))


class Doubled(torch.Tensor):
    """A wrapper of two tensors that hands a collective on to both, as quantized tensors do."""

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)

    def __init__(self, a, b):
        self.a, self.b = a, b

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def part(x, name):
            if isinstance(x, (list, tuple)):
                return [part(e, name) for e in x]
            return getattr(x, name) if isinstance(x, cls) else x

        a, b = (func(*(part(x, name) for x in args), **(kwargs or {})) for name in "ab")
        return a if not isinstance(a, torch.Tensor) else cls(a, b)


def dispatched(rank, size):
    """What a mode and a tensor subclass see of collectives, and that they may carry them out."""
    import torch.distributed._functional_collectives as f

    x, seen = numbers(rank, 4, 2), Seen()
    with seen:
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        dist.reduce(x, 1)
        dist.all_gather([torch.empty(4, 2), torch.empty(4, 2)], x)
        dist.all_gather_into_tensor(torch.empty(8, 2), x)
        dist.scatter(torch.empty(4, 2), [x, x + 1] if rank == 0 else None, 0)
        dist.gather(x, [torch.empty(4, 2), torch.empty(4, 2)] if rank == 0 else None, 0)
        dist.reduce_scatter_tensor(torch.empty(2, 2), x)
        dist.all_to_all_single(torch.empty(4, 2), x)
        dist.barrier()
        dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
        dist.send(x, 0) if rank == 1 else dist.recv(x)
        f.wait_tensor(f.all_reduce(x, "sum", dist.group.WORLD))
        f.wait_tensor(f.broadcast(x, 0, dist.group.WORLD))
    pair = Doubled(numbers(rank, 2), -numbers(rank, 2))
    dist.all_reduce(pair)
    gathered = f.wait_tensor(f.all_gather_tensor(Doubled(numbers(rank, 2), -numbers(rank, 2)), 0, dist.group.WORLD))
    out = Doubled(torch.empty(2), torch.empty(2))
    dist.scatter(out, [Doubled(numbers(k, 2), -numbers(k, 2)) for k in (3, 5)] if rank == 0 else None, 0)
    # nobody waits for the collective on the other tensor of `pair` and `out`
    return (
        seen.found,
        pair.a.tolist(),
        out.a.tolist(),
        gathered.a.tolist(),
        gathered.b.tolist(),
        type(gathered).__name__,
    )
