"""Nested tensors of both layouts: what they are made of, functions, views, gradients, errors, and how they print."""

import copy
import io
import pickle
import re
import warnings


def text(f):
    try:
        return repr(f())
    except Exception as e:
        return [type(e).__name__, str(e).split("\n")[0].split(". ")[0][:100]]


def case_nested_functions(torch):
    warnings.simplefilter("ignore")
    F = torch.nn.functional
    a, b, weight = (
        torch.arange(6.0).reshape(2, 3) - 2,
        torch.arange(12.0).reshape(4, 3).cos(),
        torch.arange(15.0).reshape(5, 3) / 10,
    )
    nt = torch.nested.nested_tensor([a, b])
    calls = [
        lambda: (
            nt,
            nt.dim(),
            nt.numel(),
            nt.size(0),
            nt.size(2),
            nt.size(-1),
            nt.is_contiguous(),
            nt.layout,
            nt.is_nested,
            nt.requires_grad,
        ),
        lambda: (
            nt * 2,
            nt + 1,
            nt / 2,
            nt - nt,
            nt * nt,
            nt * torch.tensor(2.0),
            2 * nt,
            nt.neg(),
            nt.abs(),
            nt.tanh(),
            nt.sin(),
            nt.sgn(),
            nt.sqrt(),
        ),
        lambda: (
            F.relu(nt),
            F.gelu(nt / 4),
            F.silu(nt),
            nt > 0,
            nt.logical_not(),
            nt.masked_fill(nt > 0, 1),
            F.dropout(nt, 0.0),
            nt.isnan(),
        ),
        lambda: (
            nt.softmax(-1),
            nt.softmax(1),
            nt.sum(-1, keepdim=True),
            F.layer_norm(nt, (3,), torch.ones(3), torch.zeros(3)),
        ),
        lambda: (
            F.linear(nt, weight, torch.ones(5)),
            torch.bmm(nt, nt.transpose(1, 2)),
            nt.matmul(nt.transpose(1, 2)),
            nt.bmm(torch.ones(2, 3, 2)),
        ),
        lambda: (
            F.scaled_dot_product_attention(nt.unsqueeze(1), nt.unsqueeze(1), nt.unsqueeze(1)),
            nt.unsqueeze(1).squeeze(1),
        ),
        lambda: (
            nt.transpose(1, 2),
            nt.transpose(1, 2).is_contiguous(),
            nt.transpose(1, 2).contiguous(),
            nt.view(2, -1, 3, 1),
            nt.reshape(2, -1, 1, 3),
        ),
        lambda: (
            nt.chunk(3, -1),
            nt.split_with_sizes([1, 2], -1),
            nt[0],
            nt[1, 2],
            nt[0, 1, :],
            nt[-1],
            nt.select(1, 0),
            nt.select(2, 1),
            list(nt.unbind()),
        ),
        lambda: (
            nt._nested_tensor_size(),
            nt.transpose(1, 2)._nested_tensor_strides(),
            nt.chunk(3, -1)[1]._nested_tensor_storage_offsets(),
        ),
        lambda: (
            nt.to_padded_tensor(0.0),
            torch.nested.to_padded_tensor(nt, -1.0, (2, 5, 4)),
            torch.nested.nested_tensor([]).to_padded_tensor(1),
        ),
        lambda: (
            nt.double(),
            nt.to(torch.int64),
            nt.to("cpu") is nt,
            nt.contiguous() is nt,
            nt.clone(),
            nt.detach(),
            nt.bool(),
            nt.values(),
        ),
        lambda: (
            torch.zeros_like(nt),
            torch.ones_like(nt, dtype=torch.int32),
            nt.clone().fill_(3),
            nt.clone().zero_(),
            nt.clone().copy_(nt * 2),
        ),
        lambda: (
            nt.clone().add_(nt),
            nt.clone().mul_(3),
            torch.nested.as_nested_tensor([a, b], dtype=torch.double),
            torch.nested.nested_tensor([[1, 2], [3]]),
        ),
        lambda: (
            torch.nested.as_nested_tensor(torch.ones(2, 2)),
            torch.nested.narrow(a, 0, 0, 1, layout=torch.strided),
        ),
        lambda: F.embedding(torch.nested.nested_tensor([torch.tensor([0, 2]), torch.tensor([1])]), weight),
        lambda: torch._nested_tensor_from_mask(
            torch.ones(2, 3, 2), torch.tensor([[True, True, False], [True, False, False]])
        ),
        lambda: torch._nested_from_padded_and_nested_example(nt.to_padded_tensor(0.0) + 1, nt),
        lambda: torch._nested_from_padded(nt.to_padded_tensor(0.0), nt._nested_tensor_size()),
    ]
    refused = (
        "shape size() size(1) stride() sum() sum(-1) sum(1,keepdim=True) mean() exp() cumsum(0) softmax(0) "
        "softmax(5) transpose(0,1) item() eq(nt)"
    )
    refused += (
        " unsqueeze(0) squeeze(0) unbind(1) view(3,2) view(-1,3) view(2,7) chunk(2,-1) chunk(2,1) "
        "split_with_sizes([1,1],-1) select(2,5) tolist()"
    )
    refused += (
        " mul(a) add(a) matmul(a) bmm(a) to_padded_tensor(0.0,(2,1,4)) transpose(1,2).relu() "
        "transpose(1,2).to_padded_tensor(0.0) clone().fill_(a)"
    )
    calls += [lambda e=e: eval("nt." + e, {"nt": nt, "a": a}) for e in refused.split()]
    calls += [
        lambda: torch.nested.nested_tensor([a, torch.ones(3)]),
        lambda: torch.nested.nested_tensor(3),
        lambda: torch.nested.as_nested_tensor([1, 2]),
        lambda: F.linear(nt, weight.t()),
        lambda: F.layer_norm(nt, (3,)),
        lambda: torch.nested.nested_tensor([torch.ones(2, dtype=torch.int64)], requires_grad=True),
    ]
    return [text(f) for f in calls]


def case_nested_gradients(torch):
    warnings.simplefilter("ignore")
    F = torch.nn.functional
    a, b, weight = (
        torch.arange(6.0).reshape(2, 3) - 2,
        torch.arange(12.0).reshape(4, 3).cos(),
        torch.arange(15.0).reshape(5, 3) / 10,
    )
    programs = [
        lambda x: F.linear(x, weight, torch.ones(5)).to_padded_tensor(0.0).pow(2).sum(),
        lambda x: (x.softmax(-1) * x).to_padded_tensor(1.0).pow(2).sum(),
        lambda x: torch.bmm(x, x.transpose(1, 2)).to_padded_tensor(0.0).sum(),
        lambda x: (x * x).unbind()[1].sum() + x[0].sum(),
        lambda x: F.layer_norm(x, (3,), torch.ones(3), torch.zeros(3)).to_padded_tensor(0.0).pow(3).sum(),
        lambda x: F.scaled_dot_product_attention(*[x.unsqueeze(1)] * 3).squeeze(1).to_padded_tensor(0.0).pow(2).sum(),
        lambda x: F.gelu(x.reshape(2, -1, 1, 3)).sum(-1, keepdim=True).squeeze(-1).to_padded_tensor(0.0).sum(),
    ]
    found = []
    for f in programs:
        leaf, parts = (
            torch.nested.nested_tensor([a, b], requires_grad=True),
            [t.clone().requires_grad_() for t in (a, b)],
        )
        f(leaf).backward()
        f(torch.nested.as_nested_tensor(parts)).backward()
        found += [
            *leaf.grad.unbind(),
            *(p.grad for p in parts),
            leaf.is_leaf,
            (leaf * 2).is_leaf,
            leaf.transpose(1, 2).is_leaf,
        ]
    leaf = torch.nested.nested_tensor([a, b], requires_grad=True)
    y = leaf * leaf
    y.backward(torch.ones_like(y))
    found += list(leaf.grad.unbind())
    (g,) = torch.autograd.grad(leaf * 3, leaf, torch.ones_like(leaf).detach())
    return [*found, *g.unbind()]


def case_attention_over_nested(torch):
    warnings.simplefilter("ignore")
    nn = torch.nn

    def parts(f):
        try:
            found = f()
        except Exception as e:
            return [type(e).__name__, str(e)]
        return list(found.unbind())

    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    with torch.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(torch.arange(p.numel()).reshape(p.shape).add(i).sin() / 4)
    sequences = torch.nested.nested_tensor(
        [torch.arange(48.0).reshape(3, 16).sin(), torch.arange(80.0).reshape(5, 16).cos()]
    )
    empty = torch.nested.nested_tensor([torch.rand(0, 16)])
    attention, found = layer.self_attn, [parts(lambda: layer(sequences))]
    with torch.no_grad():
        found += [parts(lambda: f(x)) for f in (layer, nn.TransformerEncoder(layer, 2)) for x in (sequences, empty)]
        found += [
            parts(lambda: layer(torch.nested.nested_tensor([]))),
            parts(lambda: attention(sequences, sequences, sequences, need_weights=False)[0]),
        ]
        found += [
            attention(sequences, sequences, sequences, average_attn_weights=average)[1] for average in (True, False)
        ]
    return [*found, parts(lambda: layer.train()(sequences))]


def jagged_parts(r):
    """What a call gives, without the numbers of jagged sizes, which both sides count for themselves, and the names of
    nodes.
    """
    if isinstance(r, (tuple, list)):
        return [jagged_parts(x) for x in r]
    if getattr(r, "is_nested", False):
        return [
            jagged_parts(re.sub(r"grad_fn=<.*?>", "grad_fn", repr(r))),
            r._values.detach(),
            r.lengths(),
            r._ragged_idx,
            r.requires_grad,
            r.is_leaf,
        ]
    return (
        re.sub(r"\bj\d+", "j", r if isinstance(r, str) else repr(r)) if r is not None and not hasattr(r, "dtype") else r
    )


def jagged_found(f):
    try:
        return jagged_parts(f())
    except Exception as e:
        return jagged_parts([type(e).__name__, str(e).split("\n")[0].split(". ")[0][:100]])


JAGGED = """nt.shape
nt.stride()
nt.numel()
nt.size(1) == nt.size(1)
nt.size(1) == 3
nt.size(1) > 1
nt.size(1) > 2
nt.size(1) * 3 == 3 * nt.size(1)
int(nt.size(1))
nt.size(1) + 1
[nt.values(), nt.offsets(), nt.lengths(), nt._min_seqlen, nt._max_seqlen, nt.layout, nt.is_nested, nt.is_contiguous()]
nt + nt
nt + other
nt * 2 - 1
nt + torch.ones(2)
nt + torch.arange(4.0).view(2, 1, 2)
nt + torch.arange(12.0).view(2, 3, 2)
torch.arange(12.0).view(2, 3, 2) - nt
nt + torch.ones(2, 4, 2)
nt + torch.ones(1, 2, 3, 2)
nt + nt.transpose(1, 2)
[F.relu(nt - 2), F.gelu(nt), F.silu(nt), F.leaky_relu(nt - 2), torch.sin(nt), nt.clamp(1, 3), nt > 2, nt.bool(),
    nt.isnan(), -nt, 1 / (nt + 1)]
[torch.where(nt > 1, nt, 0.0), nt.where(nt > 1, torch.zeros(2)), nt.masked_fill(nt > 1, 7.0), torch.maximum(nt, nt),
    nt.pow(2), nt.round()]
nt.clone().add_(1).mul_(nt)
nt.unbind()
[nt[0], nt[-1], nt[1, 0], nt[..., 0], nt[..., 0:1], nt[0, ...], nt[..., 1, 0, 1], nt[1, -1, 0:1]]
nt[0:1]
nt[:, 0]
nt[..., :, 0]
nt[torch.tensor([0])]
nt[None]
nt.unbind(1)
[nt.to_padded_tensor(0.0), torch.nested.to_padded_tensor(nt, -1, (2, 5, 2)), nt.to_padded_tensor(0.0, (2, 2, 2)),
    nt.transpose(1, 2).to_padded_tensor(9.0)]
[nt.sum(), nt.sum(1), nt.sum(-1), nt.sum((0, 1)), nt.sum(1, keepdim=True), nt.sum((0, 1), keepdim=True), nt.mean(1),
    nt.mean(), nt.mean((0, 1)), nt.prod(1)]
[nt.max(), nt.max(1), nt.max(2), nt.min(2), nt.amax((0, 1)), nt.argmax(1), nt.argmax(-1), nt.argmin(1, keepdim=True),
    nt.any(), nt.all(1), nt.amin(2)]
nt.sum(0)
nt.sum((1, 2))
[nt.softmax(-1), nt.softmax(1), nt.log_softmax(-1), F.layer_norm(nt, (2,)), F.rms_norm(nt, (2,)), F.dropout(nt, 0.5,
    training=False)]
nt.softmax(0)
nt.log_softmax(1)
[F.linear(nt, torch.ones(3, 2), torch.ones(3)), nt @ torch.ones(2, 4), nt @ torch.ones(2, 2, 3), nt.transpose(1,
    2) @ nt, torch.bmm(nt, torch.ones(2, 2, 3))]
nt @ nt
nt @ torch.ones(2)
F.linear(nt.transpose(1, 2), torch.ones(3, 2))
[nt.transpose(1, 2), nt.permute(0, 2, 1), nt.mT, nt.unsqueeze(-1), nt.unsqueeze(1), nt.unsqueeze(-1).squeeze(-1),
    nt.transpose(1, 2).contiguous()]
nt.transpose(0, 1)
nt.permute(0, 1)
nt.unsqueeze(0)
nt.squeeze(1)
[nt.view(2, -1, 2, 1), nt.view(2, nt.size(1), 1, 2), nt.reshape(2, -1, 2), nt.view(nt.shape), nt.unflatten(-1, (2,
    1)).flatten(-2)]
nt.view(10)
nt.view(2, 3, 2)
nt.flatten(1)
[nt.unsqueeze(-1).expand(-1, -1, -1, 3), nt.unsqueeze(-1).expand(2, nt.size(1), 2, 3)]
nt.expand(2, 3, 2)
[nt.chunk(2, -1), nt.chunk(2, 0), nt.split([1, 1], -1), nt.narrow(-1, 1, 1), nt.select(2, 1), torch.cat([nt, nt], -1),
    torch.stack([nt, nt], -1)]
nt.chunk(2, 1)
nt.narrow(0, 0, 1)
torch.cat([nt, nt])
torch.stack([nt, nt], 1)
[nt.clone(), nt.detach(), nt.double(), nt.to(torch.int32), nt.type_as(nt.double()), torch.zeros_like(nt),
    torch.full_like(nt, 2), copy.deepcopy(nt)]
[nt.new_zeros(()), torch.empty_like(nt).shape == nt.shape, nt.is_same_size(nt), nt.is_same_size(other)]
nt.new_zeros(2)
nt.clone().copy_(other)
nt.clone().copy_(torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(4, 2)], layout=torch.jagged))
nt.cumsum(1)
nt.sort()
nt.numpy()
nt.tolist()
nt.item()
F.embedding(torch.nested.nested_tensor([torch.tensor([0, 1]), torch.tensor([2])], layout=torch.jagged), torch.eye(3))
F.one_hot(nt.long())
torch.nested.nested_tensor([], layout=torch.jagged)
torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(2, 4)], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 4)], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)], layout=torch.jagged)
torch.nested.nested_tensor([torch.tensor(1.0)], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2), torch.ones(2).int()], layout=torch.jagged)
torch.nested.nested_tensor([torch.ones(2)], layout=torch.sparse_coo)
torch.nested.as_nested_tensor(torch.ones(2, 3, 4), layout=torch.jagged)
torch.nested.as_nested_tensor(nt)
torch.nested.as_nested_tensor(torch.ones(3), layout=torch.jagged)
torch.nested.nested_tensor_from_jagged(torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 5]))
torch.nested.nested_tensor_from_jagged(torch.arange(10.0).view(5, 2), lengths=torch.tensor([2, 3]))
torch.nested.nested_tensor_from_jagged(torch.arange(10.0).view(2, 5), torch.tensor([0, 2, 5]), jagged_dim=2)
torch.nested.nested_tensor_from_jagged(torch.arange(10.0).view(5, 2))
torch.nested.nested_tensor_from_jagged(torch.ones(5, 2), torch.tensor([0, 2, 5]), jagged_dim=0)
[h, h.unbind(), h.sin(), h.contiguous(), h.clone(), h.is_contiguous(), h._max_seqlen, h.numel(), h[1], h.mean(-1),
    h.transpose(1, 2)]
h.sum(1)
h.to_padded_tensor(0)
h.softmax(1)
h.permute(0, 2, 1)
torch.nested.narrow(torch.arange(24.0).view(2, 4, 3), 1, torch.tensor([1, 0]), torch.tensor([1, 3]),
    layout=torch.jagged)
torch.nested.narrow(torch.arange(24.0).view(2, 4, 3), 1, 1, 2, layout=torch.jagged)
torch.nested.narrow(torch.arange(24.0).view(2, 4, 3), 2, 0, 1, layout=torch.jagged)
torch.nested.masked_select(torch.arange(6.0).view(2, 3), torch.tensor([[True, False, True], [True, False, False]]))
pickle.loads(pickle.dumps(nt))
torch.Size([2, nt.size(1)])""".replace("\n    ", " ").split("\n")


def case_jagged_functions(torch):
    warnings.simplefilter("ignore")
    rows = [torch.arange(4.0).view(2, 2), torch.arange(6.0).view(3, 2)]
    names = {"torch": torch, "F": torch.nn.functional, "copy": copy, "pickle": pickle}
    names["nt"], names["other"] = (torch.nested.nested_tensor(rows, layout=torch.jagged) for _ in range(2))
    names["h"] = torch.nested.nested_tensor_from_jagged(
        torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 5]), lengths=torch.tensor([1, 2])
    )
    return [[e, jagged_found(lambda e=e: eval(e, names))] for e in JAGGED]


def case_jagged_gradients(torch):
    warnings.simplefilter("ignore")
    F = torch.nn.functional
    rows = [torch.arange(8.0).view(2, 4).cos(), torch.arange(12.0).view(3, 4).sin()]
    weight = torch.arange(12.0).view(3, 4) / 10

    def attention(x):
        q, k, v = (t.unflatten(-1, (2, 2)).transpose(1, 2) for t in (x, x * 2, x + 1))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)

    programs = [
        lambda x: F.linear(x, weight, torch.ones(3)).to_padded_tensor(0.0).pow(2).sum(),
        lambda x: (x.softmax(-1) * x).values().pow(2).sum(),
        lambda x: attention(x).values().pow(2).sum(),
        lambda x: F.layer_norm(x, (4,), torch.ones(4), torch.zeros(4)).values().pow(3).sum(),
        lambda x: x.unbind()[1].pow(2).sum() + x[0].sum(),
        lambda x: (x * torch.arange(4.0) + torch.arange(8.0).view(2, 1, 4)).to_padded_tensor(1.0).pow(2).sum(),
        lambda x: torch.cat([x, x * x], -1).chunk(2, -1)[1].values().sum(),
        lambda x: F.gelu(x.transpose(1, 2)).contiguous().values().sum(),
    ]
    found = []
    for f in programs:
        leaf, parts = (
            torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True),
            [t.clone().requires_grad_() for t in rows],
        )
        f(leaf).backward()
        f(torch.nested.as_nested_tensor(parts, layout=torch.jagged)).backward()
        found += [
            leaf.grad.values(),
            leaf.grad.shape == leaf.shape,
            leaf.is_leaf,
            (leaf * 2).is_leaf,
            *(p.grad for p in parts),
        ]
    leaf = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
    found.append(torch.autograd.grad(leaf * 3, leaf, torch.ones_like(leaf))[0].values())
    found += [
        jagged_found(lambda: (leaf * 3).backward()),
        jagged_found(
            lambda: torch.autograd.grad(leaf * 3, leaf, torch.nested.nested_tensor(rows, layout=torch.jagged))
        ),
    ]
    values = torch.arange(10.0).view(5, 2).requires_grad_()
    torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5])).pow(2).values().sum().backward()
    return [*found, values.grad]


def case_jagged_files(torch):
    nt = torch.nested.nested_tensor([torch.arange(4.0).view(2, 2), torch.arange(6.0).view(3, 2)], layout=torch.jagged)
    f = io.BytesIO()
    torch.save(nt, f)
    f.seek(0)
    back = torch.load(f)
    return [
        type(back).__name__,
        back.values(),
        back.offsets(),
        back._max_seqlen,
        back._ragged_idx,
        jagged_found(lambda: back.shape),
    ]


def case_gradients_through_views_of_nested(torch):
    """Of functions over nested tensors whose parts are not contiguous, do not lie in order, or share their buffer."""
    warnings.simplefilter("ignore")
    found, F = {}, torch.nn.functional
    views = {
        "itself": lambda nt: nt,
        "transposed": lambda nt: nt.transpose(1, 2),
        "transposed twice": lambda nt: nt.transpose(1, 2).transpose(-1, -2),
        "contiguous": lambda nt: nt.transpose(1, 2).contiguous(),
        "cloned": lambda nt: nt.transpose(1, 2).clone(),
        "doubled": lambda nt: (nt * 2).transpose(1, 2),
    }
    functions = {
        "unbound": lambda nt, w: sum((p * p).sum() for p in nt.unbind()),
        "unbound in order": lambda nt, w: sum(
            (p * torch.arange(p.numel()).reshape(p.shape)).sum() for p in nt.unbind()
        ),
        "padded": lambda nt, w: (nt.to_padded_tensor(0.5) ** 2).sum(),
        "matmul": lambda nt, w: sum(p.pow(2).sum() for p in torch.matmul(nt, nt.transpose(1, 2)).unbind()),
        "clone": lambda nt, w: sum((p**3).sum() for p in nt.clone().unbind()),
        "contiguous": lambda nt, w: sum((p**3).sum() for p in nt.contiguous().unbind()),
        "plus itself": lambda nt, w: sum((p**2).sum() for p in (nt + nt).unbind()),
        "times itself": lambda nt, w: sum(
            (p * torch.arange(p.numel()).reshape(p.shape)).sum() for p in (nt * nt).unbind()
        ),
        "relu": lambda nt, w: sum((p * torch.arange(p.numel()).reshape(p.shape)).sum() for p in F.relu(nt).unbind()),
        "times a number": lambda nt, w: sum(
            (p * torch.arange(p.numel()).reshape(p.shape)).sum() for p in (nt * 3).unbind()
        ),
        "softmax": lambda nt, w: sum((p**2).sum() for p in torch.softmax(nt, -1).unbind()),
        "select": lambda nt, w: (nt[1] * torch.arange(nt[1].numel()).reshape(nt[1].shape)).sum(),
        "chunk": lambda nt, w: sum((p**2).sum() for part in nt.chunk(1, -1) for p in part.unbind()),
    }
    for seen, view in views.items():
        for name, f in functions.items():
            if name in ("times itself", "select") and seen in ("transposed", "cloned", "doubled"):
                continue  # PyTorch refuses these, for which there is no reason here
            leaves = [
                torch.arange(6.0).reshape(2, 3).cos().requires_grad_(),
                torch.arange(12.0).reshape(4, 3).sin().requires_grad_(),
            ]

            def run(leaves=leaves, view=view, f=f):
                nt = torch.nested.as_nested_tensor(leaves)
                out = f(view(nt), None)
                return [out.detach(), *(g.contiguous() for g in torch.autograd.grad(out, leaves))]

            try:
                found[f"{name} of {seen}"] = run()
            except Exception as e:
                found[f"{name} of {seen}"] = f"raises {type(e).__name__}"
    return found


def case_nested_gradients_given_to_views_of_nested(torch):
    """backward() of a nested tensor takes a nested gradient, whatever the order of its own buffer."""
    warnings.simplefilter("ignore")
    found = {}
    views = {
        "itself": lambda nt: nt * 1,
        "transposed": lambda nt: nt.transpose(1, 2),
        "transposed twice": lambda nt: nt.transpose(1, 2).transpose(1, 2),
        "cloned": lambda nt: nt.transpose(1, 2).clone(),
        "contiguous": lambda nt: nt.transpose(1, 2).contiguous(),
    }
    for seen, view in views.items():
        for given in ("packed", "transposed"):
            leaves = [torch.arange(1.0, 7.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)]
            leaves = [t.requires_grad_() for t in leaves]

            def run(leaves=leaves, view=view, given=given):
                out = view(torch.nested.as_nested_tensor(leaves))
                shapes = [p.shape for p in out.unbind()]
                parts = [torch.arange(float(s.numel())).reshape(s) for s in shapes]
                g = torch.nested.nested_tensor(parts)
                if given == "transposed":
                    g = torch.nested.nested_tensor([p.t() for p in parts]).transpose(1, 2)
                out.backward(g)
                return [t.grad.contiguous() for t in leaves]

            try:
                found[f"{seen} {given}"] = run()
            except Exception as e:
                found[f"{seen} {given}"] = f"raises {type(e).__name__}"
    return found
