"""Programs of meshes and distributed tensors, for both torches. Results are plain Python."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    zeros,
)
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


def plain(x):
    """Tensors as numbers that a rounding does not change; distributed ones with their placements and local shapes."""
    if isinstance(x, DTensor):
        return [str(p) for p in x.placements], list(x.to_local().shape), plain(x.full_tensor())
    if isinstance(x, torch.Tensor):
        return str(x.dtype), list(x.shape), [round(v, 4) + 0.0 for v in x.detach().double().flatten().tolist()]
    return [plain(y) for y in x] if isinstance(x, (list, tuple)) else x


def attempt(f):
    try:
        return plain(f())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def meshes(rank, size):
    found = []
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
    show = lambda m: [
        m.mesh.tolist(),
        m.ndim,
        m.shape,
        m.size(),
        m.mesh_dim_names,
        m.get_coordinate(),
        m.device_type,
        repr(m),
    ]
    ranks = lambda group: dist.get_process_group_ranks(group)
    found += [
        show(mesh),
        show(mesh["dp"]),
        show(mesh["tp"]),
        mesh["dp", "tp"] == mesh,
        mesh.get_local_rank("dp"),
        mesh["tp"].get_local_rank(),
    ]
    found += [
        ranks(mesh.get_group("dp")),
        ranks(mesh.get_group(1)),
        [ranks(g) for g in mesh.get_all_groups()],
        ranks(mesh["dp"].get_group()),
    ]
    flat = mesh._flatten("all")
    found += [show(flat), ranks(flat.get_group()), show(mesh["dp"]._get_root_mesh()), mesh.size(0), mesh.size(1)]
    line = init_device_mesh("cpu", (size,), mesh_dim_names=("world",))
    apart = line._unflatten(0, (2, size // 2), ("a", "b"))
    found += [
        show(line),
        show(apart),
        show(apart["b"]),
        ranks(apart["a"].get_group()),
        hash(line) == hash(init_device_mesh("cpu", (size,), mesh_dim_names=("world",))),
    ]
    given = DeviceMesh("cpu", torch.arange(size).flip(0))
    found += [
        show(given),
        ranks(given.get_group()),
        given.get_local_rank(),
        show(DeviceMesh.from_group(dist.group.WORLD, "cpu")),
    ]
    found += [
        show(DeviceMesh.from_group([mesh.get_group(0), mesh.get_group(1)], "cpu", mesh.mesh, mesh_dim_names=("x", "y")))
    ]
    errors = [
        lambda: mesh["no"],
        lambda: mesh["tp", "dp"],
        lambda: mesh.get_group(),
        lambda: mesh.get_local_rank(),
        lambda: init_device_mesh("cpu", (size + 1,)),
        lambda: init_device_mesh("cpu:0", (size,)),
        lambda: init_device_mesh("cpu", (size,), mesh_dim_names=("a", "b")),
        lambda: init_device_mesh("cpu", (1, size), mesh_dim_names=("a", "a")),
        lambda: DeviceMesh("cpu", torch.arange(size))["a"],
        lambda: DeviceMesh.from_group([], "cpu"),
        lambda: line._unflatten(0, (3, size), ("a", "b")),
    ]
    return found + [attempt(f) for f in errors]


def numbers(*shape, dtype=torch.float32):
    n = 1
    for s in shape:
        n *= s
    return ((torch.arange(float(n)) * 7 % 11 - 5) / 4).reshape(shape).to(dtype)


def moves(rank, size):
    """Every way of placing, and from each to each."""
    mesh, found = init_device_mesh("cpu", (size,)), {}
    placements = [Replicate(), Shard(0), Shard(1), Shard(-1)]
    for shape in ((4, 6), (5, 3), (1, 2)):
        x = numbers(*shape)
        for a in placements:
            placed = distribute_tensor(x, mesh, [a])
            for b in placements:
                found[shape, str(a), str(b)] = attempt(lambda: placed.redistribute(placements=[b]))
        summed = DTensor.from_local(x + rank, mesh, [Partial()])
        for b in placements:
            found[shape, "P", str(b)] = attempt(lambda: summed.redistribute(placements=[b]))
        for op in ("avg", "max", "min", "product"):
            found[shape, op] = attempt(lambda: DTensor.from_local(x + rank, mesh, [Partial(op)]).full_tensor())
    found["checked"] = attempt(lambda: DTensor.from_local(numbers(3) + rank, mesh, [Replicate()], run_check=True))
    found["uneven"] = attempt(
        lambda: (
            DTensor.from_local(numbers(3 - min(rank, 2), 2), mesh, [Shard(0)], shape=torch.Size((5, 2)), stride=(2, 1))
            if size == 2
            else 0
        )
    )
    found["made"] = attempt(lambda: [f(4, 3, device_mesh=mesh, placements=[Shard(0)]) for f in (ones, zeros)])
    found["full"] = attempt(lambda: full((5, 3), 2.5, device_mesh=mesh, placements=[Shard(1)]))
    found["empty"] = empty(3, 4, device_mesh=mesh, placements=[Shard(0)]).to_local().shape[1]
    found["errors"] = [
        attempt(f)
        for f in (
            lambda: distribute_tensor(numbers(4), mesh, [Shard(0), Shard(0)]),
            lambda: distribute_tensor(numbers(4), mesh, [Shard(0)]).redistribute(placements=[Partial()]),
            lambda: distribute_tensor(numbers(4), mesh, [Shard(0)]).redistribute(),
            lambda: distribute_tensor(numbers(4, 4), mesh, [Shard(0)]) + numbers(4, 4),
            lambda: DTensor.from_local(distribute_tensor(numbers(4), mesh, [Shard(0)]), mesh, [Shard(0)]),
        )
    ]
    return found


def moves_on_two_dimensions(rank, size):
    mesh, found = init_device_mesh("cpu", (2, size // 2)), {}
    lists = [(a, b) for a in (Replicate(), Shard(0), Shard(1)) for b in (Replicate(), Shard(0), Shard(1))]
    for shape in ((4, 8), (5, 3)):
        x = numbers(*shape)
        for a in lists:
            placed = distribute_tensor(x, mesh, a)
            for b in lists:
                found[shape, str(a), str(b)] = attempt(lambda: placed.redistribute(placements=b))
    return found


ELEMENTWISE = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 1),
    "numbers": lambda x, y: (x * 2 + 1) / 3 - y,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "chain": lambda x, y: F.gelu(x).relu() + torch.sigmoid(y).exp(),
    "pow": lambda x, y: x**2 + y.abs().sqrt(),
    "to": lambda x, y: x.double() + y.double(),
    "clone": lambda x, y: x.clone() + y.detach(),
    "softmax": lambda x, y: F.softmax(x, -1) + F.log_softmax(y, 0),
    "masked": lambda x, y: x.masked_fill(y > 0, 0.5),
    "clamp": lambda x, y: x.clamp(-1, 1) * torch.maximum(x, y),
    "broadcast": lambda x, y: x + y[:1],
}
REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum0": lambda x: x.sum(0),
    "sum1": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean(),
    "mean0": lambda x: x.mean(0),
    "max": lambda x: x.max(),
    "amax": lambda x: x.amax(1),
    "max1": lambda x: x.max(1)[0],
    "var": lambda x: x.var(0),
    "norm": lambda x: x.norm(),
    "norm1": lambda x: torch.linalg.vector_norm(x, dim=1),
    "argmax": lambda x: x.argmax(-1),
    "item": lambda x: x.sum().item(),
    "any": lambda x: (x > 1).any(),
}
VIEWS = {
    "view": lambda x: x.view(4, 2, 3),
    "flatten": lambda x: x.flatten(),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x.t() * 2,
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "expand": lambda x: x.unsqueeze(0).expand(3, 4, 6),
    "permute": lambda x: x.view(4, 2, 3).permute(2, 0, 1),
    "slice": lambda x: x[:, 1:4],
    "slice0": lambda x: x[1:3],
    "select": lambda x: x[:, 2],
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "stack": lambda x: torch.stack([x, x], 0),
    "chunk": lambda x: x.chunk(2, 1)[1],
    "split": lambda x: x.split(3, 0)[0],
    "cumsum": lambda x: x.cumsum(1),
    "tril": lambda x: x.tril(),
    "flip": lambda x: x.flip(1),
}
PRODUCTS = {
    "mm": lambda x, w: x @ w,
    "linear": lambda x, w: F.linear(x, w.t()),
    "bmm": lambda x, w: x.view(2, 2, 6) @ w,
    "linear3": lambda x, w: F.linear(x.view(2, 2, 6), w.t(), w[0]),
}


def _with_gradients(function, *xs):
    """The result, and the gradients for that of a weighted sum."""
    leaves = [x.detach().requires_grad_() for x in xs]
    y = function(*leaves)
    if not isinstance(y, DTensor) or not y.is_floating_point():
        return y
    whole = y.full_tensor()
    if whole.requires_grad:
        (whole * numbers(*whole.shape, dtype=whole.dtype)).sum().backward()
    return [y, *(leaf.grad if leaf.grad is None else leaf.grad.full_tensor() for leaf in leaves)]


def _each(table, mesh, operands, placements):
    found = {}
    for name, function in table.items():
        for chosen in placements:
            xs = [distribute_tensor(x, mesh, [p]) for x, p in zip(operands, chosen)]
            found[(name, *map(str, chosen))] = attempt(lambda: _with_gradients(function, *xs))
    return found


def elementwise(rank, size):
    kinds = (Replicate(), Shard(0), Shard(1))
    pairs = [(a, b) for a in kinds for b in kinds]
    return _each(ELEMENTWISE, init_device_mesh("cpu", (size,)), [numbers(4, 6), numbers(4, 6) * 0.5 + 0.25], pairs)


def reductions(rank, size):
    return _each(
        REDUCTIONS, init_device_mesh("cpu", (size,)), [numbers(4, 6)], [(Replicate(),), (Shard(0),), (Shard(1),)]
    )


def views(rank, size):
    return _each(VIEWS, init_device_mesh("cpu", (size,)), [numbers(4, 6)], [(Replicate(),), (Shard(0),), (Shard(1),)])


def products(rank, size):
    kinds = (Replicate(), Shard(0), Shard(1))
    return _each(
        PRODUCTS,
        init_device_mesh("cpu", (size,)),
        [numbers(4, 6), numbers(6, 4)],
        [(a, b) for a in kinds for b in kinds],
    )


def partial_values(rank, size):
    mesh, found = init_device_mesh("cpu", (size,)), {}
    make = lambda: DTensor.from_local(numbers(4, 6) + rank, mesh, [Partial()])
    whole = distribute_tensor(numbers(4, 6), mesh, [Replicate()])
    for name, f in {
        "add": lambda x: x + x,
        "mul": lambda x: x * 2,
        "relu": lambda x: x.relu(),
        "add whole": lambda x: x + whole,
        "mul whole": lambda x: x * whole,
        "sum": lambda x: x.sum(0),
        "view": lambda x: x.view(24),
        "mm": lambda x: x @ whole.t(),
        "neg": lambda x: -x,
        "div": lambda x: x / 4,
        "add number": lambda x: x + 1,
    }.items():
        found[name] = attempt(lambda: f(make()))
    return found


def layers(rank, size):
    """Layers with the batch in pieces, and in-place operators."""
    mesh, found = init_device_mesh("cpu", (size,)), {}
    torch.manual_seed(0)
    whole = lambda m: distribute_module(m, mesh)
    sharded = lambda *shape: distribute_tensor(numbers(*shape), mesh, [Shard(0)])
    labels = distribute_tensor(torch.arange(4) % 3, mesh, [Shard(0)])
    programs = {
        "linear": (torch.nn.Linear(6, 3), lambda m: m(sharded(4, 6))),
        "layer norm": (torch.nn.LayerNorm(6), lambda m: m(sharded(4, 6))),
        "embedding": (torch.nn.Embedding(5, 6), lambda m: m(labels)),
        "mlp": (
            torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)),
            lambda m: m(sharded(4, 2, 6)),
        ),
        "cross entropy": (torch.nn.Linear(6, 3), lambda m: F.cross_entropy(m(sharded(4, 6)), labels)),
        "cross entropy sum": (
            torch.nn.Linear(6, 3),
            lambda m: F.cross_entropy(m(sharded(4, 6)), labels, reduction="sum"),
        ),
        "mse": (torch.nn.Linear(6, 3), lambda m: F.mse_loss(m(sharded(4, 6)), sharded(4, 3))),
    }
    for name, (module, f) in programs.items():

        def go():
            y = f(whole(module))
            y.sum().backward()
            return [y.full_tensor()] + [p.grad.full_tensor() for p in module.parameters()]

        found[name] = attempt(go)
    for placement in (Replicate(), Shard(0), Shard(1)):

        def attend(causal):
            q, k, v = (
                distribute_tensor(numbers(2, 4, 3, 8) * scale, mesh, [placement]).requires_grad_()
                for scale in (1, 0.5, 2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            (y * y).sum().backward()
            return [y, q.grad, v.grad]

        found["attention", str(placement)] = attempt(lambda: attend(False))
        found["causal attention", str(placement)] = attempt(lambda: attend(True))
    dropped = F.dropout(sharded(4, 6), 0.5)
    found["dropout"] = [str(p) for p in dropped.placements], list(dropped.to_local().shape)
    x = sharded(4, 6)
    x.add_(1).mul_(x)
    x[:, 1].fill_(9)
    found["in place"] = plain(x)
    found["zeros_like"] = attempt(
        lambda: [torch.zeros_like(x), torch.ones_like(x, dtype=torch.int64), x.new_zeros(3), x.new_full((4, 6), 2.0)]
    )
    found["state"] = [type(p).__name__ for p in whole(torch.nn.Linear(2, 2)).state_dict().values()]
    return found


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.blocks, self.head = (
            torch.nn.Embedding(10, 8),
            torch.nn.ModuleList([Block(), Block()]),
            torch.nn.Linear(8, 10, bias=False),
        )

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


PLANS = {
    "columns and rows": {"blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel()},
    "words": {"words": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Replicate())},
    "word columns": {"words": ColwiseParallel(output_layouts=Replicate())},
    "sequence": {
        "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
        "blocks.*.norm": SequenceParallel(),
        "blocks.*.up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
        "blocks.*.down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    },
    "prepared": {
        "blocks.0": PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Replicate(), use_local_output=True
        ),
        "head": ColwiseParallel(output_layouts=Replicate()),
    },
}


def tensor_parallel(rank, size):
    """Three steps of training under each plan; and without."""
    mesh, found = init_device_mesh("cpu", (size,)), {}
    tokens = torch.arange(8).view(2, 4) * 3 % 10
    for name, plan in {"none": None, **PLANS}.items():

        def train():
            torch.manual_seed(0)
            model = Tower()
            if plan is not None:
                parallelize_module(model, mesh, plan)
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
            losses = []
            for _ in range(3):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
                loss.backward()
                optimizer.step()
                losses.append(round(loss.item(), 4))
            return losses, [
                tuple(str(p) for p in w.placements) if isinstance(w, DTensor) else "" for w in model.parameters()
            ]

        found[name] = attempt(train)
    return found
