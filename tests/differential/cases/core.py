"""Tensors, views, indexing, in-place, autograd: what every program rests on."""

import math
import warnings

from attempts import attempts


def case_strides_of_views(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    return [
        x.transpose(0, 1),
        x.permute(2, 0, 1),
        x[:, 1],
        x[..., ::2],
        x[:, None],
        x.expand(5, 2, 3, 4),
        x.diagonal(0, 1, 2),
        x.unfold(2, 2, 1),
        x.T if False else x.mT,
        x.unsqueeze(-1),
        x.flatten(1),
        x.view(6, 4),
        x[1:, 1:, 1:],
        x.narrow(1, 1, 2),
        *x.split(2, 2),
        *x.chunk(3, 1),
        *x.unbind(1),
    ]


def case_strides_of_elementwise(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = x.permute(2, 0, 1)
    return [
        y + 1,
        y * y,
        y + torch.ones(3),
        x.transpose(1, 2) + x.transpose(1, 2),
        y[::2].exp(),
        torch.ones(3, 1).expand(3, 4) + 1,
        x.transpose(0, 2) + x.permute(2, 1, 0),
    ]


def case_views_write_through(torch):
    x = torch.zeros(4, 5)
    x[1:3, ::2] = 7
    x.t()[0] += 2
    x.view(-1)[-1] = 9
    x.diagonal().mul_(3).add_(1)
    x[:, 3].copy_(torch.arange(4.0))
    return [x, x._version > 0]


def case_index_forms(torch):
    x = torch.arange(60.0).reshape(3, 4, 5)
    i, m = torch.tensor([2, 0]), x > 30
    return [
        x[1],
        x[-1, 2],
        x[i],
        x[:, i],
        x[i, :, i],
        x[..., i],
        x[None, i, 1:],
        x[m],
        x[m[:, :, 0]],
        x[[0, 2]],
        x[[0, 1], [1, 2]],
        x[torch.tensor([[0, 1], [2, 0]])],
        x[:, torch.tensor([True, False, True, False])],
        x[i[:, None], i],
        x[1, i],
        x[True],
        x[torch.tensor(1)],
        x[0, :, torch.tensor([1, 1])],
    ]


def case_index_assignment(torch):
    x = torch.zeros(3, 4)
    x[torch.tensor([0, 2])] = torch.ones(4)
    x[x == 1] = 5
    x[1, 1:3] = torch.tensor([8.0, 9.0])
    x[torch.tensor([0, 0]), torch.tensor([1, 1])] = 3
    x[..., -1] = torch.arange(3.0)
    x.index_put_((torch.tensor([0, 0]),), torch.ones(4), accumulate=True)
    return x


def case_index_errors(torch):
    x, out = torch.zeros(3, 4), []
    for f in (
        lambda: x[3],
        lambda: x[0, 0, 0],
        lambda: x[torch.tensor([5])],
        lambda: x[1.5],
        lambda: x[torch.zeros(2, dtype=torch.bool)],
        lambda: x.select(2, 0),
        lambda: x[::-1],
        lambda: torch.zeros(())[0],
    ):
        try:
            f()
            out.append("no error")
        except Exception as e:
            out.append(type(e).__name__)
    return out


def case_backward_of_views_and_inplace(torch):
    w = torch.arange(6.0).reshape(2, 3).requires_grad_()
    x = w * 2
    x[0].mul_(3)
    x[:, 1] = 5
    y = x.t()
    y[2].add_(w[0, 0])
    (x * x).sum().backward()
    return [w.grad, x, type(x.grad_fn).__name__ == "CopySlices"]


def case_double_backward(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x.exp() * x.sin() / (1 + x * x)).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    return [g, h]


def case_autograd_errors(torch):
    out = []

    def attempt(f):
        try:
            f()
            out.append("no error")
        except Exception as e:
            out.append([type(e).__name__, str(e)[:40]])

    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    attempt(lambda: y.backward())
    y.sum().backward()
    attempt(lambda: y.sum().backward())
    attempt(lambda: x.add_(1))
    attempt(lambda: x[0].add_(1))
    z = x * 1
    s = z.exp()
    s.add_(1)
    attempt(lambda: s.sum().backward())
    attempt(lambda: torch.ones(2).backward())
    attempt(lambda: torch.ones(2, dtype=torch.long, requires_grad=True))
    attempt(lambda: torch.autograd.grad(x.sum(), torch.ones(2, requires_grad=True)))
    attempt(lambda: x.numpy())
    return out


def case_hooks(torch):
    seen = []
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.sum().item()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum().item()))
    y.sum().backward()
    return [x.grad, y.grad, seen]


def case_custom_function(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            y = x.exp() * k
            ctx.save_for_backward(y)
            ctx.k = k
            return y, x.sum()

        @staticmethod
        def backward(ctx, g, h):
            (y,) = ctx.saved_tensors
            return g * y + h, None

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    a, b = F.apply(x, 3)
    (a.sum() + b).backward()
    return [a, b, x.grad]


def case_checkpoint_and_saved_hooks(torch):
    from torch.utils.checkpoint import checkpoint

    out = []
    for reentrant in (True, False):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = checkpoint(lambda t: (t * t).exp(), x, use_reentrant=reentrant)
        y.sum().backward()
        out.append(x.grad)
    packed = []
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t * 2, lambda t: t):
        y = x * x
    y.sum().backward()
    return [*out, x.grad, len(packed)]


def case_promotion(torch):
    i, f, b = torch.tensor([1, 2]), torch.tensor([1.5, 2.5]), torch.tensor([True, False])
    d = torch.tensor(2.0, dtype=torch.float64)
    return [
        i + f,
        i + 1.5,
        b + 1,
        b + True,
        i / 2,
        i // 2,
        f * d,
        i * d,
        b * d,
        i.to(torch.int8) + 200,
        f.to(torch.bfloat16) * 1.1,
        i + 1j,
        f.half() + f,
        i**2,
        2**f,
    ]


def case_shape_errors(torch):
    out = []
    for f in (
        lambda: torch.ones(2, 3) + torch.ones(4),
        lambda: torch.ones(2, 3).view(5),
        lambda: torch.ones(2, 3).t().view(6),
        lambda: torch.ones(2, 3) @ torch.ones(2, 3),
        lambda: torch.ones(2).expand(3, 3),
        lambda: torch.cat([torch.ones(2, 2), torch.ones(3, 3)]),
        lambda: torch.ones(3).add_(torch.ones(2, 3)),
        lambda: torch.ones(2, dtype=torch.int64).add_(1.5),
        lambda: torch.add(torch.ones(2), "a"),
        lambda: torch.zeros(2, device="cuda"),
        lambda: torch.device("foo"),
        lambda: torch.ones(2).squeeze(3),
        lambda: torch.tensor([[1, 2], [3]]),
    ):
        try:
            f()
            out.append("no error")
        except Exception as e:
            out.append(type(e).__name__)
    return out


def case_errors_of_products_that_were_called_before(torch):
    """The second right call takes a shorter way, which must not ask a wrong one's shapes."""
    F, x, v, stack, out = torch.nn.functional, torch.ones(8, 8), torch.ones(8), torch.ones(8, 8, 8), []
    for _ in range(3):
        (
            torch.mm(x, x),
            torch.bmm(stack, stack),
            F.linear(x, x, v),
            torch.addmm(v, x, x),
            x.topk(2),
            torch.softmax(x, -1),
        )
    for f in (
        lambda: torch.mm(x, v),
        lambda: torch.mm(v, x),
        lambda: torch.mm(x, torch.ones(7, 2)),
        lambda: torch.mm(x, x.int()),
        lambda: torch.bmm(x, x),
        lambda: F.linear(x, v),
        lambda: F.linear(x, stack),
        lambda: torch.addmm(v, x, v),
        lambda: x.topk(9),
        lambda: x.topk(2, 5),
        lambda: torch.softmax(x, 4),
    ):
        try:
            out.append(f())
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


def case_random_stream(torch):
    g = torch.Generator().manual_seed(7)
    return [
        torch.rand(3),
        torch.randint(0, 100, (5,)),
        torch.randperm(7),
        torch.rand(2, 2, generator=g),
        torch.bernoulli(torch.full((6,), 0.3)),
        torch.empty(4).uniform_(-1, 1),
        torch.nn.functional.dropout(torch.ones(8), 0.5),
    ]


def case_printing(torch):
    return [
        repr(torch.tensor([1.0, 2.5])),
        repr(torch.zeros(2, 2, dtype=torch.int64)),
        repr(torch.ones(2, requires_grad=True) * 2),
        repr(torch.empty(0)),
        repr(torch.tensor(True)),
        repr(torch.ones(3, device="meta")),
        str(torch.Size([1, 2])),
        repr(torch.tensor([1e-8, 1e8])),
        repr(torch.tensor([1 + 2j])),
    ]


def case_dlpack_capsules(torch):
    x = torch.arange(3.0)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    y[0] = 5
    try:
        torch.ones(1, requires_grad=True).__dlpack__()
    except BufferError as e:
        return [x, str(e)]


def case_deterministic_memory(torch):
    torch.use_deterministic_algorithms(True)
    try:
        found = [
            torch.empty(2),
            torch.empty(2, dtype=torch.int8),
            torch.empty_like(torch.ones(2)),
            torch.empty(1, dtype=torch.bool),
            torch.ones(2).new_empty(1),
        ]
        torch.utils.deterministic.fill_uninitialized_memory = False
        return [*found, torch.empty(3).shape]
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)


def case_limits_compare(torch):
    return [
        torch.finfo(torch.float32) == torch.finfo(torch.float32),
        torch.finfo(torch.float32) == torch.finfo(torch.float64),
        repr(torch.finfo(torch.bfloat16)),
    ]


def case_rounding_as_integers_would(torch):
    x = torch.tensor([-1.3, -0.2, 0.0, 0.26, 1.4, 0.05, math.nan], requires_grad=True)
    y = torch.linspace(-2, 2, 6).reshape(2, 3).requires_grad_()
    scale, zero = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32)
    found = []
    for leaf, f in (
        (x, lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)),
        (
            x,
            lambda: torch.fake_quantize_per_tensor_affine(
                x, torch.tensor([0.1]), torch.tensor([3], dtype=torch.int32), 0, 15
            ),
        ),
        (y, lambda: torch.fake_quantize_per_channel_affine(y, scale, zero, 1, -8, 7)),
        (y, lambda: torch.fake_quantize_per_channel_affine(y, scale, zero.float(), 1, -8, 7)),
        (x, lambda: torch.fake_quantize_per_tensor_affine(x.double(), 0.1, 3, 0, 15)),
    ):
        out = f()
        found += [out, *torch.autograd.grad(out.sum(), leaf)]
    a, b = torch.arange(-6, 6, dtype=torch.int8).reshape(3, 4), torch.arange(-120, -112, dtype=torch.int8).reshape(4, 2)
    return found + [
        torch._int_mm(a, b),
        torch._int_mm(a.view(torch.uint8) & 127, b),
    ]  # PyTorch cuts sums of two products off at 16 bits


def case_errors_of_rounding_as_integers_would(torch):
    x, scale, zero = torch.ones(2, 3), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32)
    a = torch.ones(3, 4, dtype=torch.int8)
    return attempts(
        lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 15, 0),
        lambda: torch.fake_quantize_per_tensor_affine(x, 0.1, 30, 0, 15),
        lambda: torch.fake_quantize_per_channel_affine(x, scale[:2], zero, 1, -8, 7),
        lambda: torch.fake_quantize_per_channel_affine(x, scale, zero.long(), 1, -8, 7),
        lambda: torch.fake_quantize_per_channel_affine(x, scale, zero, 0, -8, 7),
        lambda: torch._int_mm(a, a),
        lambda: torch._int_mm(a.int(), a.T),
        lambda: torch._int_mm(a, a.T.int()),
        lambda: torch._int_mm(a[0], a.T),
    )


def case_writing_where_arguments_lie(torch):
    """Indices and values may not lie in the memory that is written to; values of fills and masks may."""
    index, mask, one = torch.tensor([2, 1, 0]), torch.tensor([True, False, True]), torch.ones(1).expand(3)
    writers = [
        lambda y, i, v, n=n: getattr(y, n)(0, i, v) for n in ("index_add_", "index_copy_", "scatter_", "scatter_add_")
    ]
    writers += [
        lambda y, i, v: y.put_(i, v),
        lambda y, i, v: y.index_put_((i,), v),
        lambda y, i, v: y.__setitem__(i, v),
    ]
    writers += [lambda y, i, v: y.scatter_reduce_(0, i, v, "sum"), lambda y, i, v: y.index_reduce_(0, i, v, "mean")]
    found = []
    for write in writers:
        for make in (
            lambda y: (y, index, y[:3]),
            lambda y: (y, index, torch.ones(3)),
            lambda y: (one, index, torch.ones(3)),
        ):
            found += attempts(lambda: write(*make(torch.arange(6.0))))
        i = index.clone()
        found += attempts(lambda: write(i, i, i.clone()), lambda: write(i, i.clone(), i))
    y, m, i = torch.arange(3.0), mask.clone(), index.clone()
    found += attempts(
        lambda: y.clone().index_fill_(0, index, y[0]),
        lambda: i.index_fill_(0, i, 0),
        lambda: y.clone().masked_fill_(mask, y[0]),
        lambda: m[1:].masked_fill_(m[:-1], False),
        lambda: torch.masked_select(y, mask, out=one),
        lambda: torch.masked_select(y, mask, out=y),
    )
    for name in ("scatter", "scatter_add", "index_add", "index_copy"):
        o = torch.arange(6.0)
        found += attempts(
            lambda: getattr(torch, name)(o, 0, index, y, out=o), lambda: getattr(torch, name)(o, 0, index, o[:3], out=o)
        )
    return found + attempts(
        lambda: torch.gather(i, 0, index, out=i), lambda: torch.gather(torch.arange(9, 12), 0, i, out=i)
    )


def _words(*makers):
    """What each gives: a value, or the error's type and words."""
    found = []
    for make in makers:
        try:
            found.append(make())
        except Exception as e:
            found.append((type(e).__name__, str(e)[:80]))
    return found


def case_errors_of_small_things(torch):
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)])
    x, chalf = torch.randn(1), []
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 10, torch.quint8)
    torch.use_deterministic_algorithms(True)
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for make in (torch.randn, torch.empty, torch.zeros, torch.ones):
                make(2, dtype=torch.complex32)
                chalf.append(told[-1].message.args[0][:36])
        resized = _words(lambda: quantized.resize_(9))
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_warn_always(False)
    return [chalf, *resized] + _words(
        lambda: torch.quint8.is_signed,
        lambda: torch.bits8.is_signed,
        lambda: torch.iinfo(torch.quint8).max,
        lambda: nested.is_same_size(nested.clone()),
        lambda: nested.is_same_size(torch.ones(2)),
        lambda: torch.ones(2).is_same_size(nested),
        lambda: torch.is_same_size(torch.ones(2), torch.ones(2)),
        lambda: torch.set_num_threads(True),
        lambda: torch.set_num_interop_threads(1.5),
        lambda: x.set_(x.untyped_storage(), 100, x.size()),
        lambda: x.set_(x.untyped_storage(), 100, (2,)).untyped_storage().nbytes(),
        lambda: setattr(torch.utils.deterministic, "fill_uninitialized_memory", 1),
        lambda: torch.ops.aten._local_scalar_dense(torch.ones(0)),
        lambda: torch.cummax(torch.ones(3), 0, out=(torch.ones(0), torch.ones(0, dtype=torch.int32))),
        lambda: torch.logcumsumexp(torch.ones(3).double(), 0, out=torch.ones(0)),
        lambda: torch.empty_like(torch.ones(3).to_sparse(), memory_format=torch.preserve_format),
    )


def case_scaled_gradients(torch):
    grads, found, inverse = (
        [torch.full((2, 2), 4.0).t(), torch.full((2,), 8.0).double()],
        torch.zeros(1),
        torch.full((1,), 0.25),
    )
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)
    steps = [[g.clone() for g in grads], found.clone()]
    torch._amp_foreach_non_finite_check_and_unscale_([grads[0].fill_(math.inf)], found, inverse)
    scale, tracker = torch.full((1,), 4.0), torch.zeros(1, dtype=torch.int32)
    for bad in (0.0, 0.0, 1.0):
        torch._amp_update_scale_(scale, tracker, torch.tensor([bad]), 2.0, 0.25, 2)
        steps += [scale.clone(), tracker.clone()]
    p = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [16.0, 32.0, 64.0], (2, 3))
    p.grad = p.clone()
    p.grad._values().mul_(0.25)
    return [*steps, found, p.grad.to_dense()] + _words(
        lambda: torch._amp_foreach_non_finite_check_and_unscale_(grads, found.double(), inverse),
        lambda: torch._amp_foreach_non_finite_check_and_unscale_(grads, torch.zeros(2), inverse),
        lambda: torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(2).long()], found, inverse),
        lambda: torch._amp_update_scale_(scale, tracker.float(), found, 2.0, 0.25, 2),
    )


def case_refusals_and_formats_of_modules(torch):
    F = torch.nn.functional
    ones, mask, theta = torch.ones(2), torch.ones(2, 3, dtype=torch.bool), torch.zeros(1, 2, 3)
    x = torch.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        F.affine_grid(theta, torch.Size([1, 1, 2, 1]), align_corners=True)
    found = [
        [str(w.message)[-60:] for w in told],
        torch.nn.BatchNorm2d(2).eval()(x),
        torch.nn.BatchNorm2d(2)(x).stride(),
    ]
    for module in (torch.nn.LSTM(3, 4), torch.nn.GRU(3, 4)):
        module(torch.zeros(5, 0, 3))[0].sum().backward()
        found.append([p.grad for p in module.parameters()])
    nested = torch.nested.nested_tensor(
        [torch.arange(10.0).reshape(2, 5), torch.arange(12.0).reshape(3, 4)], requires_grad=True
    )
    seen = nested.transpose(-2, -1)
    seen.backward(seen.clone())
    rows = torch.tensor([[0, 1, 2], [2, 0, 3]]).to_sparse_csr()
    moved = [rows.to("cpu", copy=True), rows.to(torch.float32)]
    found += [
        nested.grad.unbind(),
        [m.crow_indices().data_ptr() == rows.crow_indices().data_ptr() for m in moved],
        rows.to("cpu") is rows,
    ]
    return found + _words(
        lambda: torch.isclose(ones, ones, torch.tensor(1.5), torch.tensor(1.0, requires_grad=True)),
        lambda: torch.isclose(ones, ones, torch.tensor(1.5), torch.tensor(1.0)),
        lambda: torch.nn.Fold((4, 5), 2, dilation=8)(torch.ones(1, 12, 12)),
        lambda: F.fractional_max_pool2d(torch.ones(2, 3, 8, 8), 2, output_ratio=[0.5, 0.5, 0.6]),
        lambda: F.interpolate(torch.ones(1, 1, 4, 4), (torch.tensor(8.0),) * 2),
        lambda: F.interpolate(torch.ones(1, 1, 1, 1), size=(2**31 - 1, 2**31 - 1)),
        *(
            lambda a=a: torch.ones(13).as_strided(*a).view(torch.double)
            for a in (((2,), (2,), 1), ((3,), (2,), 1), ((2, 2), (3, 2), 1), ((2, 2), (3, 1), 0), ((2, 2), (3, 2), 0))
        ),
        lambda: torch._nested_tensor_from_mask(torch.ones(2, 3, 4), mask.unsqueeze(2)),
        lambda: torch._nested_tensor_from_mask(torch.ones(2, 3), mask),
        lambda: torch._nested_tensor_from_mask(torch.ones(2, 4, 4), mask),
        lambda: torch.ops.aten.detach(ones.to_sparse()).to_dense(),
        lambda: torch.nn.ReflectionPad2d(1)(torch.ones(3, 0, 4, 4)),
        lambda: torch.nn.ReplicationPad1d(1)(torch.ones(0, 3, 4)).shape,
        lambda: torch.nn.ReplicationPad1d(1)(torch.ones(3, 0, 4)),
        lambda: torch.constant_pad_nd(
            torch.ones(1, 2, 5, 3).contiguous(memory_format=torch.channels_last), [1, 2], 0.5
        ),
        lambda: _batch_norm_of_duals(torch),
    )


def _batch_norm_of_duals(torch):
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        x, mean = (ad.make_dual(t, torch.ones_like(t)) for t in (torch.ones(3, 2, 5), torch.zeros(2)))
        return torch.nn.functional.batch_norm(x, mean, torch.ones(2))


def case_what_random_programs_found(torch):
    """Differences that tools/fuzz.py has found in 20,000 programs, and their kin."""
    small, x, found = torch.tensor([250, 3, 7], dtype=torch.uint8), torch.tensor([1.5, -2.0, 0.5]), []
    calls = [
        lambda: torch.add(x, small, alpha=2),
        lambda: torch.sub(torch.tensor([1, 2, 3]), small, alpha=3),
        lambda: torch.rsub(small, x, alpha=-1),
        lambda: x.clone().add_(small, alpha=100),
        lambda: torch.add(x, small[0], alpha=2),
        lambda: torch.add(x[0], small, alpha=2),
        lambda: torch.add(x.double()[0], x, alpha=2).dtype,
        lambda: torch.sub(x, small > 5, alpha=2),
        lambda: torch.stack([x.sum(), x], 1),
        lambda: torch.empty(0).roll(1, 1),
        lambda: (x > 0).all().kthvalue(1, 0),
        lambda: torch.zeros(2, 3).index_add(1, torch.tensor([0]), x),
    ]
    for f in calls:
        try:
            found.append(f())
        except Exception as e:
            found.append((type(e).__name__, str(e)))
    for name in ("max", "min", "median", "nanmedian"):
        base = torch.tensor([[1.5, -2.0, 0.5], [0.0, 3.0, -1.0]], requires_grad=True)
        torch.pow(base, getattr(base, name)()).sum().backward()
        found.append(base.grad)
    with torch.inference_mode():
        found.append(torch.rand(2, 3).t().clone().is_inference())
    return found


def case_weights_of_lerp_and_the_first_index_out_of_range(torch):
    x, i = torch.arange(6.0).view(2, 3), torch.tensor([0, 1])
    weight = torch.tensor(0.25, dtype=torch.double, requires_grad=True)
    torch.lerp(x, x * 2, weight).sum().backward()
    return weight.grad, attempts(
        *(
            lambda w=w: torch.lerp(x, x * 2, w)
            for w in (torch.tensor(1), torch.tensor(0.5).half(), torch.tensor(1j), torch.ones(1).double(), True, 0.5)
        ),
        *(
            lambda w=w: x.clone().lerp_(x * 2, w)
            for w in (torch.tensor(1), torch.tensor(0.5).double(), torch.tensor(1j), torch.ones(2, 3).double())
        ),
        *(lambda w=w: torch.lerp(i, i, w) for w in (0.5, torch.tensor(0.5), torch.tensor(1))),
        lambda: torch.lerp(x, x.half(), 0.5),
        lambda: x[torch.tensor([0, 7, 6, -9])],
        lambda: x[:, torch.tensor([0, 3, 2, 9])],
        lambda: x.take(torch.tensor([9, 8, 10])),
        lambda: x.put_(torch.tensor([0]), torch.ones(2)),
        lambda: torch.round(i, decimals=1),
        lambda: torch.round(i > 0),
        lambda: torch.nn.Parameter(i),
        lambda: setattr(torch.tensor([1]), "requires_grad", True),
        lambda: i.requires_grad_(),
        lambda: torch.nn.Linear(3, 3).half()(x),
        lambda: torch.nn.Linear(3, 3, bias=False).half()(x),
        lambda: torch.nn.Embedding(3, 2, padding_idx=4),
    )


def case_convolutions_without_channels(torch):
    """Their gradients are zeros of the arguments' sizes, the bias's as well."""
    out = []
    for dims, dtype in ((1, torch.float32), (2, torch.complex64), (3, torch.float32)):
        conv = getattr(torch.nn, f"Conv{dims}d")(0, 8, 2, stride=2, dtype=dtype)
        x = torch.ones(2, 0, *(5,) * dims, dtype=dtype, requires_grad=True)
        y = conv(x)
        y.backward(torch.ones_like(y))
        out += [y, x.grad, conv.weight.grad, conv.bias.grad]
    return out + _words(
        lambda: torch.conv_transpose1d(torch.ones(2, 0, 7), torch.ones(8, 0, 2)),
        lambda: torch.conv1d(torch.ones(2, 1, 0), torch.ones(8, 0, 2)),
    )


def case_second_gradients_of_convolutions(torch):
    double_backward, out = torch.ops.aten._convolution_double_backward, []
    for transposed in (False, True):
        x, w, b = torch.randn(2, 3, 6), torch.randn(3, 3, 3), torch.randn(3)
        y = torch.ops.aten.convolution(x, w, b, (2,), (1,), (1,), transposed, (0,), 1)
        gx, gw, gb, gy = (torch.randn(t.shape) for t in (x, w, b, y))
        for given in ((gx, gw, gb), (gx, None, None), (None, gw, gb), (None, None, gb), (None, None, None)):
            grads = double_backward(*given, gy, w, x, (2,), (1,), (1,), transposed, (0,), 1, [True, False, True])
            out.append(
                [g if g is None else g.contiguous() for g in grads]
            )  # PyTorch's of the weight is a view of what it computed
    images, weight = torch.randn(2, 2, 6, 6, requires_grad=True), torch.randn(3, 2, 3, 3, requires_grad=True)
    torch.backends.nnpack.is_available()  # where PyTorch initializes it
    y = torch._nnpack_spatial_convolution(images, weight, torch.ones(3), padding=1, stride=2)
    return [*out, y, *torch.autograd.grad(y.sum(), (images, weight))] + _words(
        lambda: torch._nnpack_spatial_convolution(images[0], weight, None, 0),
        lambda: torch._nnpack_spatial_convolution(images.double(), weight.double(), None, 0),
        lambda: torch._nnpack_spatial_convolution(images, weight[:, :1], None, 0),
    )


def case_memory_formats_where_dimensions_are_of_one(torch):
    """Strides of dimensions of one element tell a format as well."""
    F, last, out = torch.nn.functional, torch.channels_last, []
    for shape in ((2, 1, 3, 3), (4, 16, 1, 1), (2, 3, 1, 4)):
        x = torch.ones(shape).to(memory_format=last)
        drawn = [
            torch.rand_like(x),
            torch.randn_like(x),
            torch.randint_like(x, 3),
            torch.rand_like(x, memory_format=torch.contiguous_format),
        ]
        out += [t.stride() for t in drawn]
        out += [
            F.max_pool2d(x, 1),
            F.avg_pool2d(x, 1),
            F.adaptive_avg_pool2d(x, 1),
            F.interpolate(x, scale_factor=2),
            F.group_norm(x, 1),
        ]
        for w in (torch.ones(1, shape[1], 1, 1), torch.ones(1, shape[1], 1, 1).to(memory_format=last)):
            out += [
                F.conv2d(x, w),
                F.conv2d(x.contiguous(), w),
                F.conv_transpose2d(x, w.transpose(0, 1).to(memory_format=last)),
            ]
    return out


def case_ends_of_ranges(torch):
    found = []
    for make in (torch.linspace, torch.logspace):
        for start, end in ((0, 1j), (0j, 1), (torch.tensor(1j), 2)):
            for dtype in (
                None,
                torch.float32,
                torch.float16,
                torch.int64,
                torch.bool,
                torch.complex64,
                torch.complex128,
            ):
                found += _words(lambda: make(start, end, 5, dtype=dtype))
        found += _words(lambda: make(0, 1, 3, dtype=torch.bool))
    return found + _words(
        lambda: torch.linspace(0, 300, 3, dtype=torch.uint8),
        lambda: torch.linspace(0, 1e39, 3),
        lambda: torch.linspace(0, 70000, 3, dtype=torch.float16),
    )


def case_permutations_as_long_as_a_type_counts(torch):
    limits = {torch.uint8: 256, torch.int8: 128, torch.int16: 1 << 15, torch.float16: 2049, torch.int32: 1 << 31}
    return [
        _words(lambda: torch.randperm(n, dtype=dtype))
        for dtype, limit in limits.items()
        for n in (limit, limit + 1)
        if n < 1 << 20 or n == limit + 1
    ]


def case_tensors_of_sequences(torch):
    """What torch.tensor and torch.asarray make of sequences of other kinds, NumPy's scalars, and numbers wanted as
    truth values or whole.
    """
    import array

    import numpy as np

    class Sequence:
        def __init__(self, values, error=None):
            self.values, self.error = values, error

        def __len__(self):
            return len(self.values)

        def __getitem__(self, i):
            if self.error is not None:
                raise self.error
            return self.values[i]

    tiny = [1e-323, 1e-324, 0j, 1e-323j, 1e-324j, 1 + 2j, -1j]
    makers = [
        lambda: torch.tensor(Sequence([1.0, 2.0])),
        lambda: torch.tensor(Sequence([Sequence([1, 2]), Sequence([3, 4])])),
        lambda: torch.tensor(Sequence([1.0], TypeError())),
        lambda: torch.tensor([Sequence([1.0], KeyError("a"))]),
        lambda: torch.tensor(Sequence([], TypeError())),
        lambda: torch.tensor(((7, np.array(5)), (np.array(9), 5.0))),
        lambda: torch.tensor(((7, 5), (9, np.array(5.0)))),
        lambda: torch.tensor(((5, np.array(3)), (np.array(3), 5))),
        lambda: torch.tensor(tiny, dtype=torch.bool),
        lambda: torch.tensor(1e-60, dtype=torch.bool),
        lambda: torch.tensor([2**63, 0, 2**2000], dtype=torch.bool),
        lambda: torch.tensor([16777217.0, -3.99], dtype=torch.int64),
        lambda: torch.asarray(np.float32(0.5), copy=False),
    ]
    for x in (
        range(5),
        range(0),
        Sequence([1, 2]),
        np.float64(0.5),
        np.float32(0.5),
        np.int8(3),
        np.array(1.5),
        array.array("f", [1, 2]),
        3,
        [True, 2],
    ):
        makers += [lambda x=x: torch.asarray(x), lambda x=x: torch.as_tensor(x)]
    makers += [lambda x=x: torch.asarray(x, copy=False) for x in (range(5), Sequence([1, 2]), [1, 2])]
    return _words(*makers)


def case_refusals_of_linear_algebra(torch):
    found, x, y = [], torch.ones(2), torch.ones(2, 3)
    for shape in ((2, 2), (3, 2, 2), (4, 2), (2, 3, 5)):
        A = torch.randn(shape, dtype=torch.float64)
        LU, pivots = torch.linalg.lu_factor(A)
        B = torch.ones(*shape[:-1], 1, dtype=torch.float64)
        for wrong in (0, -1, shape[-2] + 1):
            p = pivots.clone()
            p[..., 0] = wrong
            found += _words(
                lambda: torch.lu_unpack(LU, p),
                lambda: torch.lu_unpack(LU, p, unpack_pivots=False),
                lambda: torch.linalg.lu_solve(LU, p, B),
                lambda: torch.linalg.lu_solve(LU, p, B, adjoint=True),
            )
    for equation, operands in (("", []), (",", [x]), ("a,b,1", [x, x]), ("a1,b", [x]), ("", [x, x]), ("a", [x, x])):
        found += _words(lambda: torch.einsum(equation, operands))
    return found + _words(
        lambda: torch.chain_matmul(),
        lambda: torch.chain_matmul(x, x),
        lambda: torch.chain_matmul(y),
        lambda: torch.linalg.multi_dot([y, y.t()], out=torch.empty(0, dtype=torch.float64)),
        lambda: torch.linalg.multi_dot([y, y.t()], out=torch.empty(0)),
    )


def case_products_with_an_activation(torch):
    out = []
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        c, a, b = torch.randn(2, 4).to(dtype), torch.randn(2, 3).to(dtype), torch.randn(3, 4).to(dtype)
        for options in ({}, {"use_gelu": True}, {"beta": 0.5, "alpha": 2, "use_gelu": True}):
            out.append(torch._addmm_activation(c, a, b, **options))
        out += [
            torch._addmm_activation(torch.full_like(c, math.nan), a, b, beta=0),
            torch._addmm_activation(c[0], a, b, out=torch.empty(0, dtype=dtype)),
        ]
        out.append(torch._addmm_activation(c.to("meta"), a.to("meta"), b.to("meta")).shape)
    return out + _words(
        lambda: (
            torch._addmm_activation(torch.ones(2, 4, requires_grad=True), torch.ones(2, 3), torch.ones(3, 4))
            .sum()
            .backward()
        ),
        lambda: torch._addmm_activation(torch.ones(2, 4, dtype=torch.bool), torch.ones(2, 3) > 0, torch.ones(3, 4) > 0),
        lambda: torch._addmm_activation(torch.ones(5), torch.ones(2, 3), torch.ones(3, 4)),
    )


def case_reductions_of_too_many_dimensions(torch):
    x = torch.randn([1] * 65)
    names = "sum mean prod amax amin any all argmax argmin std var nansum nanmean logsumexp count_nonzero hash_tensor"
    names = names.split()
    made = torch.zeros([1] * 20 + [2] + [1] * 30, dtype=torch.float64)
    return [
        *_words(*[lambda f=getattr(torch, n), d=d: f(x, d) for n in names for d in (0, -1)]),
        *_words(
            lambda: x.max(0),
            lambda: x.min(64),
            lambda: x.norm(dim=0),
            lambda: torch.linalg.vector_norm(x, dim=0),
            lambda: torch.masked.prod(x, 0),
        ),
        made.clone().flatten(),
        torch.empty(made.shape).copy_(made).double().flatten(),
        made.transpose(20, 1).contiguous().shape,
        torch.full(made.shape, 2).flatten(),
    ]


def case_none_for_an_empty_list_of_dimensions(torch):
    x = torch.arange(6.0).reshape(2, 3)
    return [
        *[f(x, dim=None, keepdim=k) for f in (torch.amax, torch.amin, torch.hash_tensor) for k in (False, True)],
        x.amax(None),
        torch.amin(x, None, out=torch.empty(())),
        torch.roll(x, 1, None),
        x.roll((2,), dims=None),
        *attempts(lambda: torch.roll(x, None), lambda: torch.roll(x, (1, 2), None)),
    ]


def case_out_leads_the_dtype_of_sums(torch):
    x = torch.tensor([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
    makers = []
    for f in (torch.sum, torch.prod, torch.cumsum, torch.cumprod):
        for a in (x, x.int(), x.double()):
            for out in (torch.int32, torch.float32, torch.float64, torch.int64, torch.complex64):
                makers += [
                    lambda f=f, a=a, o=out, d=d: f(a, 0, dtype=d, out=torch.empty(0, dtype=o))
                    for d in (None, torch.float32, torch.int64)
                ]
    return _words(*makers)


def case_words_for_out_of_another_dtype(torch):
    x, b, e = torch.arange(6.0).reshape(2, 3), torch.tensor([1.0, 2.0]), lambda dtype: torch.empty(0, dtype=dtype)
    pairs = ((torch.int8, torch.int64), (torch.float32, torch.float32))
    return _words(
        lambda: torch.bucketize(x, b, out=e(torch.float32)),
        lambda: torch.searchsorted(b, x, out=e(torch.int64), out_int32=True),
        *[
            lambda f=f, p=p: f(x, *more, out=tuple(map(e, p)))
            for f, more in ((torch.mode, ()), (torch.median, (1,)), (torch.nanmedian, (0,)))
            for p in pairs
        ],
        *[lambda p=p: torch.kthvalue(x, 1, out=tuple(map(e, p))) for p in pairs],
        *[lambda f=f: f(x, 0.5, out=e(torch.int32)) for f in (torch.quantile, torch.nanquantile)],
        lambda: torch.nanquantile(x, 7.0),
        lambda: torch.quantile(x, torch.tensor(0.5, device="meta")),
    )


def case_old_aminmax(torch):
    x = torch.arange(6.0).reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            *torch._aminmax(x),
            *torch._aminmax(x, 1),
            *torch._aminmax(x, 0, True),
            *_words(
                lambda: torch._aminmax(torch.empty(0)),
                lambda: torch._aminmax(torch.empty(0, 3), 0),
                lambda: torch._aminmax(x, 5),
            ),
        ]


def case_histograms_that_are_refused(torch):
    f, d = torch.float32, torch.float64
    v, e, h, hd = torch.tensor(0.5), lambda *s, dtype=f: torch.ones(s, dtype=dtype), torch.histogram, torch.histogramdd
    return _words(
        lambda: h(v, e(2, dtype=d)),
        lambda: h(v, 1, weight=e(dtype=d)),
        lambda: h(v, 1, out=(e(dtype=d), e())),
        lambda: h(v, 1, out=(e(), e(dtype=d))),
        lambda: h(e(2, 2), e(2, 2)),
        lambda: h(e(0), e(0)),
        lambda: h(v, e(1)),
        lambda: h(v, -1),
        lambda: h(e(2, 2), 1, weight=e(1)),
        lambda: h(v, 2, range=(1, 0)),
        lambda: h(v, 2, range=(1, 2, 3)),
        lambda: h(torch.tensor([1, math.inf]), 2),
        lambda: hd(e(3), 1),
        lambda: hd(e(3, 2), [1]),
        lambda: hd(e(3, 2), [e(2)]),
        lambda: hd(e(3, 2), [e(2), e(2, dtype=d)]),
        lambda: hd(e(3, 2), 2, range=[0.0, 1.0]),
        lambda: hd(e(3, 2), 2, weight=e(2)),
        *[lambda s=s, k=k: hd(e(*s), 3, density=k)[0] for s in ((5, 0), (7, 0, 3)) for k in (False, True)],
    )


def case_logcumsumexp_of_complex(torch):
    inf, nan = math.inf, math.nan
    z = [complex(a, b) for a in (-inf, -1.0, 0.0, 2.5, inf, nan) for b in (0.0, 1.0, -2.0, 3.0, inf, nan)]
    pairs = [(a, b) for a in z for b in z]
    short = torch.tensor([-inf + 4j, 1.2 + 2.1j, inf + 0j, inf + 1j])
    return [torch.logcumsumexp(torch.tensor(pairs, dtype=torch.complex128), 1), torch.logcumsumexp(short, 0)]


def case_identities_of_masked_reductions(torch):
    identity = torch.masked._reduction_identity
    names = "sum cumsum prod amax argmax amin argmin logaddexp logsumexp mean var std median norm softmax masked.sum"
    names = names.split()
    dtypes = (torch.float32, torch.bfloat16, torch.int8, torch.uint8, torch.bool, torch.uint16, torch.int64)
    return [
        *_words(*[lambda n=n, d=d: identity(n, torch.ones(2, dtype=d)) for n in names for d in dtypes]),
        *[identity(n, torch.ones(2, dtype=torch.complex64)) for n in ("sum", "prod", "logsumexp", "norm")],
        *_words(
            lambda: identity("norm", torch.ones(2), -math.inf), lambda: identity("norm", torch.ones(2).int(), -math.inf)
        ),
    ]


def case_meshgrid_checks_dtype_and_device_first(torch):
    x = torch.arange(3.0)
    lists = (
        [x, x.to("meta")],
        [x, x.long().to("meta")],
        [x.reshape(3, 1), x.long()],
        [x.reshape(3, 1), x.to("meta")],
        [x, x.double(), x.to("meta")],
    )
    return _words(*[lambda t=t: torch.meshgrid(t, indexing="ij") for t in lists])


def case_warnings_of_factories_into_out(torch):
    makers = {
        "arange": lambda o: torch.arange(5, out=o),
        "linspace": lambda o: torch.linspace(0, 1, 5, out=o),
        "logspace": lambda o: torch.logspace(0, 1, 5, out=o),
        "eye": lambda o: torch.eye(3, out=o),
        "zeros": lambda o: torch.zeros(2, 2, out=o),
        "full": lambda o: torch.full((2, 2), 1.0, out=o),
        "rand": lambda o: torch.rand(2, 2, out=o),
        "normal": lambda o: torch.normal(0.0, 1.0, (2, 2), out=o),
        "bernoulli": lambda o: torch.bernoulli(torch.ones(2, 2), out=o),
        "fftfreq": lambda o: torch.fft.fftfreq(4, out=o),
        "complex": lambda o: torch.stack([o.new_zeros(2)] * 2, out=o),
    }
    found = []
    for name, make in makers.items():
        for shape in ((1,), (3, 5), (1, 5), (0,)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                shape = tuple(make(torch.empty(shape)).shape)
            found.append((name, shape, [str(w.message).partition(" (Triggered")[0] for w in caught]))
    return found


def case_products_of_booleans_and_of_nothing(torch):
    functional = torch.nn.functional
    b, v = torch.ones(2, 3, dtype=torch.bool), torch.tensor([True, False, True])
    none, d = b[:0], b.double()
    pairs = [
        (b, b.t()),
        (none, b.t()),
        (b, none.t()),
        (b[:, :0], b[:, :0].t()),
        (b, d.t()),
        (d, b.t()),
        (none, d.t()),
        (none.float(), d.t()),
        (b.float(), d.t()),
    ]
    made = []
    for x, y in pairs:
        made += [
            lambda x=x, y=y: torch.mm(x, y),
            lambda x=x, y=y: torch.bmm(x[None], y[None]),
            lambda x=x, y=y: functional.linear(x, y.t()),
        ]
        made += [lambda x=x, y=y: torch.baddbmm(torch.ones(()).expand(1, x.shape[0], y.shape[1]), x[None], y[None])]
        made += [lambda x=x, y=y: torch.mv(x, y[:, 0]), lambda x=x, y=y: torch.einsum("ij,jk->ik", x, y)]
    dots = [torch.dot, torch.inner, torch.vdot, lambda x, y: torch.tensordot(x, y, 1)]
    made += [lambda f=f, n=n: f(v[:n], v[:n]) for f in dots for n in (3, 0)]
    w = torch.arange(3.0, requires_grad=True)
    dot = torch.tensordot(w, w, 1).grad_fn.next_functions[0][0].name(), torch.tensordot(d, d, 2)
    return _words(*made), dot


def case_dimensions_of_scans_and_medians_of_nothing(torch):
    nothing = torch.empty(0, 3)
    return _words(
        *[
            lambda n=n, d=d: getattr(torch, n)(nothing, d)
            for n in ("cummax", "cummin", "cumsum")
            for d in (1, 2, 5, -3)
        ],
        lambda: torch.nanmedian(torch.empty(2, 0), 1),
        lambda: torch.median(torch.empty(2, 0), 1, True),
        *[
            lambda n=n, t=t, d=d: getattr(nothing.to(t), n)(d)
            for n in "median nanmedian max min amax amin".split()
            for t in (torch.bool, torch.cfloat)
            for d in (0, 1)
        ],
        *[lambda n=n: getattr(nothing.to(torch.cfloat), n)() for n in ("max", "min")],
        lambda: nothing.bool().kthvalue(1, 0),
    )


def case_copies_of_parts_of_the_same_memory(torch):
    def copied(source):
        x = torch.arange(6.0).view(2, 3)
        return x.copy_(source(x))

    sources = [
        lambda x: x[0:1],
        lambda x: x[0, 0],
        lambda x: x[0:1].expand(2, 3),
        lambda x: x.flip(0),
        lambda x: x[:, :1],
    ]
    return _words(*[lambda f=f: copied(f) for f in sources])


def case_complex_numbers_that_may_be_nan(torch):
    z = torch.tensor([1 + 2j], requires_grad=True)
    return _words(lambda: z.nan_to_num(), lambda: torch.nan_to_num(z * 1), lambda: z.detach().nan_to_num())


def case_indices_into_nothing(torch):
    nothing, index = torch.empty(0, 3), torch.ones(1, 3, dtype=torch.int64)
    return _words(
        *[
            lambda n=n, v=v: getattr(nothing, n)(0, index, v)
            for n, v in (
                ("scatter", 2),
                ("scatter", torch.ones(1, 3)),
                ("scatter_add", torch.ones(1, 3)),
                ("scatter_", 2),
            )
        ],
        lambda: nothing.scatter_reduce(0, index, torch.ones(1, 3), "sum"),
        lambda: nothing.scatter(0, index[:0], 2),
    )


def case_classes_of_the_wrong_shape(torch):
    logits = [torch.zeros(3), torch.zeros(2, 3), torch.zeros(2, 3, 4)]
    classes = [
        torch.tensor(0.5),
        torch.tensor(1),
        torch.zeros(2, 3).long(),
        torch.zeros(2, 4),
        torch.zeros(2),
        torch.zeros(1).long(),
        torch.zeros(2, 5, 5).long(),
    ]
    losses = torch.nn.functional.nll_loss, torch.nn.functional.cross_entropy
    return _words(
        *[
            lambda f=f, x=x, t=t: f(x, t)
            for f in losses
            for x in logits
            for t in classes
            if not (x.dim() == 3 and t.dim() == 2)
        ]
    )


def case_gradient_of_copysign_at_zero(torch):
    x = torch.tensor([0.0, 1.0, -2.0, 0.0], requires_grad=True)
    torch.copysign(x, torch.tensor([1.0, -1.0, 1.0, -1.0])).backward(
        torch.tensor([float("inf"), 1.0, float("nan"), 2.0])
    )
    return x.grad


def case_masks_and_gradients_of_attention(torch):
    attend, draw = torch.nn.functional.scaled_dot_product_attention, torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, n, 4, 8, generator=draw, dtype=torch.float64).transpose(1, 2) for n in (5, 7, 7))
    seen = torch.randn(5, 7, generator=draw) > 0
    seen[2] = False
    masks = [
        None,
        seen,
        seen.double(),
        torch.randn(2, 1, 1, 7, generator=draw, dtype=torch.float64),
        torch.zeros(5, 1, dtype=torch.float64),
    ]
    found = []
    for mask in masks:
        for scale, at in (
            (None, ...),
            (1.0, ...),
            (0.3, 0),
        ):  # PyTorch's kernel for four dimensions has no second gradient
            inputs = [t[at].detach().clone().requires_grad_() for t in (q, k, v)]
            if mask is not None and mask.dtype != torch.bool:
                inputs.append((mask if at is ... or mask.dim() < 3 else mask[0]).clone().requires_grad_())
            out = attend(*inputs[:3], mask if len(inputs) == 3 else inputs[3], scale=scale)
            first = torch.autograd.grad(out.sin().sum(), inputs, create_graph=at == 0)
            second = torch.autograd.grad(sum((g * g).sum() for g in first), inputs) if at == 0 else ()
            found += [out, *(g.contiguous() for g in (*first, *second))]
    causal = [
        attend(x, y, y, is_causal=True)
        for x, y in ((q, k), (q[0], k[0]), (q[0, 0], k[0, 0]), (q, k[:1]), (q.float(), k.float()))
    ]
    wide = torch.randn(3, 2, 40, 16, generator=draw)
    many = [
        attend(wide, wide, wide),
        attend(wide, wide, wide, is_causal=True),
        attend(wide[:, :, :3], wide, wide, torch.ones(3, 40).tril().bool()),
    ]
    wrong = [
        torch.zeros(5, 6),
        torch.zeros(3, 4, 5, 7),
        torch.zeros(2, 2, 5, 7),
        torch.zeros(1, 2, 4, 5, 7),
        torch.zeros(5, 7).long(),
    ]
    pairs = [(q.float(), k.float()), (q[0, 0].float(), k[0, 0].float())]
    refused = _words(*[lambda m=m, x=x, y=y: attend(x, y, y, m) for m in wrong for x, y in pairs])
    return found, causal, many, refused


def case_devices_that_are_not_there(torch):
    """What is made there, what is moved there; a mixin's __torch_function__ sees methods as well."""
    makers = [
        lambda d: torch.ones(1, device=d),
        lambda d: torch.rand(2, device=d),
        lambda d: torch.arange(3, device=d),
        lambda d: torch.tensor([1], device=d),
    ]
    makers += [
        lambda d: torch.as_tensor([1], device=d),
        lambda d: torch.asarray([1], device=d),
        lambda d: torch.ones(1).to(d),
        lambda d: torch.empty(0, device=d),
    ]
    makers += [
        lambda d: torch.ones(1).new_zeros(2, device=d),
        lambda d: torch.as_tensor(torch.ones(1), device=d),
        lambda d: torch.nn.Linear(1, 1, device=d),
    ]
    found = []
    for f in [lambda m=m, d=d: m(d) for d in ("cuda", "xpu", "mps", "ipu", "vulkan", "hpu") for m in makers] + [
        torch.ones(1).xpu,
        torch.ones(1).ipu,
    ]:
        try:
            f()
        except Exception as e:
            found.append(
                [type(e).__name__, str(e).partition(" This could")[0].replace("empty_strided", "empty.memory_format")]
            )
    log = []

    class Mixed:
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            log.append(f.__name__)
            return super().__torch_function__(f, types, args, kwargs or {})

    class Sub(Mixed, torch.Tensor):
        pass

    s = torch.ones(2).as_subclass(Sub)
    return found, s.numel(), type(s + 1).__name__, s.is_shared(), s.tolist(), log


def case_objects_that_are_no_numbers(torch):
    """What torch.tensor takes an object for: its numbers where it is a sequence, never what __array__ or __float__
    would give.
    """
    import fractions

    import numpy as np

    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    class Sequence(Array):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            if i > 1:
                raise IndexError
            return i * 10

    class Floating:
        def __float__(self):
            return 2.5

    class Index:
        def __index__(self):
            return 3

    given = [
        Array(),
        Sequence(),
        Floating(),
        Index(),
        fractions.Fraction(3, 2),
        [Floating(), 1.0],
        np.zeros(2, ">f8"),
        [np.ones(2, np.uint8)],
        [np.array(3)],
    ]
    given += [[np.str_("a")], [np.datetime64("2020")], [np.longdouble(1)]]
    makers = [
        torch.tensor,
        torch.as_tensor,
        torch.asarray,
        lambda x: torch.tensor(x, dtype=torch.float64),
        lambda x: torch.tensor(x, dtype=torch.int64),
    ]
    found = []
    for f in [lambda m=m, x=x: m(x) for m in makers[:3] for x in given] + [
        lambda m=m, x=x: m(x) for m in makers[3:] for x in given[:6]
    ]:
        try:
            found.append(f())
        except Exception as e:
            found.append([type(e).__name__, str(e).partition(". The only")[0]])
    for f in [lambda: torch.frombuffer(5, dtype=torch.int8), lambda: torch.set_warn_always(5)]:
        try:
            f()
        except Exception as e:
            found.append([type(e).__name__, str(e)])
    return found


def case_residuals_of_least_squares(torch):
    """The drivers that know the rank tell none where a matrix of the batch has not the full one."""
    a, b = torch.arange(30.0).reshape(2, 5, 3).sin(), torch.arange(20.0).reshape(2, 5, 2).cos()
    lacking = a.clone()
    lacking[0, :, 0] = lacking[0, :, 1]
    found = []
    for driver in ("gelsd", "gelss"):
        for matrix, right in ((a, b), (lacking, b), (lacking[0], b[0]), (a[1], b[1]), (lacking[0], b[0, :, 0])):
            r = torch.linalg.lstsq(matrix, right, driver=driver)
            found.append([r.solution.shape, r.residuals, r.rank])
    return found


def case_arguments_of_another_type(torch):
    import numpy as np

    functional, x, one = torch.nn.functional, torch.arange(24.0).reshape(2, 3, 4), torch.tensor([1])
    ints = [True, 1.0, one, torch.tensor(1), torch.tensor(True), np.int64(1), np.array(1), np.array([1])]
    takers = [
        lambda n: x.select(n, 0),
        lambda n: x.unsqueeze(n),
        lambda n: x.cumsum(n),
        lambda n: torch.group_norm(x, n),
        lambda n: functional.glu(x[:, :2], n),
    ]
    floats = [torch.tensor([1e-5]), torch.tensor(1e-5), np.float32(1e-5), np.array([1e-5]), 1j, True, "a"]
    takers_of_floats = [lambda e: torch.layer_norm(x, (4,), None, None, e), lambda e: torch.allclose(x, x, e)]
    made = [lambda f=f, n=n: f(n) for f in takers for n in ints] + [
        lambda f=f, e=e: f(e) for f in takers_of_floats for e in floats
    ]
    sums = [
        lambda f=f: f(x, 2, 3) for f in (torch.add, torch.sub, torch.subtract, torch.Tensor.add, torch.Tensor.sub)
    ] + [lambda: x.clone().add_(1, 2)]
    others = [
        lambda: x.type(x),
        lambda: x.type(3),
        lambda: x.type(one),
        lambda: torch.split(x, torch.tensor(2)),
        lambda: x.long().lu,
    ] + [lambda: torch.isin(x, True), lambda: torch.isin(x, 2j)]
    kinds = [
        lambda: x.float(None),
        lambda: x.cpu(None),
        lambda: torch.as_tensor(x, torch.float64),
        lambda: x.clamp(one, 2),
        lambda: torch.split(x, True),
    ]
    return _words(*made, *sums, *others[:4], *others[5:]), [
        type(e[0] if isinstance(e, tuple) else e).__name__ for e in _words(*kinds)
    ]


def case_losses_and_norms_by_the_wrong_dimension(torch):
    loss, x = torch.nn.functional.multilabel_soft_margin_loss, torch.arange(24.0).reshape(2, 3, 4) / 9
    return (
        loss(x[0, 0], (x[0] > 0.5).float()),
        _words(lambda: loss(x[0, 0, 0], x[0, 0])),
        torch.nuclear_norm(x),
        [torch.norm_except_dim(t) for t in (x, x[0], x[0, 0])],
        [
            type(part).__name__
            for part in (x[0].lu(), x[0].lu(get_infos=True), torch.lu(x[0], get_infos=True), torch.lu(x[0]))
        ],
        attempts(lambda: x.clamp(torch.tensor(0.2), 1.0), lambda: x.clamp(0.2, torch.tensor(1.0))),
    )


def case_methods_of_what_is_no_tensor(torch):
    x, of = torch.arange(6.0).reshape(2, 3), torch.Tensor
    wrong = [
        lambda: of.add(1, x),
        lambda: of.abs(1),
        lambda: of.sum([1]),
        lambda: of.add_(1, x),
        lambda: of.mul(2.0, x),
        lambda: of.clone(None),
    ]
    flags = [
        lambda: torch.unique(x, x),
        lambda: torch.unique(x, return_inverse=1),
        lambda: torch.unique(x, 1, dim=0),
        lambda: x.copy_(x, x),
    ]
    return _words(*wrong, *flags, lambda: torch.unique_consecutive(x, return_counts=1)), [
        torch.diag(x, k) for k in (-1, 0, 1)
    ]


def case_normalized_arguments_stay_where_they_were_given(torch):
    from torch.fx.operator_schemas import normalize_function

    loss = (torch.nn.functional.huber_loss, (3, 4), {"delta": 2.0})
    found = [normalize_function(torch.fft.fft, (3,), {"n": 10}, (torch.Tensor,))]
    found += [normalize_function(*loss), normalize_function(*loss, normalize_to_only_use_kwargs=True)]
    typed = normalize_function(torch.diag_embed, (3,), {"offset": 2}, (torch.Tensor,), {"offset": int})
    return [[list(r.args), r.kwargs] for r in (*found, typed)]


def case_branches_are_graphs_in_graphs(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    def branch(x, y):
        return torch.cond(y, lambda x: torch.cond(x.sum() > 0, torch.sin, torch.tan, (x,)) + 1, lambda x: x.cos(), (x,))

    def several(x, y):
        return torch.cond(y, lambda p: {"a": p[0] + p[1], "b": p[0]}["a"] * 2, lambda p: p[0] - p[1], [[x, x * 2]])

    x, found = torch.linspace(-1, 1, 4), []
    for f in (branch, several):
        for mode in ("real", "fake"):
            g = make_fx(f, tracing_mode=mode)(x, torch.tensor(False))
            found += [g.code, g.true_graph_0.code, g(x, torch.tensor(True)), g(x, torch.tensor(False))]
        again = make_fx(g)(x, torch.tensor(True))
        found += [again.code, again(x, torch.tensor(False))]
    found += [
        torch.cond(torch.tensor(True), lambda x: x * 2, lambda x: x * 3, (x,)),
        torch.cond(False, lambda x: x * 2, lambda x: x * 3, (x,)),
    ]
    return found


def case_a_function_of_slices(torch):
    from functorch.experimental import control_flow

    x = torch.linspace(-1, 1, 6).reshape(3, 2)
    found = [control_flow.map(lambda x, y: x * y, x, torch.tensor([2.0, 3.0])), control_flow._stack_pytree([x, x])]
    for xs in ([x, x[:2]], x[:0], 3):
        try:
            found.append(control_flow.map(lambda x: x, xs))
        except RuntimeError as e:
            found.append(str(e))
    return found


def case_graphs_of_modules_leave_them_as_they_are(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    m, x = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), torch.linspace(-1, 1, 6).reshape(3, 2)
    with torch.no_grad():
        m[0].weight.fill_(0.5)
        m[0].bias.fill_(-0.1)
    graphs = [make_fx(m)(x), make_fx(m, tracing_mode="fake", _allow_non_fake_inputs=True)(x)]
    return [
        [g.code for g in graphs],
        [n for n, _ in graphs[0].named_parameters()],
        type(graphs[0]).__name__,
        graphs[0](x),
        sorted(vars(m)),
        sorted(m._modules),
    ]


def case_truth_values_as_indices(torch):
    """False alone assigns nothing and asks nothing of the value; in a tuple a truth value is an index."""
    mask = torch.tensor(False)
    indices = [
        False,
        True,
        mask,
        ~mask,
        (False,),
        (True, True),
        (False, True),
        [False],
        (slice(None), False),
        (None, True),
        (0, False),
    ]
    indices += [[mask]]
    found = []
    for index in indices:
        for value in (1.0, torch.ones(4, 5), torch.ones(3), torch.tensor(5.0), torch.tensor(5)):
            x = torch.arange(6.0).reshape(2, 3)
            try:
                x[index] = value
            except (RuntimeError, IndexError) as error:
                found.append(f"{type(error).__name__}: {error}"[:70])
            found += [x.clone(), x._version]
        try:
            found.append(torch.arange(6.0).reshape(2, 3)[index])
        except (RuntimeError, IndexError) as error:
            found.append(f"{type(error).__name__}: {error}"[:70])
    x = torch.ones(2, requires_grad=True)
    y = (x * 1).exp()
    y[False] = 0.0
    y.sum().backward()
    x.detach_()[False] = 1
    return [found, x.grad, x._version]


def case_numbers_that_do_not_fit(torch):
    """Numbers beyond a dtype's range as an argument that is not promoted: some are refused, whole ones below zero wrap
    in unsigned types.
    """
    at, found = torch.tensor([0, 2]), []
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int64, torch.bool):
        x, y = torch.tensor([1, 5, 3]).to(dtype), torch.tensor([2, 1]).to(dtype)
        for v in (300, -1, 200, -129, 70000, -(2**40)):
            found += attempts(
                lambda: torch.addcmul(x, x, x, value=v),
                lambda: x.clone().addcmul_(x, x, value=v),
                lambda: x.scatter(0, at, v),
                lambda: x.clone().scatter_(0, at, v),
                lambda: x.index_fill(0, at, v),
                lambda: x.clone().index_fill_(0, at, v),
                lambda: x.index_add(0, at, y, alpha=v),
                lambda: x.masked_fill(x > 2, v),
                lambda: x.new_full((2,), v),
                lambda: x * v,
                lambda: x == v,
            )
    return found, torch.tensor([1, 2]).index_add(0, torch.tensor([0]), torch.tensor([3]), alpha=1.5)


def case_arrays_of_tensors(torch):
    """What NumPy makes of a tensor: np.array copies, np.asarray shares the memory."""
    import numpy as np

    def shares(make, dtype=None):
        x = torch.arange(3.0)
        made = make(x) if dtype is None else make(x, dtype)
        made[0] = 7
        return x[0].item() == 7, str(made.dtype)

    with warnings.catch_warnings():  # NumPy 2 would have __array__ take an argument `copy`
        warnings.simplefilter("ignore", DeprecationWarning)
        return [
            shares(make, dtype)
            for make in (np.array, np.asarray, np.ascontiguousarray)
            for dtype in (None, np.float32, np.float64)
        ] + attempts(
            lambda: np.array(torch.ones(2, requires_grad=True)),
            lambda: torch.ones(1).__array__(copy=True),
            lambda: np.stack([torch.ones(2), torch.zeros(2)]).tolist(),
            lambda: torch.from_numpy(np.sin(torch.ones(2)).numpy()),
            lambda: torch.tensor([np.float64(1.5), np.int64(2)]),
            lambda: torch.ones(2, dtype=torch.float16) * np.float64(1e-3),
            lambda: torch.ones(2, dtype=torch.uint8) + np.int64(300),
        )


def case_filling_with_numbers_that_do_not_fit(torch):
    found = {}
    for value, dtype in (
        (1e40, torch.float32),
        (300, torch.uint8),
        (70000, torch.half),
        (1e5, torch.half),
        (1e39, torch.bfloat16),
        (1 + 2j, torch.half),
    ):
        for shape in ((), (1,), (2,), (0,)):
            for device in ("cpu", "meta"):
                found[f"full {value} {dtype} {shape} {device}"] = attempts(
                    lambda: torch.full(shape, value, dtype=dtype, device=device)
                )
            zeros = torch.zeros(shape, dtype=dtype)
            found[f"others {value} {dtype} {shape}"] = attempts(
                lambda: torch.full_like(zeros, value),
                lambda: zeros.new_full(shape, value),
                lambda: zeros.clone().fill_(value),
            )
    return found


def case_asarray_of_tensors_with_history(torch):
    found = {}
    options = [
        *({}, {"copy": True}, {"requires_grad": True}, {"requires_grad": False}, {"requires_grad": None}),
        *({"dtype": torch.float64}, {"dtype": torch.float64, "requires_grad": False}, {"dtype": torch.int64}),
        {"copy": True, "requires_grad": False},
    ]
    for name, make in {
        "leaf": lambda: torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
        "derived": lambda: torch.tensor([1.0, 2.0, 3.0], requires_grad=True) + 2,
        "plain": lambda: torch.tensor([1.0, 2.0]),
    }.items():
        for given in options:
            x = make()
            try:
                t = torch.asarray(x, **given)
            except RuntimeError as error:
                found[f"{name} {given}"] = str(error).lower()
                continue
            graph = type(t.grad_fn).__name__
            found[f"{name} {given}"] = [t is x, t.requires_grad, x.requires_grad, t.is_leaf, t.dtype, graph]
    return found


def case_complex_half_as_the_default(torch):
    try:
        torch.set_default_dtype(torch.float16)
        made = [torch.tensor([1.5, 3j]), torch.tensor(2j), torch.tensor([[1 + 2j]])]
        return [[t.dtype for t in made], [t.to(torch.complex64) for t in made]]
    finally:
        torch.set_default_dtype(torch.float32)


def case_what_alpha_multiplies_is_rounded_once(torch):
    """Few elements differ from the sum in float64 rounded once; a product that is rounded first gives a quarter."""
    torch.manual_seed(0)
    found = []
    for dtype in (torch.float16, torch.bfloat16):
        a, b = (torch.rand(1000).to(dtype) for _ in range(2))
        for alpha in (0.1, -0.37, 3):
            scale = torch.tensor(alpha, dtype=dtype).item()
            once = (a.double() + scale * b.double()).to(dtype), (a.double() - scale * b.double()).to(dtype)
            results = (
                torch.add(a, b, alpha=alpha),
                torch.sub(a, b, alpha=alpha),
                torch.rsub(b, a, alpha=alpha),
                a.clone().add_(b, alpha=alpha),
                a.clone().sub_(b, alpha=alpha),
            )
            pairs = zip(results, (*once, once[1], *once))
            found += [(r != o).sum().item() < 8 for r, o in pairs]
    return found
