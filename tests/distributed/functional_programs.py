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
