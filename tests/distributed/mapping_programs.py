"""Functions over plain tensors on the pieces of distributed ones, for both torches. Results are plain Python."""

import torch
from mesh_programs import attempt, numbers, plain
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import local_map


def mapped(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    rows, columns, whole = [Shard(0)], [Shard(1)], [Replicate()]
    x = distribute_tensor(numbers(4, 6), mesh, columns).requires_grad_()
    w = distribute_tensor(numbers(6, 2), mesh, rows).requires_grad_()

    def product(a, b):
        return a @ b

    def several(a, n):
        return a * n, n, a.sum(0, keepdim=True)

    summed = local_map(product, out_placements=[Partial()], in_placements=(columns, rows))
    out = summed(x, w)
    out.redistribute(placements=whole).to_local().sin().sum().backward()
    found = [plain(out), plain(x.grad), plain(w.grad)]
    many = local_map(several, out_placements=(columns, None, columns), in_placements=(columns, None))
    found.append([plain(v) for v in many(x, 3)])
    moving = local_map(
        product, out_placements=rows, in_placements=(rows, whole), device_mesh=mesh, redistribute_inputs=True
    )
    found.append(plain(moving(x, w)))

    @local_map(out_placements=columns)
    def doubled(a):
        return a * 2

    found += [plain(doubled(x)), plain(doubled(torch.ones(2)))]
    hinted = local_map(product, [Partial()], (columns, rows), (columns, rows))
    found.append(plain(hinted(x, w)))
    wrong = [
        lambda: local_map(product, rows, (rows, rows))(x, w),
        lambda: local_map(product, rows, (rows,))(x, w),
        lambda: local_map(product, rows, (columns, None))(x, w),
        lambda: local_map(several, rows, (columns, None))(x, 3),
        lambda: local_map(several, (columns, columns, columns), (columns, None))(x, 3),
        lambda: local_map(several, (columns, None, columns), (columns, columns))(x, 3),
        lambda: local_map(lambda a: x, columns)(x),
    ]
    return [*found, *(str(attempt(f))[:40] for f in wrong)]
