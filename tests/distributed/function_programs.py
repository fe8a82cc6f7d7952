"""Programs of collectives as functions, for both torches. Results are plain Python."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as with_gradients
from mesh_programs import attempt, plain
from torch.distributed.device_mesh import init_device_mesh


def functions(rank, size):
    x = torch.arange(8.0).view(4, 2) + rank
    mesh = init_device_mesh("cpu", (size,))
    programs = {
        "all_reduce": lambda: functional.all_reduce(x, "sum", dist.group.WORLD) + 1,
        "max": lambda: functional.all_reduce(x, "max", mesh),
        "gather": lambda: functional.all_gather_tensor(x, 0, (mesh, 0)),
        "gather1": lambda: functional.all_gather_tensor(x, 1, mesh),
        "scatter": lambda: functional.reduce_scatter_tensor(x, "sum", 0, mesh),
        "scatter1": lambda: functional.reduce_scatter_tensor(x, "avg", 1, mesh),
        "broadcast": lambda: functional.broadcast(x, 1, mesh),
        "exchange": lambda: functional.all_to_all_single(x, None, None, mesh),
        "permuted": lambda: functional.permute_tensor(x.view(-1), [1, 0], mesh),
        "waits": lambda: functional.wait_tensor(functional.all_reduce(x, "sum", mesh)),
        "kind": lambda: type(functional.all_reduce(x, "sum", mesh)).__name__,
    }
    return {name: attempt(f) for name, f in programs.items()}


def gradients(rank, size):
    mesh = init_device_mesh("cpu", (size,))

    def of(f):
        x = (torch.arange(8.0).view(4, 2) + rank).requires_grad_()
        y = f(x)
        y = torch.cat([t.reshape(-1) for t in y]) if isinstance(y, tuple) else y
        scale = torch.arange(float(y.numel())).view(y.shape) * (rank + 1)
        (y * scale).sum().backward()
        return plain([y, x.grad])

    programs = {
        "all_reduce": lambda x: with_gradients.all_reduce(x * x),
        "broadcast": lambda x: with_gradients.broadcast(x * 2, 1),
        "all_gather": lambda x: with_gradients.all_gather(x),
        "gather": lambda x: with_gradients.gather(x, 1),
        "scatter": lambda x: with_gradients.scatter([x, x * 2], 0),
        "reduce": lambda x: with_gradients.reduce(x, 0) * (1 - rank),  # elsewhere it is not defined
        "reduce_scatter": lambda x: with_gradients.reduce_scatter(torch.zeros(4, 2), [x, x * 3]),
        "all_to_all": lambda x: with_gradients.all_to_all([torch.zeros(4, 2), torch.zeros(4, 2)], [x, x * 5]),
        "all_to_all_single": lambda x: with_gradients.all_to_all_single(torch.zeros(4, 2), x),
        "gathered": lambda x: functional.all_gather_tensor_autograd(x, 1, mesh),
        "scattered": lambda x: functional.reduce_scatter_tensor_autograd(x, "sum", 0, mesh),
        "exchanged": lambda x: functional.all_to_all_single_autograd(x, [2, 2], [2, 2], mesh),
    }
    return {name: attempt(lambda: of(f)) for name, f in programs.items()}
