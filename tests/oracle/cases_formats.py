"""What follows an input in channels_last, what autocast on CPU casts, and what index_put may convert."""


def case_channels_last(torch):
    F = torch.nn.functional
    x, w = torch.randn(2, 4, 6, 6).contiguous(memory_format=torch.channels_last), torch.randn(8, 4, 3, 3)
    x5, stats = torch.randn(2, 4, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d), [torch.rand(4) for _ in range(4)]
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
    for value in (torch.tensor(1.7, dtype=torch.float64), torch.tensor([1.7]), torch.tensor([1.5, 2.5]), torch.tensor(True)):
        for dtype in (torch.int64, torch.bfloat16):
            for index in (torch.tensor([0, 2]), torch.tensor([True, False, True]), (torch.tensor([True, False, True]), 1)):
                x = torch.zeros(3, 2, dtype=dtype)
                try:
                    x[index] = value
                    out.append(x)
                except Exception as e:
                    out.append(f"{type(e).__name__} {e}")
    return out
