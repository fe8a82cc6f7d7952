"""What a dispatch mode sees of a function, and the nodes that it leaves behind.

PyTorch's own operators are one each, whatever they are computed from here.
"""

from torch.utils._python_dispatch import TorchDispatchMode


class Seen(TorchDispatchMode):
    """Collects in `names` what reaches a dispatch mode."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if (
            str(func) != "aten.detach.default"
        ):  # PyTorch detaches results that it saves, where a formula here may read an argument
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def graph(result):
    """The names of the nodes behind results, breadth first."""
    tensors = [result] if not isinstance(result, (tuple, list)) else result
    found, nodes = [], [t.grad_fn for t in tensors if t.grad_fn is not None]
    for node in nodes:
        if node is not None and node not in found:
            found.append(node)
            nodes += [n for n, _ in node.next_functions]
    return [n.name().split("::")[-1] for n in found]


def _told(f, *inputs):
    """What is seen, the nodes with a mode and without one, the gradients of both ways."""

    with Seen() as seen:
        watched = f(*inputs)
    plain = f(*inputs)
    graphs, gradients = [graph(watched), graph(plain)], []
    for result in (watched, plain):
        tensors = [t for t in (result if isinstance(result, (tuple, list)) else [result]) if t.requires_grad]
        sum((t.abs() ** 2).sum() for t in tensors).backward()
        gradients += [None if x.grad is None else x.grad.clone() for x in inputs]
        for x in inputs:
            x.grad = None
    return seen.names, graphs, gradients


def _inputs(torch, *shapes):
    torch.manual_seed(0)
    return [torch.rand(shape).requires_grad_() for shape in shapes]


def case_matrices(torch):
    x, v, square = _inputs(torch, (3, 4), (4,), (3, 3))
    fs = [
        torch.diag_embed,
        torch.rot90,
        torch.aminmax,
        torch.deg2rad,
        torch.rad2deg,
        lambda x: torch.block_diag(x, x),
        lambda x: torch.renorm(x, 2, 0, 1.0),
    ]
    fs += [
        lambda x: x.take(torch.tensor([0, 5, 5])),
        lambda x: x.put(torch.tensor([1, 2, 3, 7]), x[0]),
        lambda x: torch.nansum(x, 1),
        lambda x: torch.dist(x, x * 2),
    ]
    fs += [
        lambda x: torch.mvlgamma(x + 2, 2),
        lambda x: x.narrow_copy(0, 1, 2),
        lambda x: torch.split_copy(x, 2),
        lambda x: torch.unsqueeze_copy(x, 0),
    ]
    fs += [
        lambda x: x.repeat(2, 1, 1),
        lambda x: torch.unsafe_split(x, 2),
        lambda x: x.split(3, 1),
        lambda x: x.chunk(2),
        lambda x: torch.sort(x, dim=1, stable=True)[0],
    ]
    fs += [
        lambda x: x.sort()[0],
        lambda x: torch.diag(x),
        lambda x: torch.fft.rfft(x, 6, 0),
        lambda x: torch.copysign(x, -1.0),
    ]
    fs += [
        lambda x: x.masked_select(torch.tensor([True, False, True, True])),
        lambda x: x[:1].masked_scatter(torch.eye(3, 4) > 0.5, x),
    ]
    found = [_told(f, x) for f in fs]
    found += [
        _told(lambda v: torch.addr(square, v[:3], v[:3]), v),
        _told(lambda v: x.detach().t() @ v[:3], v),
        _told(lambda v: v @ x.t(), v),
    ]
    found += [
        _told(torch.trace, square),
        _told(lambda s: torch.linalg.cross(s, s[:1] * 2), square),
        _told(lambda s: torch.ldexp(s, s * 2), square),
    ]
    return found


def case_clamps(torch):
    (x,) = _inputs(torch, (3, 4))
    limit = x.detach().flip(0)
    fs = [
        lambda x: x.clamp(0.2, 0.7),
        lambda x: x.clamp(min=0.2),
        lambda x: x.clamp(min=limit),
        lambda x: x.clamp(limit * 0.5, limit),
    ]
    fs += [
        lambda x: torch.clamp_min(x, 0.3),
        lambda x: x.clamp_max(limit),
        lambda x: x.clamp_max(0.4),
        lambda x: torch.nn.functional.normalize(x),
    ]
    return [_told(f, x) for f in fs]


def case_images(torch):
    F = torch.nn.functional
    x, line = _inputs(torch, (2, 4, 6, 6), (2, 3, 5))
    fs = [
        lambda x, mode=mode, pad=pad: F.pad(x, pad, mode=mode)
        for mode in ("reflect", "replicate")
        for pad in ((1, 2, 0, 3), (-1, 2, 1, 1))
    ]
    fs += [lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 3), lambda x: torch.channel_shuffle(x, 2)]
    fs += [
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        lambda x: F.adaptive_avg_pool2d(x, 4),
    ]
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        fs += [
            lambda x, mode=mode: F.interpolate(x, scale_factor=1.5, mode=mode),
            lambda x, mode=mode: F.interpolate(x, (4, 9), mode=mode),
        ]
    fs += [lambda x: torch.cat([x.contiguous(memory_format=torch.channels_last)] * 2, 1)]
    labels = torch.tensor([0, 2, 3, 1]).repeat(2, 18)[:, :36].reshape(2, 6, 6)
    fs += [
        lambda x, kind=kind: F.nll_loss(x, labels, reduction=kind, ignore_index=2) for kind in ("mean", "sum", "none")
    ]
    fs += [lambda x: F.cross_entropy(x, labels)]
    found = [_told(f, x) for f in fs]
    fs = [
        lambda x: F.pad(x, (1, 2), mode="reflect"),
        lambda x: F.pad(x, (4, 0), mode="replicate"),
        lambda x: F.adaptive_avg_pool1d(x, 2),
    ]
    fs += [lambda x: F.interpolate(x, 7), lambda x: F.interpolate(x, scale_factor=2, mode="linear", align_corners=True)]
    return found + [_told(f, line) for f in fs]


def case_batches_of_gradients(torch):
    """What is one node hands back a batch of gradients, and gradients of gradients, as its parts do.

    Transforms go through it.
    """
    (x,) = _inputs(torch, (3, 3))
    F, at = torch.nn.functional, torch.tensor([0, 4, 4])
    fs = [
        torch.trace,
        lambda x: x.narrow_copy(0, 1, 2),
        lambda x: torch.block_diag(x, x * 2),
        lambda x: x.take(at),
        lambda x: x.put(at[:2], x[0, :2]),
    ]
    fs += [
        lambda x: torch.nansum(x, 1),
        lambda x: torch.aminmax(x, dim=1)[1],
        lambda x: torch.ldexp(x, x),
        lambda x: torch.mvlgamma(x + 2, 2),
    ]
    fs += [
        lambda x: torch.addr(x, x[0], x[1]),
        lambda x: torch.dist(x, x.flip(0) * 2),
        lambda x: torch.renorm(x, 2, 0, 0.7),
    ]
    fs += [
        lambda x: F.pad(x[None], (1, 1), mode="reflect"),
        lambda x: F.pad(x[None], (1, 2), mode="replicate"),
        lambda x: x.clamp(x * 0.5, x.flip(0)),
    ]
    found = []
    for f in fs:
        y = f(x)
        (g,) = torch.autograd.grad(y, x, y.detach(), create_graph=True)
        twice = (
            torch.autograd.grad(
                g, x, torch.stack([g.detach(), g.detach() * 2]), is_grads_batched=True, retain_graph=True
            )[0].contiguous()
            if g.requires_grad
            else None
        )
        found.append(
            [
                torch.autograd.grad(y, x, torch.stack([y.detach()] * 2), is_grads_batched=True)[0],
                twice,
                torch.func.jacrev(f)(x.detach()),
            ]
        )
        found.append(torch.func.jacrev(torch.func.grad(lambda x, f=f: (f(x) ** 2).sum()))(x.detach()))
    return found


def case_pooled_back(torch):
    F = torch.nn.functional
    x, volume = _inputs(torch, (2, 3, 4, 4), (1, 2, 4, 4, 4))
    small, at = F.max_pool2d(x.detach(), 2, return_indices=True)
    flat, at1 = F.max_pool1d(x.detach()[0], 2, return_indices=True)
    block, at3 = F.max_pool3d(volume.detach(), 2, return_indices=True)
    found = [
        _told(lambda x: F.max_unpool2d(x, at, 2), small.requires_grad_()),
        _told(lambda x: F.max_unpool1d(x, at1, 2), flat.requires_grad_()),
    ]
    found += [
        _told(lambda x: F.max_unpool3d(x, at3, 2), block.requires_grad_()),
        _told(lambda x: F.adaptive_avg_pool3d(x, (2, 1, 2)), volume),
    ]
    return found


def case_attention(torch):
    F = torch.nn.functional
    q, k = _inputs(torch, (2, 4, 3, 8), (2, 2, 5, 8))
    mask = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]).bool()
    fs = [
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        lambda q, k: F.scaled_dot_product_attention(q, q, q, is_causal=True),
    ]
    fs += [
        lambda q, k: F.scaled_dot_product_attention(q[:, :2], k, k, attn_mask=mask),
        lambda q, k: F.scaled_dot_product_attention(q[:, :2], k, k, scale=0.3),
    ]
    fs += [lambda q, k: F.scaled_dot_product_attention(q[:, :2], k, k, attn_mask=mask.float())]
    fs += [lambda q, k: F.scaled_dot_product_attention(q.transpose(1, 2).contiguous().transpose(1, 2), q, q)]
    return [_told(f, q, k) for f in fs]


def case_attention_by_name(torch):
    q, k = _inputs(torch, (2, 4, 3, 8), (2, 4, 5, 8))
    out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, k, 0.0, True)
    found = [out, sums, sums.stride(), sums.requires_grad, out.grad_fn.name()]
    torch.backends.cuda.enable_flash_sdp(False)
    try:
        found += [
            torch.backends.cuda.flash_sdp_enabled(),
            torch.nn.functional.scaled_dot_product_attention(q, k, k).grad_fn.name(),
        ]
    finally:
        torch.backends.cuda.enable_flash_sdp(True)
    return found


def case_rsub_scaled(torch):
    return _told(lambda x, y: torch.rsub(y, x, alpha=2), *_inputs(torch, (3, 4), (4,)))


def case_lerp_in_place(torch):
    return _told(lambda x, y: (x * 2).lerp_(x * 3, 0.3), *_inputs(torch, (3, 4), (4,)))


def case_scaled(torch):
    """What alpha multiplies is multiplied in the gradient too, within a mode and in place."""
    x, y = _inputs(torch, (3, 4), (4,))
    fs = [
        lambda x, y: torch.add(x, y, alpha=3),
        lambda x, y: torch.sub(x, y, alpha=0.5),
        lambda x, y: x.add(2, alpha=3),
    ]
    fs += [
        lambda x, y: (x * 2).add_(y, alpha=3),
        lambda x, y: (x * 2).sub_(y, alpha=-2),
        lambda x, y: (x * 2).add_(x, alpha=2),
    ]
    fs += [
        lambda x, y: (x * 2).addcmul_(x, y),
        lambda x, y: (x * 2).addcmul_(x, y, value=2),
        lambda x, y: (x * 2).addcdiv_(x, y + 1, value=-2),
    ]
    z, w = (torch.rand(3, dtype=torch.complex64).requires_grad_() for _ in range(2))
    return [_told(f, x, y) for f in fs] + [
        _told(lambda z, w: torch.add(z, w, alpha=1 + 2j), z, w),
        _told(lambda z, w: (z * 2).sub_(w, alpha=2j), z, w),
    ]


def case_shape_in_place(torch):
    """The tensor itself becomes the view, within a mode too."""
    (x,) = _inputs(torch, (1, 4))
    fs = [
        lambda x: (x * 2).squeeze_(0),
        lambda x: (x * 2).unsqueeze_(0),
        lambda x: (x * 2).t_(),
        lambda x: (x * 2).transpose_(0, 1),
        lambda x: (x * 2).squeeze_(),
    ]
    return [_told(f, x) for f in fs]


def case_by_name(torch):
    (x,) = _inputs(torch, (1, 2, 4, 5))
    aten = torch.ops.aten
    y = aten.reflection_pad2d(x, [1, 1, 2, 0])
    found = [
        y,
        aten.reflection_pad2d_backward(y, x, [1, 1, 2, 0]),
        aten.replication_pad2d.default(x, [1, 0, 1, 0]),
        aten._adaptive_avg_pool2d(x, [2, 2]),
    ]
    found += [
        aten.upsample_nearest2d_backward(y.detach(), [6, 7], [1, 2, 4, 5]),
        aten.upsample_bilinear2d_backward(y.detach(), [6, 7], [1, 2, 4, 5], True),
    ]
    return found + [aten.split.Tensor(x, 2, 3), aten.sort.stable(x, stable=True), aten.any.dim(x > 0.5, 1)]


def case_masks(torch):
    """A mask is an index like others to who looks below autograd, and to graphs."""
    from torch.fx.experimental.proxy_tensor import make_fx

    x, m, c = (
        torch.arange(12.0).reshape(3, 4),
        torch.tensor([True, False, True]),
        torch.tensor([[True, False, True, False]] * 3),
    )

    def written(index, value):
        def f(x, m, c):
            x = x.clone()
            x[index(m, c)] = value
            return x

        return f

    fs = [
        lambda x, m, c: x[m],
        lambda x, m, c: x[c],
        lambda x, m, c: x[m, 1],
        lambda x, m, c: x[None, m],
        lambda x, m, c: torch.ops.aten.index(x, [m]),
    ]
    fs += [
        written(lambda m, c: m, 0.0),
        written(lambda m, c: c, 1.0),
        written(lambda m, c: m, torch.ones(4)),
        written(lambda m, c: [0, 2], 4.0),
    ]
    graphs = [make_fx(f)(x, m, c) for f in fs]
    found = [[[str(n.target) for n in g.graph.nodes if n.op == "call_function"], g(x, m.flip(0), c)] for g in graphs]
    return [*found, *(_told(lambda x, f=f: f(x, m, c), x.detach().requires_grad_()) for f in fs)]
