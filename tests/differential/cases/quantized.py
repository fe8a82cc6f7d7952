"""Quantized tensors: their integers and numbers, views, what is written to them, arithmetic, files, errors.

Fake quantization with its gradients.
"""

import copy
import io
import pickle
import warnings


def text(f):
    try:
        return repr(f())
    except Exception as e:
        return [type(e).__name__, str(e).split("\n")[0].split(". ")[0][:120]]


def made(torch, n=6):
    """Tensors of each scheme and dtype over numbers of many sizes, halves among them."""
    torch.manual_seed(n)
    x = torch.cat([torch.randn(n, 40) * 3, torch.arange(-20, 20).mul(0.05).expand(n, 40)], 1).contiguous()
    scales, zeros = torch.rand(n, dtype=torch.double) * 0.1 + 0.01, torch.arange(n)
    found = [torch.quantize_per_tensor(x, 0.1, 10, d) for d in (torch.quint8, torch.qint8, torch.qint32)]
    found += [torch.quantize_per_channel(x, scales, zeros, 0, d) for d in (torch.quint8, torch.qint8, torch.qint32)]
    found += [torch.quantize_per_channel(x.t().contiguous(), scales.float(), zeros + 0.3, 1, torch.quint8)]
    return found + [torch.quantize_per_tensor(x, torch.tensor(0.037), torch.tensor(3), torch.quint8)]


def case_quantized_values(torch):
    found = []
    for q in made(torch):
        found += [
            q.int_repr(),
            q.dequantize(),
            str(q.qscheme()),
            str(q.dtype),
            q.is_quantized,
            q.type(),
            q.element_size(),
            q.stride(),
            repr(q),
        ]
        found += [
            q.max().item() if q.qscheme() is torch.per_tensor_affine else q.q_per_channel_scales(),
            q.untyped_storage().nbytes(),
            str(q.storage().dtype),
        ]
    for reduce_range in (False, True):
        for x in (
            torch.randn(50),
            torch.rand(50) + 3,
            -torch.rand(50),
            torch.zeros(3),
            torch.randn(9) * 1e-7,
            torch.tensor([0.0, 1e-3]),
        ):
            for d in (torch.quint8, torch.qint8):
                q = torch.quantize_per_tensor_dynamic(x, d, reduce_range)
                found += (
                    [q.int_repr().numel(), q.q_scale(), q.q_zero_point()]
                    if x.abs().max() < 1e-2 or x.min() >= 3
                    else [q.dtype is d]
                )
    a, b = torch.quantize_per_tensor(
        [torch.ones(2), torch.arange(3.0)], torch.tensor([0.5, 0.1]), torch.tensor([1, 2]), torch.qint8
    )
    return [*found, repr(a), repr(b), torch.dequantize([a, b])]


def case_quantized_functions(torch):
    F = torch.nn.functional
    x = torch.tensor([[-1.0, 0.0, 1.0, 2.0], [0.25, 0.35, 300.0, -300.0]])
    found = []
    for q in (
        torch.quantize_per_tensor(x, 0.1, 10, torch.quint8),
        torch.quantize_per_tensor(x, 0.05, -3, torch.qint8),
        torch.quantize_per_channel(
            x, torch.tensor([0.1, 0.2], dtype=torch.double), torch.tensor([10, 0]), 0, torch.qint8
        ),
    ):
        image = q.unsqueeze(0)
        calls = [
            lambda: (
                q[0],
                q[0, 1],
                q[:, 1:],
                q[0, 1].item(),
                q.narrow(0, 0, 1),
                q.split(2, 1),
                q.chunk(2),
                q.unbind(0),
                list(q),
                len(q),
                q[None, ..., 0:2],
            ),
            lambda: (
                q.clone(),
                q.contiguous(),
                q.detach(),
                q.view_as(q),
                q.unsqueeze(1),
                q.squeeze(),
                q.cpu(),
                q.to("cpu"),
                q.data,
            ),
            lambda: (
                q.t(),
                q.T,
                q.permute(1, 0),
                q.transpose(0, 1),
                q.expand(2, 2, 4),
                q.as_strided((2,), (1,)),
                q.unfold(1, 2, 1),
                q.movedim(0, 1),
            ),
            lambda: (q.view(-1), q.view(4, 2), q.reshape(8), q.flatten(), q.view(-1).data_ptr() == q.data_ptr()),
            lambda: (q.repeat(1, 2), q.tile(2), q.flip(0), q.diagonal()),
            lambda: (torch.cat([q, q]), torch.stack([q, q])),
            lambda: (q.index_select(0, torch.tensor([1])), q[[1, 0]], q[torch.tensor([True, False])]),
            lambda: q.sort(),
            lambda: q.topk(2),
            lambda: (q.max(), q.max(1), q.min(), q.min(0)),
            lambda: (q.mean(), q.mean(1), q.std()),
            lambda: (
                torch.relu(q),
                q.clone().relu_(),
                q.clamp(0, 1),
                F.hardtanh(q),
                F.relu6(q),
                F.leaky_relu(q),
                F.threshold(q, 0.0, 0.0),
            ),
            lambda: (torch.sigmoid(q), torch.tanh(q), F.hardsigmoid(q), F.gelu(q)),
            lambda: (
                F.max_pool2d(image, 2),
                F.avg_pool2d(image, 2),
                F.adaptive_avg_pool2d(image, 1),
                F.max_pool1d(q, 2),
            ),
            lambda: (
                F.interpolate(q[None, None], scale_factor=2),
                F.pixel_shuffle(q.view(1, 4, 1, 2), 2),
                F.pad(q, (1, 1)),
            ),
            lambda: (q == q, q < 1.0, q.ge(x), q.equal(q), torch.equal(q, q.clone())),
            lambda: (q.masked_fill(torch.tensor(True), 1.0), q.clone().masked_fill_(q > 1, 0.5)),
            lambda: (
                q.clone().fill_(3.0),
                q.clone().copy_(x),
                q.clone().copy_(q),
                torch.ones_like(q),
                torch.empty_like(q).shape,
            ),
            lambda: torch.empty_quantized((2, 3), q).shape,
            lambda: (q.q_scale(), q.q_zero_point()),
            lambda: (q.q_per_channel_scales(), q.q_per_channel_zero_points(), q.q_per_channel_axis()),
            *(
                lambda f=f: f(q)
                for f in (torch.isclose, torch.Tensor.float, torch.Tensor.numpy, torch.Tensor.requires_grad_)[1:]
            ),
            lambda: q.tolist(),
            lambda: q.allclose(q),
            lambda: q.item(),
            lambda: q.is_signed(),
            lambda: torch.as_strided(q, (2, 2), (1, 4)).resize_(3),
            lambda: (copy.deepcopy(q), pickle.loads(pickle.dumps(q))),
        ]
        found += [text(f) for f in calls]
        w, file = q.clone(), io.BytesIO()
        w[0], w[1, 2] = 5.0, torch.tensor(2.0)
        found.append(repr(w))
        w[0] = w[1]
        torch.save({"q": w, "view": w[1]}, file)
        file.seek(0)
        found += [repr(w), repr(torch.load(file))]
    for shape in ((5, 5), (2, 3, 4)):
        q = torch._empty_affine_quantized(shape, scale=2, zero_point=3, dtype=torch.quint8)
        found += [q.flatten().shape, q.q_scale(), str(q.dtype)]
    made_of = torch._make_per_tensor_quantized_tensor(torch.arange(4, dtype=torch.uint8), 0.5, 1)
    return [
        *found,
        repr(made_of),
        repr(
            torch._make_per_channel_quantized_tensor(
                torch.ones(2, 2, dtype=torch.int8), torch.rand(2) * 0 + 1, torch.zeros(2), 0
            )
        ),
    ]


def case_quantized_errors(torch):
    x, scales, zeros = torch.ones(2, 3), torch.ones(2), torch.zeros(2, dtype=torch.int64)
    calls = [
        lambda: torch.quantize_per_tensor(x.double(), 1.0, 0, torch.quint8),
        lambda: torch.quantize_per_tensor(x, 1.0, 0, torch.uint8),
        lambda: torch.quantize_per_tensor(x, 1.0, 0),
        lambda: torch.quantize_per_channel(x, scales, zeros, 1, torch.quint8),
        lambda: torch.quantize_per_channel(x, scales, zeros[:1], 0, torch.quint8),
        lambda: torch.quantize_per_tensor(x, 1.0, 0, torch.quint8).roll(1),
        lambda: torch.quantize_per_tensor(x, 1.0, 0, torch.quint8).float(),
        lambda: torch.fake_quantize_per_tensor_affine(x, 1.0, 300, 0, 255),
        lambda: torch.fake_quantize_per_tensor_affine(x, 1.0, 0, 255, 0),
        lambda: torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, 0, 255),
        lambda: torch.fake_quantize_per_channel_affine(x, scales, zeros.int(), 1, 0, 255),
        lambda: torch.ones(2).dequantize(),
        lambda: torch.ones(2, dtype=torch.half).dequantize(),
    ]
    kinds = [lambda: x.q_scale(), lambda: x.int_repr(), lambda: x.qscheme()]
    return [text(f) for f in calls] + [text(f)[0] for f in kinds]


def case_fake_quantize(torch):
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    found = []
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(3, 20, dtype=dtype) * 3
        calls = [lambda t: torch.fake_quantize_per_tensor_affine(t, 0.1, 5, 0, 30)]
        calls += [
            lambda t: torch.fake_quantize_per_tensor_affine(
                t, torch.tensor(0.07), torch.tensor(-2, dtype=torch.int32), -8, 7
            )
        ]
        for zeros in (torch.tensor([0, 3, -1], dtype=torch.int32), torch.tensor([0.0, 1.5, -1.0])):
            calls += [
                lambda t, z=zeros: torch.fake_quantize_per_channel_affine(
                    t, torch.tensor([0.1, 0.2, 0.05]), z, 0, -20, 20
                )
            ]
        for f in calls:
            t = x.clone().requires_grad_()
            y = f(t)
            (y * torch.arange(20, dtype=dtype)).sum().backward()
            found += [y, t.grad]
    return found
