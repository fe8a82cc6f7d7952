"""torch.func and torch.vmap: each call gives what PyTorch gives."""

from attempts import attempt
from comparing import STRICT

TOLERANCE = STRICT
STRIDES = False  # results of batched calls may lie in memory otherwise


def case_vmap_of_elementwise_and_promotion(torch):
    t, vm = torch.tensor, torch.vmap
    x, v, s, i = torch.randn(4, 3, 5), torch.randn(4, 3), torch.randn(4), torch.randint(0, 3, (4,))
    return [
        vm(torch.add)(x, v[:, :, None]),
        vm(lambda a, b: a + b)(x, s),
        vm(lambda a, b: a + b)(v.half(), s),
        vm(lambda a, b: a * b)(i, s.double()),
        vm(lambda a: 2 * a - 1 / (a + 10) + a**2)(v),
        vm(lambda c, a, b: torch.where(c > 0, a, b))(s, v, x[:, :, 0]),
        vm(lambda a: a.clamp(min=0).to(torch.float64))(x),
        vm(lambda a, b: a.masked_fill(b > 0, -1.0))(x, x),
        vm(lambda a: (a == 1) | (a != 2) & ~(a < 0))(i),
        vm(lambda a, b: torch.max(a, b))(x, x + 1),
        vm(lambda a: a * 2)(torch.ones(0, 3)),
        vm(lambda a: torch.zeros_like(a) + a.new_zeros(3, 5))(x),
        vm(lambda a, b: a + b, in_dims=(1, None))(x, t(2.0)),
    ]


def case_vmap_of_reductions_and_views(torch):
    vm, x, y = torch.vmap, torch.randn(4, 3, 5), torch.randn(4, 5, 2)
    M = torch.randn(7, 3, 5)
    return [
        vm(
            lambda a: (
                a.sum(),
                a.sum(0),
                a.mean(-1),
                a.sum((0, 1)),
                a.max(),
                a.max(0)[0],
                a.argmax(1),
                a.sum(0, keepdim=True),
                a.std(),
                a.var(1),
            )
        )(x),
        vm(torch.sum)(x[:, 0, 0]),
        vm(lambda a: (torch.softmax(a, -1), a.softmax(0), a.log_softmax(1), a.logsumexp(1)))(x),
        vm(
            lambda a: (
                a.t(),
                a.T,
                a.mT,
                a.reshape(-1),
                a.view(5, 3),
                a.unsqueeze(0),
                a.unsqueeze(-1),
                a.transpose(0, 1),
                a.permute(1, 0),
                a[None].squeeze(),
                a.flatten(),
                a.expand(2, 3, 5),
                a.repeat(2, 1),
                a.flip(0),
                a.narrow(1, 0, 2),
                a.select(0, 1),
            )
        )(x),
        vm(lambda a: a.chunk(2, 1) + tuple(a.split(2, 0)) + a.unbind(0))(x),
        vm(lambda a: (torch.cat([a, a], 0), torch.stack([a, a], 1), torch.cat([a, M[0]], 1)))(x),
        vm(lambda a: torch.topk(a, 2)[0])(x),
        vm(lambda a: a.sort(0)[0])(x),
        vm(lambda a: a.cumsum(1))(x),
        vm(lambda a: ((a > 0).any(), (a > 0).all(0)))(x),
        vm(torch.tril)(x),
        vm(lambda a: a.norm())(x),
        vm(lambda a, b: (a, b.sum()), out_dims=(1, 0))(x, y),
        vm(lambda a: a.sum(), chunk_size=3)(x),
    ]


def case_vmap_of_products_and_indexing(torch):
    F, vm, x, y = torch.nn.functional, torch.vmap, torch.randn(4, 3, 5), torch.randn(4, 5, 2)
    M, v, i2 = torch.randn(7, 3, 5), torch.randn(4, 3), torch.randint(0, 3, (4, 2))
    return [
        vm(torch.dot)(v, v),
        vm(torch.mv)(x, x[:, 0]),
        vm(torch.mm)(x, y),
        vm(torch.matmul, in_dims=(0, None))(x, torch.ones(5, 2)),
        vm(torch.matmul, in_dims=(None, 0))(M, y),
        vm(lambda a, b: a @ b)(x[:, 0], y),
        vm(torch.bmm)(x[:, None], y[:, None]),
        vm(torch.outer)(v, v),
        vm(lambda a: F.linear(a, M[0], torch.ones(3)))(x),
        vm(lambda a, w: F.linear(a, w))(x, torch.stack([M[0]] * 4)),
        vm(lambda a: F.layer_norm(a, (5,), torch.arange(5.0), torch.ones(5)))(x),
        vm(lambda k: F.embedding(k, M[0]))(i2),
        vm(
            lambda a: (
                a[0],
                a[..., 0],
                a[:, 1:3],
                a[None],
                a[-1, 2],
                a[torch.tensor([0, 2])],
                a[:, torch.tensor([1, 1])],
            )
        )(x),
        vm(lambda a, k: a[:, k])(x, i2),
        vm(lambda a, k: a[k, :])(x, i2),
        vm(lambda a, k: a[k, k])(x, i2),
        vm(lambda a, k: a.gather(0, k[:, None].expand(2, 5)))(x, i2),
        vm(vm(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(v, v),
        vm(lambda a, b: a.clone().add_(b))(x, v[:, 0]),
        vm(lambda a: F.scaled_dot_product_attention(a[None], a[None], a[None]))(x),
        vm(lambda a, b: torch.einsum("ij,jk->ik", a, b))(x, y),
    ]


def case_vmap_makes_attention_masks(torch):
    pad = torch.rand(2, 6) > 0.3

    def mask(b, h, q, k):
        return q.new_ones((), dtype=torch.bool) & (k <= q).to(q.device) & pad[b, k]

    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    f = mask
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        f = torch.vmap(f, in_dims=dims, out_dims=0)
    with TransformGetItemToIndex():
        return f(torch.arange(2), torch.arange(3), torch.arange(5), torch.arange(6))


def case_vmap_refuses(torch):
    vm, x, s = torch.vmap, torch.randn(4, 3, 5), torch.randn(4)
    return [
        attempt(f)
        for f in (
            lambda: vm(lambda a: a.item())(s),
            lambda: vm(lambda a: a if a > 0 else -a)(s),
            lambda: vm(lambda a: a + torch.rand(2))(s),
            lambda: vm(torch.add)(x, torch.ones(3, 3, 5)),
            lambda: vm(torch.add)(),
            lambda: vm(torch.add, in_dims=(0, 5))(x, x),
            lambda: vm(lambda a, b: a)(x, 3),
            lambda: vm(lambda a: 3)(x),
            lambda: vm(torch.add, randomness="x"),
            lambda: vm(lambda a, b: a.add_(b), in_dims=(None, 0))(torch.zeros(3), x[:, :, 0]),
            lambda: vm(lambda a: torch.rand(2), randomness="different")(s).shape,
        )
    ]


def case_gradients_of_functions(torch):
    F, t = torch.func, torch.tensor
    x, X, w = torch.randn(3), torch.randn(4, 3), torch.randn(3, requires_grad=True)
    return [
        attempt(f)
        for f in (
            lambda: F.grad(lambda a: (a**3).sum())(x),
            lambda: F.grad(lambda a, b: (a * b).sum(), (0, 1))(x, x + 1),
            lambda: F.grad_and_value(lambda a: (a**3).sum())(x),
            lambda: F.grad(lambda a: ((a**3).sum(), {"k": a * 2}), has_aux=True)(x),
            lambda: F.grad(F.grad(F.grad(lambda a: a.exp() * a)))(t(1.0)),
            lambda: F.vmap(F.grad(lambda a: (a.sin() * a).sum()))(X),
            lambda: F.vmap(F.grad(F.grad(lambda a: a.sin())))(x),
            lambda: F.grad(lambda a: a)(x),
            lambda: F.grad(lambda a: 3.0)(x),
            lambda: F.jacrev(lambda a: a**2)(x),
            lambda: F.jacfwd(lambda a: a**2)(x),
            lambda: F.hessian(lambda a: a.prod())(x),
            lambda: F.jacrev(lambda a, b: (a * b, {"u": a.sum()}), argnums=(0, 1))(x, x),
            lambda: F.vmap(F.jacrev(lambda a: a.sin()))(X),
            lambda: (lambda o, f: (o, f(torch.ones(3))))(*F.vjp(lambda a: a.exp(), x)),
            lambda: F.vmap(F.vjp(lambda a: a.exp(), x)[1])(torch.eye(3)),
            lambda: F.jvp(lambda a: a.exp(), (x,), (torch.ones(3),)),
            lambda: F.vmap(lambda a, b: F.jvp(torch.sin, (a,), (b,))[1])(X, X),
            lambda: F.linearize(torch.sin, x)[1](torch.ones(3)),
            lambda: F.grad(lambda a: (a * w).sum())(x).requires_grad,
            lambda: torch.autograd.grad(F.grad(lambda a: (a * w * w).sum())(x).sum(), w)[0],
            lambda: torch.autograd.grad(F.grad(lambda a: (a**3).sum())(w).sum(), w)[0],
            lambda: F.grad(lambda a: a.sum(), argnums=3)(x),
            lambda: F.grad(lambda a: (a["k"] ** 2).sum())({"k": x}),
            lambda: F.vmap(lambda a: F.grad(lambda b: (a * b).sum())(x))(X),
            lambda: F.jvp(F.grad(lambda a: (a**3).sum()), (x,), (torch.ones(3),)),
            lambda: F.jacrev(lambda a: torch.ones(2))(x),
        )
    ]


def case_modules_as_functions(torch):
    F, nn = torch.func, torch.nn
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
    p = {k: v.detach() for k, v in m.named_parameters()}
    X, y, l = torch.randn(4, 3), torch.randn(4, 1), nn.Linear(3, 3)
    loss = lambda q, a, b: ((F.functional_call(m, q, (a[None],)) - b[None]) ** 2).sum()
    stacked = F.stack_module_state([l, l])[0]
    return [
        F.functional_call(m, p, (X,)),
        F.functional_call(m, [{k: v for k, v in p.items() if "0" in k}, {k: v for k, v in p.items() if "2" in k}], X),
        F.grad(loss)(p, X[0], y[0]),
        F.vmap(F.grad(loss), in_dims=(None, 0, 0))(p, X, y),
        [v.shape for v in stacked.values()],
    ]


def case_transforms_and_no_grad(torch):
    import warnings

    import functorch.experimental

    grad, vjp = torch.func.grad, torch.func.vjp
    x = torch.tensor(1.5, requires_grad=True)

    def inner(x):
        with torch.no_grad():
            shift = grad(lambda x: 0.25 * x**4)(x)
        return grad(lambda x: 0.25 * x**4)(x) - shift

    def value(x):
        with torch.no_grad():
            _, value = torch.func.grad_and_value(lambda x: x**3)(x)
        return x**3 - value

    y = grad(value)(x)
    out, pull = vjp(lambda x: x**2, x)
    with torch.no_grad():
        outside = [
            grad(lambda x: x**2)(x).requires_grad,
            pull(torch.tensor(1.0))[0].requires_grad,
            vjp(lambda x: x**2, x)[0].requires_grad,
        ]
    texts = []
    for f in (
        lambda: vjp(lambda _: None, x),
        lambda: torch.func.jvp(lambda _: (), (x,), (x,)),
        lambda: grad(lambda a, b: a, (0, -2))(x, x),
    ):
        try:
            f()
        except RuntimeError as e:
            texts.append(str(e))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        functorch.grad(torch.sin)
    chunks = functorch.experimental.chunk_vmap(lambda x: x.sum(), chunks=2)(torch.arange(6.0).reshape(3, 2))
    return [
        grad(inner)(x),
        y,
        torch.autograd.grad(y, x),
        outside,
        torch.autograd.grad(out, x),
        texts,
        [str(w.message) for w in told],
        chunks,
    ]


def _random_calls(torch):
    F = torch.nn.functional
    return {
        "rand": lambda x: torch.rand(3, 2),
        "randint": lambda x: torch.randint(5, 100, (3,)),
        "randperm": lambda x: torch.randperm(6),
        "normal": lambda x: torch.normal(0.0, 1.0, (3,)),
        "rand_like": torch.rand_like,
        "bernoulli": lambda x: torch.bernoulli(x),
        "poisson": lambda x: torch.poisson(x * 5),
        "multinomial": lambda x: torch.multinomial(x, 3, replacement=True),
        "multinomial of a row": lambda x: torch.multinomial(x[0], 3, replacement=True),
        "uniform_": lambda x: x.clone().uniform_(),
        "bernoulli_": lambda x: x.clone().bernoulli_(0.3),
        "bernoulli_ of a tensor": lambda x: x.clone().bernoulli_(x),
        "into what is no batch": lambda x: torch.zeros(5, 2).bernoulli_(x),
        "dropout": lambda x: F.dropout(x, 0.4),
        "dropout in place": lambda x: F.dropout(x + 1, 0.4, True, True),
        "no dropout": lambda x: F.dropout(x, 0.0) + F.dropout(x, 0.4, False),
        "alpha_dropout": lambda x: F.alpha_dropout(x, 0.4, True),
        "feature_dropout": lambda x: torch.feature_dropout(x[..., None].expand(5, 2, 3), 0.4, True),
        "dropout1d": lambda x: F.dropout1d(x, 0.4),
        "native_dropout": lambda x: torch.native_dropout(x, 0.4, True)[0],
        "of a distribution": lambda x: torch.distributions.Bernoulli(x).sample(),
        "rrelu": lambda x: F.rrelu(x),
        "out": lambda x: torch.rand(2, out=torch.empty(2)),
    }


def case_vmap_of_random_calls(torch):
    """A stream of the same numbers in the same order, or the same refusal."""
    x, found = torch.rand(4, 5, 2), []
    for name, f in _random_calls(torch).items():
        for randomness in ("error", "different", "same"):
            for dims in (0, 1, None):
                torch.manual_seed(7)
                given = x[0] if dims is None else x.movedim(0, dims).contiguous()
                found.append(
                    attempt(
                        lambda: torch.vmap(lambda x, _: f(x), (dims, 0), randomness=randomness)(given, torch.zeros(4))
                    )
                )  # noqa: B023
                found.append((name, randomness, dims))
    for chunk_size in (None, 3):
        torch.manual_seed(7)
        found.append(torch.vmap(lambda x: x + torch.rand(3), randomness="same", chunk_size=chunk_size)(torch.zeros(4)))
    torch.manual_seed(7)
    return [
        *found,
        torch.vmap(torch.vmap(torch.rand_like, randomness="different"), randomness="same")(
            torch.rand(2, 3, 4)[:1].expand(2, 3, 4)
        ),
    ]


def case_vmap_hands_back_what_it_was_given(torch):
    vm, x, leaf = torch.vmap, torch.randn(4, 3, 5), torch.randn(3, requires_grad=True)
    y = x.movedim(0, 2)
    return [
        vm(lambda x: x)(x) is x,
        vm(torch.Tensor.sin_)(x) is x,
        vm(torch.Tensor.contiguous, in_dims=2, out_dims=2)(y) is y,
        vm(lambda x: x.T, 1)(x)._base is x,
        vm(lambda x: x.unfold(0, 2, 1))(x)._base is x,
        vm(lambda x: x.as_strided((2,), (1,)))(x)._base is x,
        vm(lambda x: (x, "text", None), out_dims=(0, None, None))(x),
        vm(lambda x: torch.tensor(float(x.is_contiguous())))(y),
        vm(lambda x: x.new_zeros(3, 5).copy_(x))(x),
        vm(lambda x, v: x.clone().fill_(v))(x, x[:, 0, 0]),
        vm(lambda x: torch.cat([x, torch.empty(0)], 1))(x),
        vm(torch.Tensor.view_as, (None, 0))(x[0], torch.randn(2, 15)),
        vm(lambda x: x.conj().is_conj() and x.conj())(torch.randn(3, 2, dtype=torch.complex64)),
        vm(lambda v: torch.autograd.grad([leaf * leaf], [leaf], v)[0])(torch.eye(3)),
    ]


def case_what_vmap_refuses(torch):
    vm, x = torch.vmap, torch.randn(4, 3, 5)
    calls = [
        lambda: vm(torch.mm)(x, x[:, 0]),
        lambda: vm(torch.mv)(x[:, 0], x),
        lambda: vm(torch.bmm)(x, x),
        lambda: vm(torch.dot)(x, x),
        lambda: vm(torch.outer)(x, x),
        lambda: vm(lambda x: x.view(15), 1)(x),
        lambda: vm(lambda x: x.sum(2))(x),
        lambda: vm(lambda x: x[3])(x),
        lambda: vm(lambda x: x.clone(memory_format=torch.channels_last))(x[:, None, None]),
        lambda: vm(lambda x: x.as_strided((15,), (1,), 1))(x),
        lambda: vm(lambda x: x.data)(x),
        lambda: vm(lambda x: torch.add(x, 1, out=torch.zeros(3, 5)))(x),
        lambda: vm(lambda x: torch.equal(x, x))(x),
        lambda: vm(lambda x: x, (None,))(x),
        lambda: vm(lambda x: x, out_dims="a")(x),
        lambda: vm(lambda x: x.squeeze(1))(x[:, 0, 0]),
    ]
    return [attempt(f) for f in calls]


def case_what_transforms_refuse(torch):
    func, x = torch.func, torch.randn(3)
    texts = []

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

    def hooked(x):
        with torch.autograd.graph.save_on_cpu():
            return x.sin().sum()

    models = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
    models[0].weight.requires_grad_(False)
    for f in (
        lambda: func.grad(lambda x: x.requires_grad_().sum())(x),
        lambda: func.vmap(lambda x: x.requires_grad_())(x),
        lambda: func.grad(lambda x: (y := x.sin(), y.retain_grad()) and y.sum())(x),
        lambda: func.vmap(lambda x: torch.autograd.functional.jacobian(torch.sin, x))(x),
        lambda: func.grad(hooked)(x),
        lambda: func.jacrev(hooked)(x),
        lambda: func.vjp(hooked, x),
        lambda: func.grad(lambda x: (x.sum(), 1), has_aux=True)(x),
        lambda: func.vjp(lambda x: (x, "a"), x, has_aux=True),
        lambda: func.jvp(lambda x: (x, [x, None]), (x,), (x,), has_aux=True),
        lambda: func.functionalize(Old.apply)(x),
        lambda: func.stack_module_state(models),
    ):
        try:
            f()
        except Exception as e:
            texts.append((type(e).__name__, str(e)))
    return texts


def case_writing_inside_transforms(torch):
    func, x, y = torch.func, torch.randn(2, 3), torch.randn(3, 2)

    def into_a_copy(x):
        copy, seen = y.t().clone(), []
        copy[0].copy_(x[0] ** 2)
        seen.append(copy.t().double().float())
        return seen[0].sum() + copy.sum()

    def squeezed(weight, x):
        y = x.mm(weight)
        z = y.squeeze_(0)
        return (z - y.flip(0)).pow(2).sum()

    def written(x, z):
        z.copy_(x * 2)
        return z

    def dual(x, z):
        view = x[0, ::2]
        x.copy_(z)
        return x, view

    batch, tangents = torch.randn(4, 2, 6), torch.randn(4, 2, 6)
    return [
        func.grad(into_a_copy)(x),
        func.jvp(into_a_copy, (x,), (x,)),
        func.vmap(func.grad(squeezed), (None, 0))(torch.randn(3, 2), torch.randn(4, 1, 3)),
        func.jacrev(written)(torch.randn(2), torch.randn(2)),
        func.vmap(lambda x, t, z: func.jvp(dual, (x, z), (t, t + 1)))(batch.clone(), tangents, batch.flip(0)),
        func.vmap(lambda x: x.clone().unsqueeze_(0).transpose_(0, 1))(x),
    ]


def case_results_of_an_inner_transform_are_changed_in_place(torch):
    vjp, jvp, grad, x = torch.func.vjp, torch.func.jvp, torch.func.grad, torch.randn(3)

    def of_vjp(x):
        out, pull = vjp(torch.sin, x)
        out.add_(1)
        return (out * pull(torch.ones(3))[0].mul_(2)).sum()

    def of_jvp(x):
        out, tangent = jvp(torch.sin, (x,), (x,))
        return (out.add_(1) * tangent.mul_(2)).sum()

    def of_grad(x):
        g, v = torch.func.grad_and_value(lambda x: x.sin().sum())(x)
        return (g.mul_(2) * v.add_(1)).sum()

    def captured(x):
        y = x * 2
        return grad(lambda z: (z * y.mul_(2)).sum())(x).sum()

    return [attempt(lambda f=f: grad(f)(x)) for f in (of_vjp, of_jvp, of_grad, captured)]


def case_names_of_the_nodes_of_custom_functions_in_transforms(torch):
    import torch.autograd.forward_ad as fwAD

    names, enabled, x = [], [], torch.ones(2)

    class Same(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            enabled.append((fwAD._is_fwd_grad_enabled(), torch.is_grad_enabled()))
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    def f(x, apply=Same.apply):
        y = apply(x)
        names.append(y.grad_fn.name())
        return (y * y).sum()

    batched = torch.vmap(Same.apply)
    got = [
        torch.func.grad(f)(x),
        torch.func.grad(torch.func.grad(lambda x: f(x)))(torch.tensor(2.0)),
        torch.func.grad(lambda x: f(x, batched))(x),
    ]
    leaf = torch.ones(2, requires_grad=True)
    return [*got, f(leaf, batched), f(leaf), names, enabled, fwAD._is_fwd_grad_enabled()]


def case_a_ctx_with_other_saved_tensors(torch):
    from torch._functorch.autograd_function import CtxWithSavedTensors, reductify_leaf

    class Ctx:
        saved_tensors, needs_input_grad = (1,), (True,)

    ctx = Ctx()
    outer = CtxWithSavedTensors(ctx, (2,))
    inner = CtxWithSavedTensors(outer, (3,))
    inner.kept = 4
    ctx.taken = ctx._pt_inner_ctx = None
    g = torch.randn(2, 3, 4)
    leaves = [
        (None, 0, 0, 2),
        (g, None, None, 2),
        (g, 0, None, 2),
        (g, 1, None, 3, (2,)),
        (g, None, 1, 5),
        (g, None, 1, 5, (4,)),
        (g, 2, 0, 4, (3,)),
        (g, 0, 2, 2),
    ]
    return [
        *(c.saved_tensors for c in (ctx, outer, inner)),
        inner.needs_input_grad,
        ctx.kept,
        attempt(lambda: CtxWithSavedTensors(ctx, ())),
        [reductify_leaf(*leaf) for leaf in leaves],
    ]


def case_models_made_many_at_once(torch):
    from torch._functorch.make_functional import functional_init, functional_init_with_buffers

    Linear, Norm, x = torch.nn.Linear, torch.nn.BatchNorm1d, torch.randn(3, 5, 2)
    weights, fn, names = functional_init(Linear, (3,))(2, 4)
    params, buffers, normed, *more = functional_init_with_buffers(Norm, (3,))(2)
    one, fn_of_one, _ = functional_init(Linear)(2, 4)
    return [
        [(w.shape, w.requires_grad) for w in (*weights, *params, *buffers, *one)],
        names,
        more,
        torch.allclose(torch.vmap(fn)(weights, (x,)), torch.baddbmm(weights[1][:, None], x, weights[0].mT)),
        torch.allclose(fn_of_one(one, (x,)), torch.nn.functional.linear(x, *one)),
        torch.vmap(normed)(params, buffers, (x,)),
        [attempt(lambda n=n: functional_init(Linear, n)(2, 4)) for n in ((1, 2), (0,))],
        attempt(lambda: functional_init(Norm, (2,))(2)),
    ]


def case_vmap_of_tensors_that_dispatch(torch):
    """A subclass with __torch_dispatch__ of its own goes through vmap."""
    from torch.utils._pytree import tree_map

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            r = torch.Tensor._make_wrapper_subclass(
                cls,
                inner.size(),
                strides=inner.stride(),
                dtype=inner.dtype,
                device=inner.device,
                requires_grad=inner.requires_grad,
            )
            r.inner = inner
            return r

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args, kwargs = tree_map(lambda t: t.inner if isinstance(t, cls) else t, (args, kwargs or {}))
            return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*args, **kwargs))

    x = torch.rand(3, 2)
    result = torch.func.vmap(lambda x: x.sin().sum(0))(Wrapper(x))
    jacobian = torch.autograd.functional.jacobian(lambda x: x**2, Wrapper(torch.arange(3.0)), vectorize=True)
    hessian = torch.autograd.functional.hessian
    pair = (Wrapper(torch.arange(6.0).view(2, 3)), Wrapper(torch.arange(12.0).view(3, 4).sin()))
    mixed = [
        hessian(f, pair, outer_jacobian_strategy="forward-mode", vectorize=True)
        for f in (lambda a, b: (a @ b).sum(), lambda a, b: (a.exp() @ b.sin()).sum())
    ]
    return [
        type(result).__name__,
        result.inner,
        type(jacobian).__name__,
        jacobian.inner,
        [[t.inner for t in row] for rows in mixed for row in rows],
    ]


def case_functionalize_leaves_operators_that_write_to_nothing(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    functionalize = torch.func.functionalize

    def written_through_views(x):
        y = x.view(4, 2)
        y.add_(torch.ones(2))
        x[1].mul_(2)
        return x, y

    def only_a_view(x):
        return x.transpose(1, 0)

    def turned(x):
        y = x.clone()
        y.t_()
        y.relu_()
        a, b = y.split(2)
        a.diagonal().fill_(3)
        y.unbind(0)[1].add_(1)
        y.permute(1, 0).sub_(2)
        y.split_with_sizes([1, y.shape[0] - 1])[1].zero_()
        y.view_as(y).masked_fill_(y > 0, 2)
        return y, b

    def grown(x):
        x.resize_(10)
        x.fill_(2)

    def of_windows(x):
        y = x * 2
        y.as_strided((2,), (1,), 1).mul_(3)
        y.detach().sin_()
        return y

    found = []
    for f, shape in (
        (written_through_views, (4, 2)),
        (only_a_view, (4, 2)),
        (turned, (4, 3)),
        (grown, (0,)),
        (of_windows, (3, 3)),
    ):
        for remove in ("mutations", "mutations_and_views"):
            given, plain, x = (torch.arange(12.0)[: torch.Size(shape).numel()].reshape(shape).clone() for _ in range(3))
            found += [
                make_fx(functionalize(f, remove=remove))(x).code,
                functionalize(f, remove=remove)(given),
                f(plain),
                given,
                plain,
            ]
    return found


def case_functionalize_inside_and_around_others(torch):
    functionalize, grad, vmap, x, batch = (
        torch.func.functionalize,
        torch.func.grad,
        torch.vmap,
        torch.randn(3),
        torch.randn(2, 3),
    )

    def f(x):
        y = x * 2
        v = y.view(-1)
        y.add_(1)
        v.mul_(x)
        return (y * v).sum()

    def of_its_argument(x):
        x.mul_(2)
        return x.sum()

    leaf, changed, outside = torch.ones(3, requires_grad=True), torch.randn(2, 3), torch.ones(3)
    functionalize(f)(leaf).backward()
    Function = type(
        "Same",
        (torch.autograd.Function,),
        {"forward": staticmethod(lambda x: x.clone()), "setup_context": staticmethod(lambda *a: None)},
    )
    return [
        grad(functionalize(f))(x),
        functionalize(grad(f))(x),
        vmap(functionalize(f))(batch),
        functionalize(vmap(f))(batch),
        vmap(grad(functionalize(f)))(batch),
        leaf.grad,
        vmap(functionalize(of_its_argument))(changed),
        changed,
        attempt(lambda: functionalize(lambda x: outside.add_(x))(x)),
        functionalize(lambda x: outside.add_(1))(x),
        attempt(lambda: functionalize(lambda x: torch.ones(3, dtype=torch.int64).add_(x))(x)),
        attempt(lambda: functionalize(lambda x: x[0].add_(x))(x)),
        attempt(lambda: functionalize(Function.apply)(x)),
    ]


def case_functional_forms_of_operators_that_write(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    aten, x = torch.ops.aten, torch.arange(4.0)
    forms = (
        lambda x: aten.zero(x),
        lambda x: aten.copy(x, x[0]),
        lambda x: aten.resize(x, [6])[:4],
        lambda x: aten.uniform(x, 2.0, 3.0) > 2,
    )
    got = [(f(x), make_fx(f)(x).code) for f in forms]
    return [got, x]


def case_out_is_written_to_where_somebody_looks_on(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    functionalize, aten = torch.func.functionalize, torch.ops.aten

    def grown(x):
        out = torch.empty(0)
        torch.add(x, x, out=out)
        out.view(4).add_(1)
        return out

    def two(x):
        least, most = torch.empty(4), torch.empty(2, 2)
        torch.aminmax(x.view(1, 4), dim=0, out=(least, most.view(4)))
        return least, most

    def itself(x):
        torch.mul(x, 2, out=x)
        return x + 1

    found = []
    for f in (grown, two, itself):
        for way in (lambda f: f, functionalize, lambda f: functionalize(f, remove="mutations_and_views")):
            x, other = torch.arange(4.0), torch.arange(4.0) + 1
            traced = make_fx(way(f))(torch.zeros(4))
            found += [traced(other), way(f)(x), other, x]
    a, b = torch.arange(4).reshape(2, 2), torch.ones(2, dtype=torch.long)
    return [found, aten.index(a, b), make_fx(lambda a, b: aten.index(a, b))(a, b).code]


def case_what_our_own_code_marks_inside_transforms(torch):
    """Copies, printing and sparse copies mark tensors without being refused.

    A Parameter of a subclass asks requires_grad_().
    """
    import copy

    class Own(torch.Tensor):
        pass

    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    calls = (
        lambda: copy.deepcopy(torch.ones(2)),
        lambda: copy.deepcopy(torch.ones(2).to_sparse()).to_dense(),
        lambda: torch.ones(2) * bool(repr(nested)),
        lambda: torch.nn.Parameter(torch.ones(2)).detach(),
        lambda: torch.nn.Parameter(torch.ones(2).as_subclass(Own)),
        lambda: torch.nn.Buffer(torch.ones(2)),
    )
    return [attempt(lambda: torch.vmap(lambda x: x + f())(torch.ones(3, 2))) for f in calls]  # noqa: B023


def case_modules_that_a_transformed_function_makes(torch):
    made_outside = torch.ones(3)

    def f(x, change):
        linear = torch.nn.Linear(3, 3)
        torch.nn.init.constant_(linear.weight, 0.5)
        torch.nn.init.zeros_(linear.bias)
        return change(linear(x)).sum()

    def through(change):
        return attempt(lambda: torch.func.grad(f)(torch.ones(3), change))

    refused = through(lambda y: y * torch.nn.Parameter(made_outside, requires_grad=False).mul_(2))
    return [
        through(lambda y: y * y),
        through(lambda y: y.data.mul_(2) + y),
        through(lambda y: y * made_outside.data.mul_(2)),
        refused,
    ]


def case_values_and_memory_of_samples_are_refused(torch):
    import copy

    F, nn, vmap, x = torch.nn.functional, torch.nn, torch.vmap, torch.arange(24.0).view(2, 3, 4)
    running = (torch.zeros(4), torch.ones(4))

    def told(f):
        try:
            f()
        except Exception as e:
            return [type(e).__name__, str(e)[:90]]
        return "nothing"

    calls = [
        lambda a: F.batch_norm(a, *running, training=True),
        lambda a: F.instance_norm(a[None], torch.zeros(3), torch.ones(3)),
        lambda a: nn.LSTM(4, 2)(a)[0],
        lambda a: nn.GRU(4, 2)(a)[0],
        lambda a: torch.tensor([a[0, 0], a[0, 1]]),
        lambda a: a.new_tensor([a[0, 0]]),
        lambda a: a.sum().backward(),
        lambda a: torch.allclose(a, a),
        lambda a: a[0] in a,
        lambda a: f"{a.sum():.1f}",
        *(
            lambda a, n=n: getattr(a, n)()
            for n in ("tolist", "numpy", "storage", "untyped_storage", "data_ptr", "share_memory_", "item")
        ),
        copy.deepcopy,
        copy.copy,
    ]
    batch = torch.arange(6.0).view(2, 3)
    resized = vmap(lambda a: a.resize_(2))(batch)
    attention = nn.MultiheadAttention(4, 1)
    for p in attention.parameters():
        nn.init.constant_(p, 0.1)
    first = [told(lambda f=f: vmap(f)(x)) for f in calls]
    second = [
        told(lambda f=f: torch.func.grad(f)(x))
        for f in (lambda a: (a.sum(), a.sum().backward())[0], lambda a: (a * 1j).sum())
    ]
    batched = vmap(lambda a, m, v: F.batch_norm(a, m, v, training=True))(x, torch.zeros(2, 4), torch.ones(2, 4))
    return [first, second, resized, batch, batched, vmap(lambda a: attention(a, a, a)[0])(x)]


def case_captured_tensors_are_not_seen_another_way(torch):
    grad, jvp, two = torch.func.grad, torch.func.jvp, torch.ones(2)
    changes = [
        *(
            lambda w, n=n, a=a: getattr(w, n)(*a)
            for n, a in (("t_", ()), ("transpose_", (0, 0)), ("squeeze_", ()), ("squeeze_", (0,)), ("unsqueeze_", (0,)))
        ),
        *(
            lambda w, n=n, a=a: getattr(w, n)(*a)
            for n, a in (("swapaxes_", (0, 0)), ("as_strided_", ((2,), (1,))), ("resize_", (2,)), ("detach_", ()))
        ),
        *(lambda w, n=n, a=a: getattr(w, n)(*a) for n, a in (("resize_as_", (two,)), ("set_", (two,)))),
    ]
    told = []
    for change in changes:
        for run in (lambda f: grad(f)(two), lambda f: jvp(f, (two,), (two,))):
            w = torch.ones(2)
            try:
                run(lambda x, w=w, change=change: (change(w), x.sum())[1])
            except RuntimeError as e:
                told.append(str(e)[:150])
    return told
