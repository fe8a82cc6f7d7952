"""What follows an input in channels_last, what autocast on CPU casts, and what index_put may convert."""

from attempts import attempts


def case_channels_last(torch):
    F = torch.nn.functional
    x, w = torch.randn(2, 4, 6, 6).contiguous(memory_format=torch.channels_last), torch.randn(8, 4, 3, 3)
    x5, stats = (
        torch.randn(2, 4, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d),
        [torch.rand(4) for _ in range(4)],
    )
    sliced = torch.randn(2, 6, 6, 8).permute(0, 3, 1, 2)[:, ::2]
    return [
        f.stride()
        for f in (
            F.conv2d(x, w),
            F.conv2d(x.contiguous(), w.contiguous(memory_format=torch.channels_last)),
            F.conv2d(sliced, w),
            F.conv2d(x, w, dilation=2),
            F.conv_transpose2d(x, torch.randn(4, 8, 3, 3)),
            F.conv3d(x5, torch.randn(8, 4, 3, 3, 3)),
            *F.max_pool2d(x, 2, return_indices=True),
            F.avg_pool2d(x, 2),
            F.adaptive_avg_pool2d(x, 2),
            F.adaptive_avg_pool2d(x, 4),
            F.adaptive_max_pool2d(x, 2),
            F.batch_norm(x, *stats),
            F.batch_norm(x5, *stats, training=True),
            F.group_norm(x, 2),
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.pixel_unshuffle(x, 2),
            F.pad(x, (1, 1, 1, 1)),
            F.pad(x, (1, 1, 1, 1), mode="replicate"),
            F.pad(x, (1, 1, 1, 1), mode="reflect"),
            F.max_pool3d(x5, 2),
            F.avg_pool3d(x5, 2),
        )
    ]


def case_autocast_lists(torch):
    x, h, square = torch.rand(2, 3, 4), torch.rand(2, 3, 4).bfloat16(), torch.eye(4).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        return [
            y.dtype
            for y in (
                torch.einsum("bij,bkj->bik", x, h),
                torch.fft.fft(h),
                torch.fft.rfft2(h),
                torch.linalg.inv_ex(square)[0],
                torch.cat([x, h]),
                torch.stack([x, h]),
                torch.mv(square, square[0]),
                torch.addcmul(x, h, h),
                x @ h.mT,
                torch.nn.functional.linear(x, square),
                torch.prod(h),
                h.softmax(-1),
                torch.nn.functional.mse_loss(h, h),
            )
        ]


def case_index_put_converts_what_masked_fill_does(torch):
    out = []
    for value in (
        torch.tensor(1.7, dtype=torch.float64),
        torch.tensor([1.7]),
        torch.tensor([1.5, 2.5]),
        torch.tensor(True),
    ):
        for dtype in (torch.int64, torch.bfloat16):
            for index in (
                torch.tensor([0, 2]),
                torch.tensor([True, False, True]),
                (torch.tensor([True, False, True]), 1),
            ):
                x = torch.zeros(3, 2, dtype=dtype)
                try:
                    x[index] = value
                    out.append(x)
                except Exception as e:
                    out.append(f"{type(e).__name__} {e}")
    return out


def case_layers_of_nothing(torch):
    F = torch.nn.functional

    def both(f, *shape):
        x = torch.ones(shape, requires_grad=True)
        y = f(x)
        y.sum().backward()
        return y, x.grad

    def per_channel(f):
        return lambda x: f(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1]))

    norms = [
        lambda x: F.group_norm(x, 1),
        lambda x: F.batch_norm(x, None, None, training=True),
        per_channel(F.batch_norm),
        lambda x: F.layer_norm(x, x.shape[1:]),
    ]
    pools = [F.max_pool2d, F.avg_pool2d, lambda x, n: F.adaptive_max_pool2d(x, n), lambda x, n: F.lp_pool2d(x, 2, n)]
    return attempts(
        *(lambda f=f, s=s: both(f, *s) for f in norms for s in ((2, 0, 3), (0, 2, 3), (2, 3, 0), (3, 0, 2, 2))),
        *(lambda f=f: both(lambda x: f(x, 1), 0, 2, 3, 3) for f in pools),
        lambda: both(lambda x: F.max_pool1d(x, 1), 0, 2, 3),
        lambda: both(lambda x: F.max_pool3d(x, 1), 0, 2, 3, 3, 3),
        lambda: both(F.instance_norm, 2, 0, 3),
    )


def case_limits_in_half_precision_and_outputs_of_unary_operators(torch):
    x, c, nan, inf = torch.tensor([0.5, -0.5, 0.3, -0.3, 0.25]), torch.tensor([3 + 4j]), float("nan"), float("inf")
    shrunk = [
        torch.nn.functional.hardshrink(x.to(d), 0.3) for d in (torch.bfloat16, torch.half, torch.float, torch.double)
    ]
    edges = torch.tensor(
        [
            complex(inf, 0),
            complex(-inf, 0),
            complex(0, inf),
            complex(nan, 0),
            complex(inf, 1),
            complex(-inf, inf),
            1 + 2j,
        ]
    )
    return (
        shrunk,
        torch.exp2(edges),
        attempts(
            *(
                lambda f=f, d=d: f(c, out=torch.empty(1, dtype=d))
                for f in (torch.abs, torch.angle)
                for d in (c.dtype, torch.float, torch.double, torch.int)
            ),
            *(lambda f=f: f(x, out=torch.empty(5)) for f in (torch.isposinf, torch.isneginf, torch.signbit)),
            lambda: torch.frexp(x, out=(torch.empty(5, dtype=torch.double), torch.empty(5, dtype=torch.int))),
            lambda: torch.frexp(x, out=(torch.empty(5), torch.empty(5, dtype=torch.long))),
        ),
    )


def case_images_whose_channels_lie_last(torch):
    """Results and gradients lie as the image does, without a node of their own for that."""
    F = torch.nn.functional
    last, last3 = torch.channels_last, torch.channels_last_3d
    x, w, v = torch.rand(2, 4, 6, 6), torch.rand(4, 4, 3, 3), torch.rand(2, 4, 5, 5, 5)

    def told(f, *inputs):
        inputs = [t.detach().requires_grad_() for t in inputs]
        y = f(*inputs)
        return [y.stride(), y.grad_fn.name(), [g.stride() for g in torch.autograd.grad(y, inputs, torch.ones_like(y))]]

    images = [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.adaptive_avg_pool2d(x, 4),
        lambda x: F.adaptive_max_pool2d(x, 4),
    ]
    images += [
        lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode)
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")
    ]
    images += [
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)),
        lambda x: F.group_norm(x, 2),
    ]
    images += [
        lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        lambda x: F.pixel_unshuffle(x, 2),
        lambda x: torch.cat([x, x], 1),
        lambda x: x.flip(1),
    ]
    images += [lambda x: x.sort(1)[0], lambda x: F.interpolate(x, 4, mode="area")]
    found = [told(f, x.to(memory_format=last)) for f in images]
    for a, b in ((last, last), (last, torch.contiguous_format), (torch.contiguous_format, last)):
        pair = x.to(memory_format=a), w.to(memory_format=b)
        found += [
            told(F.conv2d, *pair),
            told(lambda x, w: F.conv2d(x, w, torch.ones(4)), *pair),
            told(F.conv_transpose2d, *pair),
        ]
    volumes = [
        lambda v: F.max_pool3d(v, 2),
        lambda v: F.avg_pool3d(v, 2),
        lambda v: F.adaptive_avg_pool3d(v, 3),
        lambda v: F.adaptive_max_pool3d(v, 3),
    ]
    volumes += [
        lambda v: F.interpolate(v, scale_factor=2),
        lambda v: F.interpolate(v, scale_factor=2, mode="trilinear"),
        lambda v: F.group_norm(v, 2),
    ]
    volumes += [lambda v: F.batch_norm(v, None, None, training=True)]
    found += [told(f, v.to(memory_format=last3)) for f in volumes]
    return [*found, told(F.conv3d, v.to(memory_format=last3), torch.rand(3, 4, 2, 2, 2))]


def case_autocast_of_every_dtype(torch):
    F, found = torch.nn.functional, {}
    functions = {
        "mm": torch.mm,
        "addmm": lambda x, y: torch.addmm(x, x, y),
        "linear": F.linear,
        "conv1d": lambda x, y: F.conv1d(x[:, None], y[:, None]),
        "attention": lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None]),
        "cat": lambda x, y: torch.cat([x, y]),
        "stack": lambda x, y: torch.stack([x, y]),
        "index_copy": lambda x, y: torch.index_copy(x, 0, torch.tensor([0, 1, 2, 3]), y),
        "mse_loss": F.mse_loss,
        "prod": lambda x, y: x.prod() + y.prod(),
        "trace": lambda x, y: x.trace(),
        "avg_pool3d": lambda x, y: F.avg_pool3d(x[None, None], (1, 2, 2)),
        "cdist": torch.cdist,
        "add": torch.add,
    }
    dtypes = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64]
    for lower in (torch.bfloat16, torch.float16):
        for a in dtypes:
            for b in dtypes:
                x, y = torch.eye(4).to(a), torch.eye(4).to(b)
                for name, function in functions.items():
                    with torch.autocast("cpu", lower):
                        try:
                            found[f"{name} {a} {b} under {lower}"] = function(x, y).dtype
                        except Exception as e:
                            found[f"{name} {a} {b} under {lower}"] = type(e).__name__
    return found
