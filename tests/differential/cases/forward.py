"""Forward mode: levels, dual tensors, views and in-place operators, over and under reverse mode, custom functions,
torch.func, gradcheck.
"""

import warnings
from itertools import count


def error(f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except Exception as e:
        return [type(e).__name__, str(e)[:120]]
    return "no error"


def given(torch):
    return torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -1.0, 2.0])


def case_levels_and_their_errors(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    before = [error(fw.make_dual, x, v), error(fw.exit_dual_level), fw.unpack_dual(x).tangent, fw._current_level]
    with fw.dual_level() as level:
        d = fw.make_dual(x, v)
        inside = [
            level,
            fw._current_level,
            fw.unpack_dual(d).tangent,
            error(fw.enter_dual_level),
            error(fw.exit_dual_level, level=3),
            repr(d),
        ]
        inside += [error(fw.make_dual, x, v, level=1), error(torch.func.jvp, torch.sin, (x,), (v,))]

    @fw.dual_level()
    def decorated():
        return fw.unpack_dual(fw.make_dual(x, v) * 2).tangent

    return [before, inside, fw.unpack_dual(d).tangent, decorated(), fw._current_level]


def case_what_a_dual_tensor_may_be(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        errors = [
            error(fw.make_dual, *args)
            for args in (
                (d, v),
                (x, d),
                (x, v[:2]),
                (x.long(), v),
                (x, v.long()),
                (1, v),
                (x.expand(2, 3), torch.ones(2, 3)),
            )
        ]
        wide = fw.unpack_dual(fw.make_dual(x, v.double())).tangent
        turned = fw.unpack_dual(fw.make_dual(torch.ones(2, 3).t(), torch.ones(3, 2))).tangent
        same = [fw.unpack_dual(d).tangent is v, d._base is x, fw.unpack_dual(d).primal is x, fw.unpack_dual(x).tangent]
        parameter = fw.make_dual(torch.nn.Parameter(x.clone()), v)
        return [
            errors,
            wide,
            list(turned.stride()),
            same,
            type(parameter).__name__,
            parameter.requires_grad,
            fw.unpack_dual(d)._fields,
        ]


def case_what_drops_or_refuses_tangents(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    with fw.dual_level():
        d = fw.make_dual(x, v.clone())
        y = d * 1
        gone = [
            fw.unpack_dual(t).tangent for t in (d.detach(), d.data, torch.zeros_like(d), d.argmax(), d > 1, y.detach_())
        ]
        refused = [
            error(torch.add, d, 1, out=torch.empty(3)),
            error(fw.make_dual(x.clone(), v).resize_, 2),
            error(torch.cdist, d[None], d[None]),
            error(torch.geqrf, d[None]),
        ]
        with fw._set_fwd_grad_enabled(False):
            off = [fw.unpack_dual(d).tangent, fw.unpack_dual(d * 2).tangent, fw._is_fwd_grad_enabled()]
        with torch.no_grad():
            on = fw.unpack_dual(d * 2).tangent
        with torch.inference_mode():
            inference = fw.unpack_dual(x * 2).tangent
        return [gone, refused, off, on, inference, fw.unpack_dual(d.floor()).tangent, d.tolist()]


def case_views_and_in_place(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    with fw.dual_level():
        d = fw.make_dual(x.clone(), v.clone())
        held, tangent = d[1:], lambda t: fw.unpack_dual(t).tangent
        d.mul_(d.clone())
        seen = [tangent(d).clone(), tangent(held).clone()]
        held.add_(1).exp_()
        seen += [tangent(d).clone(), tangent(held)._base is tangent(d)]
        base = torch.zeros(4)
        late = base[1:3]
        base[:3] = d
        seen += [tangent(base).clone(), tangent(late).clone()]
        other = torch.zeros(2, 3)
        row = other[1]
        row.copy_(d)
        seen += [tangent(other).clone(), tangent(other.t()).clone(), tangent(row)._base is tangent(other)]
        other[:, 1] *= 3
        other.masked_fill_(other > 8, 0.0)
        other.index_put_((torch.tensor([0]),), d)
        other.t_()
        seen += [tangent(other).clone()]
        z = d * 1
        z += z
        z.fill_(d[0])
        seen.append(tangent(z).clone())
        z.zero_()
        c = fw.make_dual(torch.ones(2, dtype=torch.complex64), torch.tensor([1 + 2j, 3.0]))
        return [*seen, tangent(z), tangent(c.real), tangent(c.abs()), tangent(c.conj()), tangent(torch.view_as_real(c))]


def case_results_do_not_share_tangents(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        (
            (d + 1).mul_(2),
            d.clone().mul_(3),
            torch.zeros(3).add_(d).mul_(2),
            torch.zeros(3).copy_(d).mul_(2),
            torch.atleast_1d(d + 0).mul_(2),
        )
        return fw.unpack_dual(d).tangent


def case_over_and_under_reverse_mode(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    x.requires_grad_(), v.requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, v)
        out = (d.sin() * d.cos()).sum() + d @ d + d.prod()
        tangent = fw.unpack_dual(out).tangent
        under = [tangent, *torch.autograd.grad(tangent, (x, v), retain_graph=True)]
        (g,) = torch.autograd.grad(out, d, create_graph=True)
        over = list(fw.unpack_dual(g))
        y = d * 1
        y.mul_(d)
        y[1:].sin_()
        y.add_(d, alpha=2)
        (h,) = torch.autograd.grad(y.sum(), d)
        e = d.exp()
        (k,) = torch.autograd.grad(e.sum(), d)  # the formula reads the result
        return [
            under,
            over[0].detach(),
            over[1].detach(),
            list(fw.unpack_dual(h)),
            fw.unpack_dual(k).tangent.detach(),
            fw.unpack_dual(d * 2).tangent.requires_grad,
        ]


def case_custom_functions(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k, y):
            ctx.save_for_forward(x, y)
            ctx.k = k
            return x * y * k

        @staticmethod
        def jvp(ctx, a, k, b):
            x, y = ctx.saved_tensors
            return (a * y + b * x) * ctx.k if k is None else None

    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y, x + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            ctx.set_materialize_grads(False)

        @staticmethod
        def jvp(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y if b is None else a * y + b * x, a

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y, g * x

    with fw.dual_level():
        d = fw.make_dual(x, v)
        results = [fw.unpack_dual(Product.apply(d, 3, x)).tangent, fw.unpack_dual(Product.apply(x, 3, d)).tangent]
        results += [list(fw.unpack_dual(t)) for t in Apart.apply(d, x)]
    return [
        results,
        torch.func.jvp(Apart.apply, (x, x), (v, v)),
        error(torch.func.jvp, lambda a: Product.apply(a, 3, a), (x,), (v,)),
    ]


def case_errors_of_custom_functions(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)

    def fixed(ctx, x):
        out = x * 2
        ctx.mark_non_differentiable(out)
        return out

    def dirty(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def again(ctx, a):
        a.mul_(2)
        return a.clone()

    def attempt(forward, jvp):
        function = type("F", (torch.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})
        with fw.dual_level():
            try:
                out = function.apply(fw.make_dual(x.clone(), v.clone()))
                return [
                    t if not isinstance(t, torch.Tensor) else fw.unpack_dual(t).tangent
                    for t in (out if isinstance(out, tuple) else (out,))
                ]
            except Exception as e:
                return [type(e).__name__, str(e)[:120]]

    class Without(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        without = error(Without.apply, fw.make_dual(x, v))
    cases = [
        (lambda c, x: (x * 2, x * 3), lambda c, a: a),
        (lambda c, x: x * 2, lambda c, a: (a, a)),
        (lambda c, x: x * 2, lambda c, a: 3),
        (fixed, lambda c, a: a),
        (fixed, lambda c, a: None),
        (lambda c, x: x.long(), lambda c, a: a),
        (dirty, lambda c, a: a.mul_(2)),
        (dirty, lambda c, a: a * 2),
        (dirty, again),
        (lambda c, x: x.view(3, 1), lambda c, a: a.view(3, 1)),
        (lambda c, x: x.view(3, 1), lambda c, a: a.view(3, 1) * 1),
        (lambda c, x: x.view(3, 1), lambda c, a: torch.ones(3).view(3, 1)),
        (lambda c, x: x, lambda c, a: a),
        (lambda c, x: x, lambda c, a: a.view_as(a)),
        (lambda c, x: (x * 2, 5, None), lambda c, a: (a * 2, None, None)),
        (lambda c, x: x * 2, lambda c, a: a[:2]),
        (lambda c, x: x * 2, lambda c, a: a.double()),
        (lambda c, x: c.save_for_forward(x, 3), lambda c, a: a),
    ]
    return [without, *(attempt(*c) for c in cases)]


def case_transforms_compose(torch):
    F, (x, v) = torch.func, given(torch)
    f, cube = lambda a: a.sin() * a, lambda a: (a**3).sum()
    rows = torch.stack([x, v])
    return [
        F.jvp(lambda a: F.jvp(f, (a,), (v,))[1], (x,), (v,)),
        F.jvp(lambda a: F.jvp(lambda b: a * b, (x,), (v,))[1], (x,), (v,)),  # the levels are told apart
        F.jvp(lambda c: F.jvp(lambda a: F.jvp(lambda q: q**3 * c, (a,), (v,))[1], (c,), (v,))[1], (x,), (v,)),
        F.jvp(F.grad(cube), (x,), (v,)),
        F.grad(lambda a: F.jvp(cube, (a,), (v,))[1])(x),
        F.grad(lambda q: F.jvp(cube, (x,), (q,))[1])(v),
        F.jvp(lambda a: F.vjp(lambda b: b**3, a)[1](v)[0], (x,), (v,)),
        F.vmap(lambda a: F.jvp(f, (x,), (a,))[1])(torch.eye(3)),
        F.jvp(F.vmap(f), (rows,), (torch.ones(2, 3),)),
        F.vmap(F.jacfwd(f))(rows),
        F.vmap(F.hessian(lambda a: a.sin().prod()))(rows),
        F.jacfwd(F.jacfwd(cube))(x),
        F.jacrev(F.jacfwd(cube))(x),
        F.jacfwd(lambda a, b: (a * b, {"q": a.sum()}), argnums=(0, 1))(x, v),
        F.jacfwd(lambda a: (a * a, a.sum()), has_aux=True)(x),
        F.vmap(F.linearize(f, x)[1])(torch.eye(3)),
        F.jvp(lambda a: a.clone().mul_(a).add_(1), (x,), (v,)),
        F.jvp(torch.nn.functional.mse_loss, (x, v), (v, x)),
    ]


def case_errors_of_transforms(torch):
    F, (x, v) = torch.func, given(torch)
    f = lambda a: a.sin() * a  # noqa: E731
    calls = [
        (f, x, (v,)),
        (f, (x,), v),
        (f, (), ()),
        (f, (1.0,), (v,)),
        (f, (x,), (1.0,)),
        (f, (x,), (v[:2],)),
        (lambda a: 3, (x,), (v,)),
        (lambda a: (), (x,), (v,)),
        (f, (x.long(),), (v,)),
    ]
    return [
        *(error(F.jvp, *c) for c in calls),
        error(F.jvp, lambda a: torch.ones(2), (x,), (v,), strict=True),
        error(F.jvp, f, (x,), (v,), has_aux=True),
        *(
            error(F.jacfwd(g), a)
            for g, a in ((f, x + 1j), (lambda a: torch.complex(a, a), x), (lambda a: a * torch.rand(3), x))
        ),
        error(F.jacfwd(f, argnums=3), x),
        error(F.jacfwd(f, argnums="x"), x),
        *(error(F.linearize(f, x)[1], *t) for t in ((v, v), (v[:2],), (v.double(),))),
        error(F.grad(lambda a: a.sum()), 3),
        error(F.vmap(lambda a: a.nonzero()), x[:, None]),
        error(F.vmap(lambda a: a[a > 0]), x[:, None]),
        error(F.vmap(lambda a, b: a.mul_(b), (None, 0)), torch.ones(3), torch.ones(2, 3)),
    ]


def case_vmap_of_custom_functions(torch):
    F, x = torch.func, torch.arange(6.0).view(2, 3)

    def make(rule=None, generate=False):
        class Square(torch.autograd.Function):
            generate_vmap_rule = generate

            @staticmethod
            def forward(x, *more):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(inputs[0])
                ctx.save_for_forward(inputs[0])

            @staticmethod
            def backward(ctx, g):
                return 3 * ctx.saved_tensors[0] * g, *(None for _ in ctx.needs_input_grad[1:])

            @staticmethod
            def jvp(ctx, a, *more):
                return a * 7 * ctx.saved_tensors[0]

        if rule:
            Square.vmap = staticmethod(rule)
        return Square.apply

    def rule(info, in_dims, x, *more):
        seen.append([info.batch_size, info.randomness, list(in_dims), list(x.shape)])
        return make(rule)(x, *more), in_dims[0]

    seen, generated, own = [], make(generate=True), make(rule)
    results = [
        F.vmap(generated)(x),
        F.vmap(F.grad(lambda a: generated(a).sum()))(x),
        F.grad(lambda b: F.vmap(generated)(b).sum())(x),
        F.vmap(lambda a: F.jvp(generated, (a,), (a,)))(x),
        F.vmap(own)(x),
        F.vmap(lambda a: own(a, 3, x))(x),
        F.vmap(F.grad(lambda a: own(a).sum()))(x),
        F.grad(lambda b: F.vmap(own)(b).sum())(x),
        F.vmap(F.vmap(own))(x),
        F.vmap(lambda a: own(x), randomness="same")(x),
        F.vmap(make(lambda i, d, x: (x.t(), 1)))(x),
        F.vmap(make(lambda i, d, x: (x.sum(), None)))(x),
    ]
    rules = (None, lambda i, d, x: x, lambda i, d, x: (x, 0, 1), lambda i, d, x: (x, (0, 0)))
    return [results, seen, [error(F.vmap(make(r)), x) for r in rules], error(F.vmap(make(rules[1], True)), x)]


def case_functional(torch):
    A, (x, v) = torch.autograd.functional, given(torch)
    f, cube = lambda a: a.sin() * a, lambda a: (a**3).sum()
    forward = {"vectorize": True, "strategy": "forward-mode"}
    errors = [
        error(A.jacobian, f, x, strict=True, **forward),
        error(A.jacobian, f, x, strategy="x"),
        error(A.jacobian, lambda a: torch.ones(2), x, strict=True),
        error(A.jacobian, f, (x, 1)),
        error(A.hessian, lambda a: a, x),
        error(A.hessian, lambda a: (a, a), x),
        error(A.hessian, lambda a: a.sum(), x, strict=True),
        error(A.jvp, lambda a: torch.ones(2), x, v, strict=True),
        error(A.jvp, f, x),
        error(A.jvp, f, x, (v, v)),
        error(A.jvp, f, x, v[:2]),
        error(A.vjp, f, x, v[:2]),
        error(A.vjp, f, x),
        error(A.hvp, lambda a: a.sum(), x, v, strict=True),
        error(A.hvp, f, x, v),
    ]
    hessian = A.hessian(lambda a: a.pow(3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode").detach()
    return [
        A.jacobian(f, x, **forward),
        A.jacobian(lambda a, b: (a + b, a.sum()), (x, v), **forward),
        hessian,
        A.vhp(cube, x, v),
        A.hvp(cube, x, v),
        errors,
    ]


def case_gradcheck(torch):
    g, gg, x = (
        torch.autograd.gradcheck,
        torch.autograd.gradgradcheck,
        torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True),
    )
    f, z = lambda a: a.sin() * a, torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    numbers = count(1)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, a):
            return a * 3

    class Unsteady(Wrong):
        @staticmethod
        def backward(ctx, g):
            return g * 2 + next(numbers) * 1e-4

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            g(f, (x,), check_forward_ad=True, check_batched_forward_grad=True),
            g(f, (x,), check_forward_ad=True, check_backward_ad=False),
            g(f, (x,), check_forward_ad=True, fast_mode=True),
            g(lambda a: torch.complex(a, a * a), (x,), check_forward_ad=True),
            g(lambda a: (a * a.conj()).abs() * a, (z,), check_forward_ad=True),
            gg(f, (x,), check_fwd_over_rev=True),
            g(Wrong.apply, (x,)),
            g(Wrong.apply, (x,), check_forward_ad=True, raise_exception=False),
            error(g, Wrong.apply, (x,), check_forward_ad=True),
            error(g, Unsteady.apply, (x,))[0],
            error(g, f, (x,), check_backward_ad=False),
            error(g, f, (x,), check_batched_forward_grad=True),
            error(gg, f, (x,), check_fwd_over_rev=True, check_rev_over_rev=False),
            error(g, f, (x.detach(),)),
        ]


def case_forward_over_reverse_through_hooks_of_saved_tensors(torch):
    fw, (x, v) = torch.autograd.forward_ad, given(torch)
    with (
        fw.dual_level(),
        torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), lambda a: torch.from_numpy(a)),
    ):
        d = fw.make_dual(x.clone().requires_grad_(), v)
        r = (d.exp() * d.sin() + torch.cat([d, d.exp()])[:3]) * 1
        r.mul_(d)
        (g,) = torch.autograd.grad(r.sum(), d)
        hooked = list(fw.unpack_dual(g))
    with fw.dual_level():
        d = fw.make_dual(x.clone().requires_grad_(), v)
        r = torch.utils.checkpoint.checkpoint(lambda a: a.sin() * a.exp(), d, use_reentrant=False)
        (g,) = torch.autograd.grad(r.sum(), d)
        return [hooked, fw.unpack_dual(r).tangent.detach(), list(fw.unpack_dual(g))]


def case_tangents_of_random_numbers(torch):
    """Zero where numbers are drawn from a tensor's distribution, refused where PyTorch has no rule."""
    fw, found = torch.autograd.forward_ad, []
    normal = torch.normal
    for draw in (
        lambda x: normal(x),
        lambda x: normal(0.5, x),
        lambda x: normal(x, x),
        lambda x: x.clone().normal_(),
        torch.bernoulli,
        torch.poisson,
        lambda x: torch.binomial(x, x),
        torch._standard_gamma,
        torch._sample_dirichlet,
    ):
        with fw.dual_level():
            x = fw.make_dual(torch.full((3,), 0.5), torch.ones(3))
            found.append(error(draw, x))
            found.append(fw.unpack_dual(draw(x)).tangent if found[-1] == "no error" else None)
    return found


def case_tangents_lie_in_memory_as_their_tensors(torch):
    import torch.autograd.forward_ad as fw

    with fw.dual_level():
        part, tangent = torch.arange(5.0)[:4].detach(), torch.arange(4.0)
        dual = fw.make_dual(part, tangent)
        fw.unpack_dual(dual).tangent.mul_(2)
        found = [tangent, *fw.unpack_dual(dual.as_strided((5,), (1,), 0))]
        places = [torch.ones(1).as_strided((0,), (1,), n) for n in (1, 2)]
        found.append(fw.unpack_dual(fw.make_dual(*places)).tangent is places[1])
    return found


def case_tangents_of_lazy_conjugates(torch):
    import torch.autograd.forward_ad as fw

    found, kinds = [], (lambda t: t, lambda t: t.conj(), lambda t: t._neg_view())
    with fw.dual_level():
        for a in kinds:
            for b in kinds:
                x, t = (k(torch.arange(4).to(torch.cdouble) * (1 + 2j)) for k in (a, b))
                dual = fw.make_dual(x, t)
                found.append(
                    (
                        fw.unpack_dual(dual).tangent is t,
                        fw.unpack_dual(dual).tangent.is_conj(),
                        fw.unpack_dual(dual).tangent.is_neg(),
                    )
                )
                found += [fw.unpack_dual(torch.real(dual)).tangent, fw.unpack_dual(torch.imag(dual)).tangent]
    return found


def case_tangents_of_running_logarithms(torch):
    x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -3.0]], dtype=torch.float64)
    found = {}
    for name, v in {"up": x.abs() + 1, "down": -x.abs() - 1, "both": x + 0.25}.items():
        for dim in (0, 1):
            for kind, turn in (("real", 1), ("complex", 1j)):
                f = lambda t: torch.logcumsumexp(t, dim)
                found[f"{name} {dim} {kind}"] = torch.func.jvp(f, (x * turn,), (v * turn,))
    return found


def case_tangents_of_places_written_twice(torch):
    """The tangent of an element is that of the value which stands there, the one written last."""
    fw, index = torch.autograd.forward_ad, torch.tensor([1, 1, 2])
    into, values = torch.zeros(4, dtype=torch.float64), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    def dual(x):
        return fw.make_dual(x, torch.arange(1.0, x.numel() + 1, dtype=x.dtype) / 8)

    def assigned(x, y):
        x = x.clone()
        x[index] = y
        return x

    calls = {
        "scatter": lambda x, y: x.scatter(0, index, y),
        "scatter_": lambda x, y: x.clone().scatter_(0, index, y),
        "part of the source": lambda x, y: x.scatter(0, index[:2], y),
        "scatter_add": lambda x, y: x.scatter_add(0, index, y),
        "index_put": lambda x, y: x.index_put((index,), y),
        "accumulated": lambda x, y: x.index_put((index,), y, accumulate=True),
        "index_copy": lambda x, y: x.index_copy(0, index, y),
        "put": lambda x, y: x.put(index, y),
        "put and added": lambda x, y: x.put(index, y, accumulate=True),
        "assignment": assigned,
    }
    found = {}
    for kind, (x, y) in {"both": (dual, dual), "into": (dual, lambda t: t), "values": (lambda t: t, dual)}.items():
        for name, call in calls.items():
            with fw.dual_level():
                found[f"{name}, {kind}"] = list(fw.unpack_dual(call(x(into.clone()), y(values.clone()))))
    with fw.dual_level():  # into memory that had no tangent
        found["into plain memory"] = fw.unpack_dual(into.clone().scatter_(0, index, dual(values))).tangent
    return found
