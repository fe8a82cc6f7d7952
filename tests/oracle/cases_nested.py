"""Nested tensors of layout torch.strided: what they are made of, functions, views, gradients, errors, and how they print."""

import warnings

__warningregistry__ = {}


def text(f):
    try:
        return repr(f())
    except Exception as e:
        return [type(e).__name__, str(e).split("\n")[0].split(". ")[0][:100]]


def case_nested_functions(torch):
    warnings.simplefilter("ignore")
    F = torch.nn.functional
    a, b, weight = torch.arange(6.0).reshape(2, 3) - 2, torch.arange(12.0).reshape(4, 3).cos(), torch.arange(15.0).reshape(5, 3) / 10
    nt = torch.nested.nested_tensor([a, b])
    calls = [
        lambda: (nt, nt.dim(), nt.numel(), nt.size(0), nt.size(2), nt.size(-1), nt.is_contiguous(), nt.layout, nt.is_nested, nt.requires_grad),
        lambda: (nt * 2, nt + 1, nt / 2, nt - nt, nt * nt, nt * torch.tensor(2.0), 2 * nt, nt.neg(), nt.abs(), nt.tanh(), nt.sin(), nt.sgn(), nt.sqrt()),
        lambda: (F.relu(nt), F.gelu(nt / 4), F.silu(nt), nt > 0, nt.logical_not(), nt.masked_fill(nt > 0, 1), F.dropout(nt, 0.0), nt.isnan()),
        lambda: (nt.softmax(-1), nt.softmax(1), nt.sum(-1, keepdim=True), F.layer_norm(nt, (3,), torch.ones(3), torch.zeros(3))),
        lambda: (F.linear(nt, weight, torch.ones(5)), torch.bmm(nt, nt.transpose(1, 2)), nt.matmul(nt.transpose(1, 2)), nt.bmm(torch.ones(2, 3, 2))),
        lambda: (F.scaled_dot_product_attention(nt.unsqueeze(1), nt.unsqueeze(1), nt.unsqueeze(1)), nt.unsqueeze(1).squeeze(1)),
        lambda: (nt.transpose(1, 2), nt.transpose(1, 2).is_contiguous(), nt.transpose(1, 2).contiguous(), nt.view(2, -1, 3, 1), nt.reshape(2, -1, 1, 3)),
        lambda: (nt.chunk(3, -1), nt.split_with_sizes([1, 2], -1), nt[0], nt[1, 2], nt[0, 1, :], nt[-1], nt.select(1, 0), nt.select(2, 1), list(nt.unbind())),
        lambda: (nt._nested_tensor_size(), nt.transpose(1, 2)._nested_tensor_strides(), nt.chunk(3, -1)[1]._nested_tensor_storage_offsets()),
        lambda: (nt.to_padded_tensor(0.0), torch.nested.to_padded_tensor(nt, -1.0, (2, 5, 4)), torch.nested.nested_tensor([]).to_padded_tensor(1)),
        lambda: (nt.double(), nt.to(torch.int64), nt.to("cpu") is nt, nt.contiguous() is nt, nt.clone(), nt.detach(), nt.bool(), nt.values()),
        lambda: (torch.zeros_like(nt), torch.ones_like(nt, dtype=torch.int32), nt.clone().fill_(3), nt.clone().zero_(), nt.clone().copy_(nt * 2)),
        lambda: (nt.clone().add_(nt), nt.clone().mul_(3), torch.nested.as_nested_tensor([a, b], dtype=torch.double), torch.nested.nested_tensor([[1, 2], [3]])),
        lambda: (torch.nested.as_nested_tensor(torch.ones(2, 2)), torch.nested.narrow(a, 0, 0, 1, layout=torch.strided)),
        lambda: F.embedding(torch.nested.nested_tensor([torch.tensor([0, 2]), torch.tensor([1])]), weight),
        lambda: torch._nested_tensor_from_mask(torch.ones(2, 3, 2), torch.tensor([[True, True, False], [True, False, False]])),
        lambda: torch._nested_from_padded_and_nested_example(nt.to_padded_tensor(0.0) + 1, nt),
        lambda: torch._nested_from_padded(nt.to_padded_tensor(0.0), nt._nested_tensor_size()),
    ]
    refused = "shape size() size(1) stride() sum() sum(-1) sum(1,keepdim=True) mean() exp() cumsum(0) softmax(0) softmax(5) transpose(0,1) item() eq(nt)"
    refused += " unsqueeze(0) squeeze(0) unbind(1) view(3,2) view(-1,3) view(2,7) chunk(2,-1) chunk(2,1) split_with_sizes([1,1],-1) select(2,5) tolist()"
    refused += " mul(a) add(a) matmul(a) bmm(a) to_padded_tensor(0.0,(2,1,4)) transpose(1,2).relu() transpose(1,2).to_padded_tensor(0.0) clone().fill_(a)"
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
    a, b, weight = torch.arange(6.0).reshape(2, 3) - 2, torch.arange(12.0).reshape(4, 3).cos(), torch.arange(15.0).reshape(5, 3) / 10
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
        leaf, parts = torch.nested.nested_tensor([a, b], requires_grad=True), [t.clone().requires_grad_() for t in (a, b)]
        f(leaf).backward()
        f(torch.nested.as_nested_tensor(parts)).backward()
        found += [*leaf.grad.unbind(), *(p.grad for p in parts), leaf.is_leaf, (leaf * 2).is_leaf, leaf.transpose(1, 2).is_leaf]
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
    sequences = torch.nested.nested_tensor([torch.arange(48.0).reshape(3, 16).sin(), torch.arange(80.0).reshape(5, 16).cos()])
    empty = torch.nested.nested_tensor([torch.rand(0, 16)])
    attention, found = layer.self_attn, [parts(lambda: layer(sequences))]
    with torch.no_grad():
        found += [parts(lambda: f(x)) for f in (layer, nn.TransformerEncoder(layer, 2)) for x in (sequences, empty)]
        found += [parts(lambda: layer(torch.nested.nested_tensor([]))), parts(lambda: attention(sequences, sequences, sequences, need_weights=False)[0])]
        found += [attention(sequences, sequences, sequences, average_attn_weights=average)[1] for average in (True, False)]
    return [*found, parts(lambda: layer.train()(sequences))]
