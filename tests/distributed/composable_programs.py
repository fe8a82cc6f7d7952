"""APIs that are applied to modules in place, for both torches. Results are plain Python."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._composable import _get_registry, checkpoint, contract, replicate
from torch.distributed._composable_state import _get_module_state, _insert_module_state, _State
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.distributed.tensor.parallel.ddp import _pre_dp_module_transform
from torch.nn.parallel import DistributedDataParallel
from training_programs import Net, fill, gradients, numbers, values


def said(function):
    """An error's type and first words."""
    try:
        return function()
    except Exception as e:
        return type(e).__name__, str(e).splitlines()[0][:60]


def contracts(rank, size):
    """Once each, state, names that must stay."""

    class Kept(_State):
        number = 3

    @contract(Kept)
    def noted(module, by=1):
        noted.state(module[0] if isinstance(module, list) else module).number += by

    @contract()
    def wrapped(module):
        return nn.Sequential(module)

    @contract()
    def swapped(module):
        first = module._modules.pop("0")
        module._modules["0"] = first
        return module

    @contract()
    def fewer(modules):
        del modules[1:]
        return modules[0]

    make = lambda: nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.BatchNorm1d(2)))
    model = make()
    found = [
        _get_registry(model) is None,
        noted.state(model) is None,
        noted(model, by=4) is model,
        noted.state(model).number,
        list(_get_registry(model)),
    ]
    found += [said(lambda: noted(model)), said(lambda: wrapped(model[0])), said(lambda: swapped(model[1]))]
    several = [make(), make()]
    found += [
        noted([several[0], several[0][0], several[1]]) is not None,
        noted.state(several[0]) is noted.state(several[1]),
        noted.state(several[0][0]),
    ]
    found += [list(_get_registry(several[1])), _get_registry(several[0][0]), said(lambda: fewer([make(), make()]))]
    state = Kept()
    _insert_module_state(model, state)
    found += [
        _get_module_state(model) is state,
        _get_module_state(model[0]),
        said(lambda: _insert_module_state(model, Kept())),
    ]
    del state
    found.append(said(lambda: _get_module_state(model)))
    return [noted.__name__, contract(Kept).__name__, *found]


def checkpointed(rank, size):
    """The same gradients with and without, how often the parts ran, and what is refused."""
    model, found = fill(Net()), []
    other = copy.deepcopy(model)
    runs = []
    inner = nn.Sequential(other.inner, nn.Dropout(0.5))
    plain = nn.Sequential(model.inner, nn.Dropout(0.5))
    inner[0].register_forward_hook(lambda *args: runs.append(torch.is_grad_enabled()))
    checkpoint(inner)
    for part, whole in ((plain, model), (inner, other)):
        torch.manual_seed(3)
        x = numbers(3, 20).requires_grad_()
        part(x).square().sum().backward()
        found.append((x.grad.tolist(), gradients(whole)))
    with torch.no_grad():
        inner(numbers(3, 20))
    found += [found[0] == found[1], runs, list(inner.state_dict()), list(_get_registry(inner))]
    entered = []

    class Entered:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *error):
            entered.append(-self.name)

    linear = checkpoint(fill(nn.Linear(2, 2)), context_fn=lambda: (Entered(1), Entered(2)), preserve_rng_state=False)
    linear(numbers(2, 2)).square().sum().backward()

    class Fails(nn.Module):
        def forward(self, x, fail=True):
            if fail:
                raise KeyError("x")
            return x.square()

    fails, x = checkpoint(Fails()), numbers(2).requires_grad_()
    found += [entered, said(lambda: fails(x)), said(lambda: fails(x, fail=False).sum().backward()), x.grad.tolist()]
    found += [
        said(lambda: checkpoint(nn.ReLU(), use_reentrant=True)),
        said(lambda: checkpoint(nn.ReLU(), other=1)),
        said(lambda: checkpoint(linear)),
    ]
    return found[2:]


def step(model, x):
    model.zero_grad()
    out = model(x)
    out.square().mean().backward()
    return gradients(model)


def replicated(rank, size):
    """Gradients are averaged, buffers rank 0's, names stay; accumulation, hooks, ignored and sharded parts."""
    found = {}
    model = replicate(fill(Net(), seed=1 + rank), bucket_cap_mb=0.0001)
    found["names"] = list(model.state_dict()), type(model).__name__, isinstance(model, Net), list(_get_registry(model))
    found["steps"] = [step(model, numbers(3, 3, 5, seed=10 * i + rank)) for i in range(3)], values(model)
    model.set_requires_gradient_sync(False)
    found["alone"] = step(model, numbers(3, 3, 5, seed=rank))
    model.set_requires_gradient_sync(True)
    found["together"] = step(model, numbers(3, 3, 5, seed=rank))
    parts = fill(Net(), seed=1 + rank)
    for part in (parts.conv, parts.norm, parts.inner, parts.last):
        replicate(part, gradient_as_bucket_view=True)
    found["parts"] = [step(parts, numbers(3, 3, 5, seed=10 * i + rank)) for i in range(2)]
    partly = replicate(fill(Net(), seed=1), ignored_modules=[(net := fill(Net(), seed=1)).inner])
    found["nothing ignored"] = step(partly, numbers(3, 3, 5, seed=rank))
    replicate(net, ignored_modules=[net.inner], device_id=torch.device("cpu"))
    found["ignored"] = step(net, numbers(3, 3, 5, seed=rank))
    hooked, seen = replicate(fill(nn.Linear(3, 2))), []

    def hook(state, bucket):
        seen.append(bucket.buffer().numel())
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda f: f.value()[0])

    hooked.register_comm_hook(None, hook)
    found["hook"] = step(hooked, numbers(4, 3, seed=rank)), seen
    layers = replicate(fill(nn.Sequential(nn.Linear(2, 2), nn.ReLU())))
    found["slice"] = type(layers[:1]).__name__
    sharded = fully_shard(nn.Linear(4, 4))
    refused = (
        lambda: replicate(sharded),
        lambda: replicate(layers),
        lambda: copy.deepcopy(layers),
        lambda: replicate(nn.ReLU(), device_id="cpu"),
    )
    found["refused"] = [said(f) for f in refused]
    return found


def scaled(rank, size):
    """Steps of a sharded layer under both scalers, of which one has inf on one rank alone: all ranks skip it."""
    layer, found = fill(nn.Linear(4, 4)), []
    fully_shard(layer)
    for scaler in (torch.amp.GradScaler("cpu", init_scale=4.0), ShardedGradScaler("cpu", init_scale=4.0)):
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            x = torch.full((2, 4), float("inf") if step == 1 and rank == 0 else 1.0)
            scaler.scale(layer(x).sum()).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            found += [scaler.get_scale(), layer.weight.to_local().sum().item()]
    return found


def sharded(rank, size):
    """What fully_shard remembers; with checkpointed layers within."""
    model = nn.Sequential(*(fill(nn.Linear(4, 4), seed=i) for i in range(3)))
    alone = copy.deepcopy(model)
    for layer in model[:2]:
        fully_shard(checkpoint(layer))
    fully_shard(model)
    found = [
        list(_get_registry(model[0])),
        fully_shard.state(model) is _get_module_state(model),
        fully_shard.state(model[2]),
    ]
    found += [isinstance(model, FSDPModule), type(model).__name__, said(lambda: fully_shard(model))]
    x = numbers(2, 4, seed=rank)
    model(x).square().mean().backward()
    whole = torch.cat([numbers(2, 4, seed=r) for r in range(size)])
    alone(whole).square().mean().backward()
    full = [p.grad.full_tensor() for p in model.parameters()]
    found.append(all(torch.allclose(a, p.grad, atol=1e-6) for a, p in zip(full, alone.parameters())))
    several = [fill(nn.Linear(4, 4)), fill(nn.Linear(4, 4), seed=2)]
    fully_shard(several)
    found += [fully_shard.state(several[0]) is fully_shard.state(several[1]), len(several)]
    return found


def tensor_parallel_replicas(rank, size):
    """Two dimensions: layers over pairs of ranks, replicas of these."""
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
    model = nn.Sequential(fill(nn.Linear(4, 6)), nn.ReLU(), fill(nn.Linear(6, 2), seed=5))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    _pre_dp_module_transform(model)
    found = [[(n, type(p).__name__, tuple(p.shape)) for n, p in model.named_parameters()]]
    shared = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
    optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
    for i in range(3):
        optimizer.zero_grad()
        loss = shared(numbers(3, 4, seed=10 * i + mesh["dp"].get_local_rank())).square().sum()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
