"""Operators on distributed tensors under every placement, for both torches. Results are plain Python."""

import warnings

import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

warnings.simplefilter("ignore")
# what the real torch does not answer, or answers with a part of the sum, or (mse_loss) with a gradient that depends on
# the placement
ONLY_VALUES = {"equal", "allclose", "bool", "shape", "unique", "embedding", "bernoulli", "mse", "vnorminf", "nonzero"}
MESH = []


def numbers(*shape, seed=1):
    count = torch.Size(shape).numel()
    return ((torch.arange(count, dtype=torch.float64) * 0.37 + seed * 1.7).sin() * 43.7).frac().float().reshape(shape)


def whole(tensor):
    return distribute_tensor(tensor, MESH[-1], [Replicate()])


def rows(tensor):
    return distribute_tensor(tensor, MESH[-1], [Shard(0)])


# of a tensor of 8 rows and 6 columns
OPERATORS = {
    "softmax-1": lambda x: x.softmax(-1),
    "softmax0": lambda x: x.softmax(0),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "sum": lambda x: x.sum(),
    "sum0": lambda x: x.sum(0),
    "sum1k": lambda x: x.sum(1, keepdim=True),
    "mean": lambda x: x.mean(),
    "mean0": lambda x: x.mean(0),
    "max": lambda x: x.max(),
    "max1": lambda x: x.max(1),
    "max0": lambda x: x.max(0),
    "min": lambda x: x.min(),
    "amax": lambda x: x.amax(0),
    "argmax": lambda x: x.argmax(1),
    "argmax0": lambda x: x.argmax(0),
    "prod": lambda x: x.prod(),
    "std": lambda x: x.std(),
    "var0": lambda x: x.var(0),
    "var1": lambda x: x.var(1),
    "norm": lambda x: x.norm(),
    "vnorm": lambda x: torch.linalg.vector_norm(x, 2),
    "vnorminf": lambda x: torch.linalg.vector_norm(x, float("inf")),
    "all": lambda x: (x > 0).all(),
    "any": lambda x: (x > 0).any(),
    "cumsum": lambda x: x.cumsum(0),
    "cumsum1": lambda x: x.cumsum(1),
    "topk": lambda x: x.topk(2, -1),
    "sort": lambda x: x.sort(-1),
    "logsumexp": lambda x: x.logsumexp(1),
    "relu": lambda x: x.relu(),
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "clamp": lambda x: x.clamp(0, 1),
    "where": lambda x: torch.where(x > 0, x, -x),
    "pow": lambda x: x**2,
    "rsqrt": lambda x: x.abs().rsqrt(),
    "add": lambda x: x + x,
    "adds": lambda x: x + 1,
    "mul": lambda x: x * x,
    "div": lambda x: x / 2,
    "sub": lambda x: 1 - x,
    "addc": lambda x: torch.addcmul(x, x, x),
    "lerp": lambda x: x.lerp(x * 2, 0.5),
    "eq": lambda x: x == x,
    "neg": lambda x: -x,
    "isnan": lambda x: x.isnan(),
    "to16": lambda x: x.to(torch.bfloat16),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda x: torch.full_like(x, 3.0),
    "new_zeros": lambda x: x.new_zeros(3),
    "contig": lambda x: x.contiguous(),
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(2, 4, 6),
    "flatten": lambda x: x.flatten(),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "unsq": lambda x: x.unsqueeze(0),
    "unsq1": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "expand": lambda x: x.unsqueeze(0).expand(3, 8, 6),
    "repeat": lambda x: x.repeat(2, 1),
    "movedim": lambda x: x.movedim(0, 1),
    "unflatten": lambda x: x.unflatten(1, (2, 3)),
    "view3": lambda x: x.view(8, 2, 3),
    "chunk1": lambda x: x.chunk(2, 1),
    "chunk0": lambda x: x.chunk(2, 0),
    "split1": lambda x: x.split(3, 1),
    "split0": lambda x: x.split(4, 0),
    "cat0": lambda x: torch.cat([x, x], 0),
    "cat1": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "unbind1": lambda x: x.unbind(1),
    "slice1": lambda x: x[:, 1:3],
    "slice0": lambda x: x[2:6],
    "index0": lambda x: x[0],
    "index1": lambda x: x[:, 0],
    "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 1),
    "tril": lambda x: x.tril(),
    "triu": lambda x: x.triu(),
    "gather": lambda x: x.gather(1, whole(torch.zeros(8, 1, dtype=torch.int64))),
    "index_select": lambda x: x.index_select(1, whole(torch.tensor([0, 2]))),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "pad": lambda x: F.pad(x, (1, 1)),
    "onehot": lambda x: F.one_hot((x > 0).long(), 2),
    "mm": lambda x: x @ x.t(),
    "mmt": lambda x: x.t() @ x,
    "mv": lambda x: x @ whole(torch.ones(6)),
    "addmm": lambda x: torch.addmm(whole(torch.ones(8)), x, x.t()),
    "bmm": lambda x: x.view(2, 4, 6) @ x.view(2, 4, 6).transpose(1, 2),
    "linear": lambda x: F.linear(x, whole(numbers(5, 6)), whole(numbers(5))),
    "linears": lambda x: F.linear(x, rows(numbers(4, 6)), rows(numbers(4))),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "dot": lambda x: x.flatten().dot(x.flatten()),
    "outer": lambda x: torch.outer(x[:, 0], x[:, 1]),
    "baddbmm": lambda x: torch.baddbmm(
        x.view(2, 4, 6) @ x.view(2, 4, 6).transpose(1, 2), x.view(2, 4, 6), x.view(2, 4, 6).transpose(1, 2)
    ),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "rms_norm": lambda x: F.rms_norm(x, (6,)),
    "group_norm": lambda x: F.group_norm(x, 2),
    "dropout0": lambda x: F.dropout(x, 0.0),
    "embedding": lambda x: F.embedding(whole(torch.tensor([0, 3, 1])), x),
    "ce": lambda x: F.cross_entropy(x, whole(torch.arange(8) % 6)),
    "nll": lambda x: F.nll_loss(x.log_softmax(-1), whole(torch.arange(8) % 6)),
    "mse": lambda x: F.mse_loss(x, x * 2),
    "sdpa": lambda x: F.scaled_dot_product_attention(*(x.view(1, 2, 4, 6),) * 3),
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x),
    "bool": lambda x: bool(x.sum() * 0 == 0),
    "inplace": lambda x: x.clone().add_(1),
    "zero_": lambda x: x.clone().zero_(),
    "fill_": lambda x: x.clone().fill_(2),
    "copy_": lambda x: x.clone().copy_(x),
    "bernoulli": lambda x: x.abs().clamp(1, 1).bernoulli(),
    "foreach": lambda x: torch._foreach_add([x, x], 1),
    "foreach_norm": lambda x: torch._foreach_norm([x, x]),
    "total_norm": lambda x: torch.nn.utils.get_total_norm([x, x]),
    "shape": lambda x: (tuple(x.shape), x.stride(), x.numel()),
    "scatter": lambda x: x.scatter(1, whole(torch.zeros(8, 1, dtype=torch.int64)), 1.0),
    "unique": lambda x: x.unique(),
    "nonzero": lambda x: x.nonzero(),
    "aminmax": lambda x: x.aminmax(),
    "median": lambda x: x.median(),
    "cosim": lambda x: F.cosine_similarity(x, x * 2),
    "glu": lambda x: F.glu(x, -1),
    "tanh_": lambda x: x.clone().tanh_(),
    "atan2": lambda x: torch.atan2(x, x),
    "maximum": lambda x: torch.maximum(x, x * 2),
    "complex": lambda x: torch.view_as_complex(x.view(8, 3, 2)).abs(),
    "type_as": lambda x: x.double().type_as(x),
    "logical_not": lambda x: x.logical_not(),
    "kl": lambda x: F.kl_div(x.log_softmax(-1), x.softmax(-1), reduction="batchmean"),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, (x > 0).float()),
}


def plain(value):
    if isinstance(value, torch.Tensor):
        if isinstance(value, DTensor):
            value = value.full_tensor()
        return [tuple(value.shape), str(value.dtype), value.detach().double().flatten().tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def attempt(function):
    try:
        return plain(function())
    except Exception as error:
        return type(error).__name__


def gradient(operator, x):
    value = operator(x)
    value = value[0] if isinstance(value, (list, tuple)) else value
    if not (isinstance(value, torch.Tensor) and value.requires_grad):
        return None
    value.square().sum().backward()
    return x.grad


def operators(rank, size):
    """Values and gradients; an error's type where it is refused."""
    MESH.append(init_device_mesh("cpu", (size,)))
    found = {}
    for placement in (Shard(0), Shard(1), Replicate(), Partial()):
        for name, operator in OPERATORS.items():

            def place(placement=placement):
                if placement.is_partial():
                    return DTensor.from_local(numbers(8, 6), MESH[-1], [placement])
                return distribute_tensor(numbers(8, 6), MESH[-1], [placement])

            found[name, str(placement)] = attempt(lambda: operator(place()))
            if not placement.is_partial() and name not in ONLY_VALUES:
                found[name, str(placement), "gradient"] = attempt(lambda: gradient(operator, place().requires_grad_()))
    return found
