"""torch.ops.aten: operators that programs reach by this name alone, most of them gradients."""

from attempts import attempts


def _rand(torch, *shape):
    torch.manual_seed(len(shape) + sum(shape))
    return torch.rand(shape)


def case_gradients_by_name(torch):
    aten, x, g = torch.ops.aten, _rand(torch, 3, 4), _rand(torch, 3, 5).narrow(1, 1, 4)
    index, mask = torch.tensor([2, 0, 2]), _rand(torch, 4, 3).t() > 0.5
    found = [
        aten.sigmoid_backward(g, x),
        aten.tanh_backward(g, x),
        aten.log_sigmoid_backward(g, x, aten.log_sigmoid_forward(x)[1]),
        aten.mish_backward(g, x),
        aten.log_sigmoid(x),
    ]
    found += [
        aten.embedding_backward(g, index, 5, -1, False, False),
        aten.embedding_backward(g, index, 5, 2, True, False),
    ]
    found += [aten.index_select_backward(g, [5, 4], 0, index), aten.trace_backward(torch.tensor(2.0), [3, 4])]
    picked = x.masked_select(mask)
    found += [aten.masked_scatter_backward(g, mask, [3, 4]), aten.masked_select_backward(picked, x, mask)]
    found += [
        aten.value_selecting_reduction_backward(g[:, 0], 1, index, [3, 4], False),
        aten.value_selecting_reduction_backward(g[:, :1], 1, index[:, None], [3, 4], True),
    ]
    found += [aten.cumprod_backward(g, x, 1, x.cumprod(1)), aten.matrix_exp_backward(x[:, :3], g[:, :3])]
    image = _rand(torch, 1, 2, 6, 5)
    y, at = aten.max_pool2d_with_indices(image, [3, 2], [2, 1])
    found += [aten.max_pool2d_with_indices_backward(y, image, [3, 2], [2, 1], 0, 1, False, at)]
    found += [
        aten._cdist_backward(_rand(torch, 3, 2), x, x[:2] + 1, 2.0, torch.cdist(x, x[:2] + 1)),
        aten._pdist_backward(g[0, :3].contiguous(), x, 2.0, torch.pdist(x)),
    ]
    logits, target = _rand(torch, 2, 3, 2, 2), torch.tensor([[[0, 1], [2, 1]], [[1, 1], [0, 2]]])
    loss, total = aten.nll_loss2d_forward(logits, target, None, 1, -100)
    found += [loss, total, aten.nll_loss2d_backward(torch.tensor(2.0), logits, target, None, 1, -100, total)]
    image, grid = _rand(torch, 1, 2, 4, 4), _rand(torch, 1, 3, 3, 2) * 2 - 1
    out = aten.grid_sampler_2d(image, grid, 0, 0, False)
    return [
        *found,
        *aten.grid_sampler_2d_backward(out, image, grid, 0, 0, False, [True, True]),
        aten.grid_sampler_2d_backward(out, image, grid, 0, 1, True, [True, False])[0],
    ]


def case_indices_by_name(torch):
    aten, x = torch.ops.aten, _rand(torch, 3, 4)
    index, mask = torch.tensor([2, 0, 9]), torch.tensor([True, True, False])
    found = [
        aten._unsafe_masked_index(x[:, :3], mask, [index], 7.0),
        aten._unsafe_masked_index(x, mask, [index, index], -1.0),
    ]
    found += [
        aten._unsafe_masked_index_put_accumulate(x, mask, [index, index], _rand(torch, 3)),
        aten._unsafe_index_put(x, [index[:2]], x[1:], True),
    ]
    found += [
        aten._chunk_cat([x, _rand(torch, 5, 2)], 0, 2),
        aten._chunk_cat([x, x[:, :3]], 1, 3),
        aten._stack([x, x], 1),
        aten._reshape_copy(x, [4, 3]),
    ]
    rows = torch.tensor([[1, 2], [0, 1], [1, 2]])
    found += [*aten.unique_dim(rows, 0, True, True, True), *aten.unique_dim(rows, 0)]
    return [*found, *(getattr(aten, "_cast_" + name)(x) for name in ("Double", "Long", "Half", "Byte"))]


def case_attention_by_parts(torch):
    aten, q, k = torch.ops.aten, _rand(torch, 1, 4, 3, 8), _rand(torch, 1, 2, 5, 8)
    mask = _rand(torch, 3, 5) > 0.3
    found = [
        *aten._scaled_dot_product_attention_math(q, k, k, enable_gqa=True),
        *aten._scaled_dot_product_attention_math(q[:, :2], k, k, mask),
    ]
    kept = _rand(torch, 1, 2, 3, 5) > 0.5
    found += [
        *aten._scaled_dot_product_attention_math(q[:, :2], k, k, None, 0.5, False, kept),
        *aten._scaled_dot_product_attention_math(q, q, q, None, 0.0, True, scale=0.3),
    ]
    found += [
        aten._fused_sdp_choice(q, q, q),
        aten._fused_sdp_choice(q, k, k),
        aten._fused_sdp_choice(q, q, q, None, 0.5),
    ]
    scores, keys = _rand(torch, 2, 4, 3, 3), torch.tensor([[False, True, False], [True, True, True]])
    return [
        *found,
        aten._masked_softmax(scores, keys, 3, 1),
        aten._masked_softmax(scores, scores > 0.6, -1, 2),
        aten._masked_softmax(scores, scores[0, 0] > 0.6, 3, 0),
    ]


def case_masks_without_values(torch):
    """index_put by a mask on the meta device and by one of the host for a tensor there.

    What gives the gradient of values is refused where it needs them.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    mask, found = torch.tensor([True, True, False, True, False]), []
    for where in ("meta", "cpu"):
        for accumulate in (False, True):
            x, v = torch.zeros(5, 5, device="meta").requires_grad_(), torch.ones(5, device="meta")
            y = torch.index_put(x, (mask.to(where),), v, accumulate=accumulate)
            y.sum().backward()
            z = x * 1
            z[mask.to(where)] = v
            z.sum().backward()
            found += [y.shape, type(y.grad_fn).__name__, x.grad.shape, type(z.grad_fn).__name__]
    x, v = torch.zeros(5, 5, device="meta"), torch.ones(3, 5, device="meta").requires_grad_()
    torch.index_put(x, (mask,), v).sum().backward()
    found += [
        v.grad.shape,
        x[mask].shape,
        torch.ops.aten.index(x, [None, mask]).shape,
        torch.ops.aten.index(torch.eye(5), [mask, torch.tensor([0, 1, 4])]),
    ]
    x, v = torch.zeros(5, 5).requires_grad_(), torch.ones(3, 5).requires_grad_()
    torch.index_put(x, (mask,), v * 2).sum().backward()
    with FakeTensorMode():
        found += [torch.empty(5, 5).index_put((torch.empty(5, dtype=torch.bool),), torch.empty(5)).shape]
    return [*found, x.grad, v.grad]


def case_samples_by_name(torch):
    """vmap, modes and classes with a __torch_function__ hear of operators that torch has no function of."""
    from torch.overrides import TorchFunctionMode

    aten, g, x, heard = torch.ops.aten, _rand(torch, 3, 2), _rand(torch, 3, 2) - 0.5, []
    more = {
        "threshold_backward": (0.2,),
        "softplus_backward": (1.0, 20.0),
        "leaky_relu_backward": (0.1, False),
        "hardtanh_backward": (-0.2, 0.3),
    }
    names = "silu sigmoid tanh hardswish hardsigmoid softplus threshold leaky_relu hardtanh logit".split()
    found = [
        torch.vmap(lambda g, x, f=getattr(aten, f"{n}_backward"), e=more.get(f"{n}_backward", ()): f(g, x, *e))(g, x)
        for n in names
    ]
    square = _rand(torch, 2, 3, 3)
    found += [torch.vmap(lambda g, x: aten.cumprod_backward(g, x, 0, x.cumprod(0)))(g, x)]
    found += [
        torch.vmap(f)(square.clone())
        for f in (aten.t_, lambda x: aten.unsqueeze_(x, 0), lambda x: aten.transpose_.default(x, 0, 1))
    ]
    found += [
        torch.vmap(lambda g: aten.gelu_backward(g, x[0], approximate="tanh"))(g),
        torch.vmap(aten.silu_backward, (1, None))(g, x[:, 0]).contiguous(),
    ]

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append((str(func).split(".")[1], len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            heard.append(str(func).split(".")[1])
            return func(*args, **(kwargs or {}))

    kinds = [type(f(g.as_subclass(Told), x)).__name__ for f in (aten.silu_backward, aten.silu_backward.default)]
    with Mode():
        found += [aten.tanh_backward(g, x), aten.logit_backward.default(g, x)]
    return found, kinds, heard


def case_functions_that_modules_call(torch):
    """Attention in one call, pruned rows, checks of metadata."""
    q, wide, mask = (
        _rand(torch, 2, 3, 4),
        (_rand(torch, 12, 4), _rand(torch, 12)),
        torch.tensor([[False, False, True], [False, True, False]]),
    )
    attend = lambda *inputs, **named: torch._native_multi_head_attention(
        *inputs, 4, 2, *wide, _rand(torch, 4, 4), _rand(torch, 4), **named
    )  # noqa: E731
    found = [attend(q, q, q), attend(q, q, q, average_attn_weights=False), attend(q, q.clone(), q, need_weights=False)]
    found += [
        attend(q, q, q, mask=mask, mask_type=1),
        torch._transform_bias_rescale_qkv(_rand(torch, 2, 3, 12), wide[1], 2),
    ]
    found += [
        torch._rowwise_prune(_rand(torch, 3, 2), torch.tensor([True, False, True]), d)
        for d in (torch.int32, torch.int64)
    ]
    found += [
        torch._shape_as_tensor(q),
        torch._dim_arange(q, 1),
        torch._trilinear(q, q, q, [], [], [], [1]),
        torch._weight_norm_interface(q, _rand(torch, 2, 1, 1)),
    ]
    for settings in (
        {"size": [3, 2]},
        {"stride": [12, 4, 2]},
        {"device": "meta"},
        {"size": [2, 3, 4], "dtype": torch.float32},
    ):
        found.append(attempts(lambda s=settings: torch._assert_tensor_metadata(q, **s))[0])
    found += attempts(
        lambda: attend(q[0], q[0], q[0]),
        lambda: attend(q, q[:1], q),
        lambda: torch._rowwise_prune(q[0], mask[0], torch.float32),
    )
    kinds = (1, [1, 2], (1, "a"), {"a": 1.0}, [], object(), [1, None], torch.float32, [[True]])
    inferred = [torch._C._jit_try_infer_type(v) for v in kinds]
    return [found, [str(i.type()) if i.success() else i.reason()[:40] for i in inferred]]
