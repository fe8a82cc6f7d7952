"""Hooks, views under the grad modes, custom functions, gradient edges, threads: what surrounds the derivatives."""

import threading
import warnings

from attempts import attempt, attempts


def error(f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except Exception as e:
        return [type(e).__name__, str(e)[:250]]
    return "no error"


def case_hooks_stay_with_the_value_they_were_registered_on(torch):
    seen, x = [], torch.ones(2, requires_grad=True)
    y = x * 2
    for i in range(3):
        y.register_hook(lambda g, i=i: seen.append([i, g.clone()]))
        y.mul_(i + 2)
    v = y[:1]
    v.register_hook(lambda g: seen.append(["view", g.clone()]))
    y.add_(1)
    y.t_()
    y.register_hook(lambda g: seen.append(["last", g.clone()]))
    (y.sum() + v.sum()).backward()
    return [seen, x.grad]


def case_retained_gradient_is_that_of_the_last_value_after_all_hooks(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 7)
    y.mul_(3)
    y.register_hook(lambda g: g * 5)
    y.sum().backward(retain_graph=True)
    first = y.grad.clone()
    y.sum().backward()
    z = x * 1
    z.retain_grad()
    z[:1].mul_(4)
    z.sum().backward()
    return [first, y.grad, z.grad, x.grad]


def case_what_hooks_may_return(torch):
    x = torch.ones(2, requires_grad=True)
    found = []
    for result in ("text", torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64)):
        handle = x.register_hook(lambda g, r=result: r)
        found.append(error((x * 2).sum().backward))
        handle.remove()
    return found


def case_gradients_that_are_asked_for_meet_pre_hooks_last(torch):
    seen, x = [], torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    y.grad_fn.register_prehook(lambda gs: seen.append("pre") or (gs[0] + 1,))
    s = z.sum()
    both = torch.autograd.grad(s, [y, x], retain_graph=True)
    alone = torch.autograd.grad(s, [y], retain_graph=True)
    edges = [torch.autograd.graph.get_gradient_edge(t) for t in (y, x, z)]
    by_edges = torch.autograd.grad(s, edges[:2], retain_graph=True)
    from_edge = torch.autograd.grad(edges[2], x, torch.ones(2), retain_graph=True)
    s.backward(inputs=[y, x])
    return [both, alone, by_edges, from_edge, y.grad, x.grad, seen, type(edges[0])._fields]


def case_hooks_of_accumulators(torch):
    seen, x = [], torch.ones(2, requires_grad=True)
    node = (x * 1).grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: seen.append(["pre", gs[0].clone()]))
    node.register_hook(lambda gi, go: seen.append(["post", len(gi), go[0].clone(), x.grad.clone()]))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(["accumulated", p.grad.clone()]))
    for _ in range(2):
        (x * 2).sum().backward()
    node.metadata["note"] = 3
    return [seen, node.metadata]


def case_hooks_of_several_tensors(torch):
    seen, ts = [], [torch.ones(2, requires_grad=True) for _ in range(3)]
    register = torch.autograd.graph.register_multi_grad_hook
    handle = register(ts, lambda gs: seen.append([None if g is None else g.clone() for g in gs]))
    register(ts, lambda g: seen.append("any"), mode="any")
    (ts[0] * 2 + ts[2]).sum().backward()
    (ts[0] + ts[1] * ts[2]).sum().backward()
    handle.remove()
    ts[1].sum().backward()
    return [seen, error(lambda: register(ts, print, mode="one"))]


def case_views_made_in_other_modes(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    p = torch.ones(2, requires_grad=True)
    plain = torch.ones(4)
    a, b = plain.split(2)
    with torch.no_grad():
        of_leaf, of_result, of_plain = x[:2], y[:2], plain[:2]
        one, two = y.split(2)
    with torch.inference_mode():
        inferred = y[:2]
    late = torch.ones(4)
    before = late[:2]
    late.requires_grad_()
    views = of_leaf, of_result, of_plain, one, inferred, before, a
    flags = [[v.requires_grad, v.is_leaf, v._is_view()] for v in views]
    return [flags, [error(v.mul_, 2) for v in views], [error(v.mul_, p) for v in views], (of_leaf * 2).requires_grad]


def case_results_of_custom_functions_that_are_views(torch):
    class Same(torch.autograd.Function):
        forward = staticmethod(lambda ctx, x: x)
        backward = staticmethod(lambda ctx, g: g * 5)

    class View(torch.autograd.Function):
        forward = staticmethod(lambda ctx, x: x.view(2))
        backward = staticmethod(lambda ctx, g: g.view(2, 1))

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x.mul_(2))
            return x

        backward = staticmethod(lambda ctx, g: g * 2)

    x = torch.ones(2, 1, requires_grad=True)
    y = x * 1
    Dirty.apply(y).sum().backward()
    return [
        error(Same.apply(x).add_, 1),
        error(Same.apply(x * 1).add_, 1),
        error(View.apply(x * 1).mul_, 2),
        y._version,
        x.grad,
    ]


def case_wrong_gradients_of_custom_functions(torch):
    def gives(*gradients):
        class F(torch.autograd.Function):
            forward = staticmethod(lambda ctx, x, k: x * k)
            backward = staticmethod(lambda ctx, g: gradients)

        return error(F.apply(torch.ones(2, requires_grad=True), 3.0).sum().backward)

    one = torch.ones(2)
    return [
        gives(one, one),
        gives(1.0, None),
        gives(one),
        gives(one, None, None),
        gives(one, None, one),
        gives(torch.ones(3), None),
    ]


def case_gradients_in_the_layout_of_their_leaf(torch):
    leaves = [
        torch.ones(2, 3).t(),
        torch.ones(2, 3, 4).permute(2, 0, 1),
        torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last),
        torch.ones(3).expand(2, 3),
    ]
    found = []
    for leaf in leaves:
        leaf = leaf.detach().requires_grad_()
        (leaf * torch.arange(float(leaf.numel())).view(leaf.shape)).sum().backward()
        found.append(leaf.grad)
    return found


def case_gradients_of_overlapping_views(torch):
    x = torch.arange(3.0, requires_grad=True)
    w = torch.arange(1.0, 7.0)
    out = [torch.autograd.grad((x.expand(2, 3).as_strided((3, 2), (1, 0)) * w.view(3, 2)).sum(), x)]
    out.append(torch.autograd.grad((x.unfold(0, 2, 1).as_strided((2, 2), (1, 1)) * w[:4].view(2, 2)).sum(), x))
    return out


def case_versions_kept_on_purpose(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = y * y
    with torch.autograd._unsafe_preserve_version_counter(y):
        y.add_(1)
    z.sum().backward()
    return [x.grad, y._version, torch.is_anomaly_check_nan_enabled()]


def case_packing_may_not_write(torch):
    def f():
        with torch.autograd.graph.saved_tensors_hooks(lambda s: s.mul_(2), lambda s: s):
            return torch.ones(1, requires_grad=True).exp()

    return error(f)


def case_threads_lose_no_gradient(torch):
    leaf = torch.zeros(500, requires_grad=True)
    other = torch.zeros(500, requires_grad=True)

    def run():
        for _ in range(50):
            (leaf * 1.0 + other * 2.0).sum().backward()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [leaf.grad.min(), leaf.grad.max(), other.grad.min(), other.grad.max()]


def case_gradients_that_may_not_be_assigned(torch):
    x = torch.ones(2, requires_grad=True)
    return [
        error(setattr, x, "grad", g)
        for g in (torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(2, device="meta"), 1, x)
    ]


def case_nodes_of_indexing(torch):
    x = torch.ones(3, 3, requires_grad=True) * 1
    results = (
        x[0],
        x[0:2],
        x[..., 0],
        x[None],
        x[:, 1],
        x[:],
        x[1:, 0],
        x[0, 1:],
        x[0][1],
        x[0, :],
        x[...],
        x[:, :],
        x[None, 0],
        x[0:1, None],
        x[x > 0],
    )
    return [type(y.grad_fn).__name__ for y in results]


def case_what_errors_call_the_operators(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def changed(f):
        y = f(torch.full((3, 3), 2.0, requires_grad=True))
        z = y**2
        with torch.no_grad():
            y.mul_(2)
        z.sum().backward()

    def of_copy(x):
        y = x.exp()
        y[0].mul_(2)
        return y

    found = [error(changed, f) for f in (torch.exp, lambda x: x.std(1), Twice.apply, of_copy, lambda x: x.std(0))]
    parts = torch.ones(9, requires_grad=True).exp()
    return found + [error(parts.unbind()[1].add_, 1), error(parts.split(3)[1][:2].add_, 1)]


def case_views_whose_base_is_changed(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(3)

        @staticmethod
        def backward(ctx, g):
            return g

    def of(make, leaf=False):
        base = torch.ones(3, requires_grad=True)
        base = base if leaf else base.clone()
        view = make(base)
        with torch.set_grad_enabled(not leaf):
            base.mul_(2)
        return [view.requires_grad, repr(view), error(lambda: type(view.grad_fn).__name__)]

    def quietly(base):
        with torch.no_grad():
            return base[:]

    def inferring(base):
        with torch.inference_mode():
            return base[:]

    found = [of(f) for f in (quietly, inferring, lambda x: x.unbind()[0], Same.apply, lambda x: x.view(3))]
    return found + [of(quietly, True), of(lambda x: x.view(3), True)]


def case_nodes_and_the_edges_of_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    y, node = x.exp(), torch.autograd.graph.Node
    edge, away = (
        torch.autograd.graph.get_gradient_edge(x),
        torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True).exp()),
    )
    found = [
        isinstance(y.grad_fn, node),
        node in type(y.grad_fn).mro(),
        issubclass(torch.autograd.function.BackwardCFunction, node),
        isinstance(1, node),
    ]
    found.append(
        error(torch.autograd.grad, y.sum(), (x, away), allow_unused=True, materialize_grads=True, retain_graph=True)
    )
    with torch.no_grad():
        x.set_(torch.zeros(2))
    return [*found, error(torch.autograd.grad, y.sum(), x, retain_graph=True), torch.autograd.grad(y.sum(), edge)]


def case_functions_that_give_back_a_subclass(torch):
    class Wrapped(torch.Tensor):
        def __init__(self, data):
            self.inner = data

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            out = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
            return cls(out) if isinstance(out, torch.Tensor) else out

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

    return [isinstance(Same.apply(Wrapped(torch.ones(2))), Wrapped)]


def case_gradients_of_sparse_tensors_that_are_asked_for(torch):
    s, d = torch.tensor([0.0, 1, 2]).to_sparse().requires_grad_(), torch.tensor([0.0, 1, 2], requires_grad=True)
    return [
        torch.autograd.grad(s.to_dense().sum(), s)[0].to_dense(),
        torch.autograd.grad(d.to_sparse(), d, torch.tensor([0.0, 1, 2]).to_sparse())[0],
    ]


def case_sparse_gradients_keep_their_own_indices(torch):
    e, at = torch.nn.Embedding(4, 3, sparse=True), torch.tensor([1, 2])
    e(at).sum().backward()
    at[0] = 3
    return [e.weight.grad._indices(), e.weight.grad._values()]


def case_hooks_of_what_one_node_saved(torch):
    def of(f, name, pack, unpack, times=1):
        x = torch.full((3,), 2.0, requires_grad=True)
        y = f(x)
        for _ in range(times):
            getattr(y.grad_fn, f"_raw_saved_{name}").register_hooks(pack, unpack)
        y.sum().backward()
        return x.grad

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    found = [
        of(torch.exp, "result", lambda t: t * 3, lambda t: t / 3),
        of(lambda x: x * x, "self", lambda t: t.numpy(), torch.from_numpy),
    ]
    x = torch.full((2,), -3.0, requires_grad=True)
    y = Custom.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(abs, abs)
    y.sum().backward()
    return [
        *found,
        x.grad,
        error(of, torch.exp, "result", lambda t: 1, lambda t: 2),
        error(of, torch.exp, "result", abs, abs, 2),
    ]


def case_hooks_of_saved_tensors_that_are_refused(torch):
    graph = torch.autograd.graph

    def disabled_inside():
        with graph.saved_tensors_hooks(abs, abs), graph.disable_saved_tensors_hooks("no hooks here"):
            pass

    def after_accumulation(result):
        x = torch.ones(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t: result)
        x.sum().backward()

    return [error(disabled_inside), error(after_accumulation, 3), error(after_accumulation, torch.ones(1))]


def case_mutation_of_saved_tensors(torch):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors

    def changed(where):
        a = torch.full((2, 3), 0.5, requires_grad=True)
        with allow() as context:
            b = a.clone()
            out = (b**2).sum()
            b.sin_()
            if where == "cleared":
                context.clear()
            if where != "after":
                out.backward()
        if where == "after":
            out.backward()
        return a.grad

    def nested():
        with allow(), allow():
            pass

    return [changed("inside"), [error(changed, w)[0] for w in ("cleared", "after")], error(nested)]


def case_second_gradients_of_products_with_zeros(torch):
    x, at = torch.tensor([0.0, 0.0, 1.0], requires_grad=True), torch.tensor([0, 0, 1])
    found = []
    for values in ([0.0, 0.0, 3.0], [0.0, 2.0, 3.0]):
        src = torch.tensor(values, requires_grad=True)
        first = torch.autograd.grad(x.scatter_reduce(0, at, src, "prod").sum(), src, create_graph=True)[0]
        found += [first.detach(), error(lambda: first.sum().backward())]  # noqa: B023
    return found


def case_order_of_all_hooks_of_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    node = x.view_as(x).grad_fn.next_functions[0][0]

    def add(t):
        t.grad.add_(0.5)

    def last(given, grads):
        x.grad = grads[0] * 10

    x.register_hook(lambda g: g - 2)
    node.register_prehook(lambda grads: (grads[0] / 5,))
    x.register_post_accumulate_grad_hook(add)
    node.register_hook(last)
    x.sum().backward()
    return [x.grad]


def case_parts_made_without_gradients_are_views(torch):
    x, w = torch.ones(4), torch.ones(2, requires_grad=True)
    with torch.no_grad():
        a, b = x.chunk(2)
    return [a._is_view(), b._base is x, error(a.mul_, w)]


def case_variance_and_mean_are_one_node(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    found = []
    for function in (torch.var_mean, torch.std_mean):
        spread, mean = function(x, 1)
        found += [spread.grad_fn is mean.grad_fn, spread.grad_fn.name(), len(spread.grad_fn._input_metadata)]
        found += [
            torch.autograd.grad((spread * torch.tensor([1.0, 2.0]) + mean * 3).sum(), x)[0],
            torch.autograd.grad(function(x)[1], x)[0],
        ]
    return found


def case_inputs_of_backward_that_are_no_leaves_run_with_their_hooks(torch):
    log, a = [], torch.tensor(1.0, requires_grad=True)
    b = a.exp()
    b.register_hook(lambda g: log.append("tensor"))
    b.grad_fn.register_prehook(lambda gs: log.append("before"))
    b.grad_fn.register_hook(lambda given, gs: log.append("after"))
    b.sum().backward(inputs=(b,))
    return [log, b.grad, a.grad, error(b.sum().backward)]


def case_first_gradients_with_a_graph_are_copies(torch):
    held, x = [], torch.ones(2, 3, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: held.append(g))
    weight = torch.full((2, 3), 2.0, requires_grad=True)
    x.register_hook(lambda g: held.append(g))
    (y * weight).sum().backward(create_graph=True)
    x.grad.data.zero_()
    return [x.grad.grad_fn.name(), held[1], weight.grad.grad_fn.name()]


def case_once_differentiable_gradients_share_a_node(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, scale, b):
            ctx.save_for_backward(a, b)
            return a * b * scale

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, None, g * a

    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    first, second = torch.autograd.grad(Product.apply(a, 1, b).square().sum(), (a, b), create_graph=True)
    kinds = [n and type(n).__name__ for n, _ in first.grad_fn.next_functions]
    return [first.grad_fn is second.grad_fn, first.grad_fn.name(), kinds, error(first.sum().backward)]


def case_hooks_of_saved_tensors_entered_during_backward_are_left(torch):
    def unpack(t):
        torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1 / 0).__enter__()
        return t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = torch.ones(2, requires_grad=True).sin()
    y.sum().backward()
    x = torch.ones(2, requires_grad=True)
    x.sin().sum().backward()
    return [x.grad]


def case_zeros_for_what_is_not_differentiable(torch):
    got = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            ctx._materialize_non_diff_grads = materialize
            return x.clone(), out, x.clone()

        @staticmethod
        def backward(ctx, *gs):
            got.append([g is None for g in gs])
            return gs[0], None

    for materialize in (True, False):
        Two.apply(torch.ones(2, requires_grad=True), materialize)[0].sum().backward()
    return got


def case_gradients_inside_a_checkpoint_that_runs_to_its_end(torch):
    from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

    def slope(x):
        (g,) = torch.autograd.grad(
            checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False).sum(), x, create_graph=True
        )
        return g.sin()

    found = []
    for early in (True, False):
        with set_checkpoint_early_stop(early):
            x = torch.tensor(0.5, requires_grad=True)
            checkpoint(slope, x, use_reentrant=False).sum().backward()
            found.append(x.grad)
    return found


def case_first_gradients_that_nobody_holds_are_taken(torch):
    x, g = torch.ones(4, requires_grad=True), torch.ones(2, 2)
    x.view(2, 2).backward(g)
    x.grad.add_(1)
    found = [g, x.grad]
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    torch.cat([a, b]).backward(torch.ones(5))
    found += [b.grad.storage_offset(), b.grad.untyped_storage().nbytes()]
    y = torch.ones(2, 3).t().requires_grad_()
    (y * 2).backward(torch.ones(3, 2))
    return [*found, y.grad, y.grad.is_contiguous()]


def case_views_of_a_base_that_is_given_a_history(torch):
    p, found = torch.ones(1, requires_grad=True), []
    x = torch.ones(5)
    views = [x.select(0, 1), x[1:3], x[1:3][0], x[1:3].view(torch.int32)]
    x.add_(p)
    found += [(v.requires_grad, v._version) for v in views]
    found += [torch.autograd.grad((v * 2).sum(), p, retain_graph=True) for v in views[:3]]
    x = torch.ones(5)
    written, beside, apart = x[:2], x[1:], x.detach()
    written.mul_(p * 3)
    found += [beside.requires_grad, apart.requires_grad, torch.autograd.grad((beside * torch.arange(4.0)).sum(), p)]
    x = torch.ones(4)
    rows = x.unbind(0)
    x.mul_(p)
    found += [r.requires_grad for r in rows]
    x = torch.ones(4)
    with torch.no_grad():
        unseen = x[0]
    part = x[:2]
    x[3] = p[0]
    return found, (part * 2).requires_grad, error(lambda: unseen * 2)


def case_versions_of_resizing_to_the_same_size(torch):
    x, found = torch.rand(1), []
    for size in ((1, 2), (3,), (3,), (2,)):
        found.append(x.resize_(size)._version)
        found.append(x.resize_as_(torch.empty(size))._version)
    return found


def case_gradients_of_real_tensors_made_complex_warn_of_nothing(torch):
    x = torch.arange(6.0).view(3, 2).requires_grad_()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x.to(torch.complex128).sum().abs().backward()
    return x.grad, len(told)


def case_gradients_of_activations_in_half_types(torch):
    found = []
    for dtype in (torch.bfloat16, torch.float16):
        for name in ("mish", "selu", "celu", "silu", "gelu", "elu", "softplus"):
            x = torch.linspace(-4, 4, 33).to(dtype).requires_grad_()
            getattr(torch.nn.functional, name)(x).backward(torch.linspace(-1, 1, 33).to(dtype))
            found.append(x.grad)
    return found


def case_what_dispatch_modes_see_of_division_with_gradients(torch):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            node = torch._C._current_autograd_node()
            seen.append(
                (str(func), [str(a) for a in args if not isinstance(a, torch.Tensor)], node and type(node).__name__)
            )
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Names():
        y = [x / 2, x.div(2), torch.true_divide(x, 2), torch.div(x, x), 2 / x, x.div(2, rounding_mode="floor")]
        d = x.detach()
        y += [d / 2, torch.true_divide(d, 2), d.true_divide_(2)]
        y[0].backward(torch.ones(2))
    return seen


def case_saved_tensors_are_copied_before_they_are_written_to_and_not_else(torch):
    allow, found = torch.autograd.graph.allow_mutation_on_saved_tensors, []
    writes = {
        "none": lambda b: b + 1,
        "in place": lambda b: b.mul_(2),
        "twice": lambda b: b.mul_(2).add_(1),
        "view": lambda b: b[:1].zero_(),
        "transposed": lambda b: b.t().add_(1),
        "views": lambda b: [row.zero_() for row in b.unbind()],
        "detached": lambda b: b.detach().exp_(),
        "its data": lambda b: b.data.add_(1),
        "out": lambda b: torch.add(b, 1, out=b),
        "out, a view": lambda b: torch.neg(b[:1], out=b[:1]),
        "out, a product": lambda b: torch.mm(torch.ones(2, 2), torch.ones(2, 3), out=b),
        "out, resized": lambda b: torch.ones(4, 4, out=b),
        "foreach": lambda b: torch._foreach_add_([torch.ones(2), b], 1),
        "foreach of views": lambda b: torch._foreach_mul_(list(b.unbind()), 2),
        "index": lambda b: b.__setitem__(b > 2, 5.0),
        "geometry": lambda b: b.t_().mul_(2),
        "a function over others": lambda b: torch.nn.functional.relu_(b.square_().neg_()),
        "filled": lambda b: torch.nn.init.constant_(b, 3.0),
        "random": lambda b: b.normal_() is None,
    }
    for name, write in writes.items():
        with allow() as context, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            b, w = torch.arange(6.0).view(2, 3).clone(), torch.ones(2, 3, requires_grad=True)
            outs = [w * b, (w + 1) * b]
            before = len(context.cloned), len(context.original), len(context.tid_to_weakhandle)
            write(b)
            after = len(context.cloned), len(context.original)
            sum(o.sum() for o in outs).backward()
            del outs
            found.append((name, before, after, len(context.cloned), len(context.original), w.grad))
    return found


def case_saved_tensors_of_several_versions(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = torch.arange(3.0, requires_grad=True)
        b = a.clone()
        first = (b**2).sum()
        b.sin_()
        second = b.exp()
        b.cos_()
        second.mul_(3)
        counts = [(len(context.cloned), len(context.original))]
        first.backward(retain_graph=True)
        gradients = [a.grad, *torch.autograd.grad(second.sum(), a, retain_graph=True)]
        g = torch.autograd.grad(first, a, create_graph=True)[0]
        gradients += torch.autograd.grad(g.sum(), a)
        counts.append((len(context.cloned), len(context.original)))
        del second
        counts.append((len(context.cloned), len(context.original)))
        missing = (a * 2).exp().sum()
        kept = sorted(name for name in vars(context) if name[0] != "_")
        context.clear()
        return [
            counts,
            gradients,
            kept,
            [len(getattr(context, name)) for name in kept],
            error(missing.backward),
            error(first.backward),
        ]


def case_writes_to_inference_tensors_while_saved_tensors_may_change(torch):
    def write():
        with torch.autograd.graph.allow_mutation_on_saved_tensors(), torch.inference_mode():
            torch.ones(2).add_(1)

    return error(write)


def case_shapes_that_nodes_have_saved(torch):
    base, found = torch.ones(2, 3, 4, requires_grad=True) * 1, []
    made = [
        base.view(-1),
        base.reshape(6, 4),
        base.expand(5, 2, 3, 4),
        base[0],
        base[:1],
        base[:, 1],
        base.squeeze(),
        base.sum(),
        base.sum(0),
        base.mean(1),
    ]
    made += [
        base.diagonal(),
        base.unfold(0, 1, 1),
        base.repeat(1, 1, 1),
        base.index_select(0, torch.tensor([0])),
        base.max(0)[0],
        base[torch.tensor([0])],
    ]
    for out in made:
        shape = out.grad_fn._saved_self_sym_sizes
        found.append((out.grad_fn.name(), type(shape).__name__, list(shape), [type(n).__name__ for n in shape]))
    out = base.view(-1)
    out.sum().backward()
    return (
        found,
        list(out.grad_fn._saved_self_sym_sizes),
        [hasattr(y.grad_fn, "_saved_self_sym_sizes") for y in (base.exp(), base.transpose(0, 1))],
    )


def case_hooks_of_saved_arguments_run_before_the_kernel_that_a_mode_sees(torch):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    class Stop(Exception):
        pass

    def stop(t):
        seen.append("saved")
        raise Stop

    x = torch.ones(2, requires_grad=True)
    calls = [lambda: x.sin(), lambda: x * x, lambda: x.pow(2), lambda: x @ x, lambda: x.clamp(min=0), lambda: x + 1]
    for call in calls:
        with Names(), torch.autograd.graph.saved_tensors_hooks(stop, lambda t: t):
            try:
                call()
            except Stop:
                seen.append("stopped")
    with Names(), torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append("saved") or t * 1, lambda t: t):
        y = (x.sin() * x).sum()
    y.backward()
    return seen, x.grad.round(decimals=4)


def case_raw_saved_tensors_of_none_and_after_the_end(torch):
    a = torch.ones(2, 2, requires_grad=True)
    out, rows = a * a, a[:, torch.tensor([0, 1])]
    raw = rows.grad_fn._raw_saved_indices
    found = attempts(
        lambda: raw[0].register_hooks(lambda t: t, lambda t: t), lambda: raw[1].register_hooks(lambda t: t, lambda t: t)
    )
    out.sum().backward()
    zeros = torch.ops.aten._new_zeros_with_same_feature_meta
    t, other = torch.ones(2, 3), torch.arange(24.0).view(2, 3, 4).transpose(0, 1)[1:]
    laid_out = [zeros(t, other, self_num_batch_dims=n) for n in (0, 1, 2)]
    return (
        found,
        attempts(
            lambda: out.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t),
            lambda: out.grad_fn._saved_self,
        ),
        [(z, z.stride(), z.storage_offset(), z.untyped_storage().nbytes()) for z in laid_out],
        torch._VF.unique_dim(torch.tensor([[1, 2], [1, 2], [0, 1]]), 0),
    )


def case_custom_functions_take_keywords_and_refuse_what_they_cannot(torch):
    def scaled(returned, body=lambda ctx, x, k: x * k):
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, j=1, k=3):
                return body(ctx, x, k)

            @staticmethod
            def backward(ctx, *g):
                return returned(*g)

        return Scaled

    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x, k=3, *, only=1):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            told.append([len(inputs), len(ctx.saved_tensors)])

    told, x, k = [], torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    plain = scaled(lambda g: (g, None, g * 5))
    keywords = [{"j": 1, "k": k}, {"j": 2}, {"k": 2}, {"x": 1}, {"other": 1}]
    calls = [error(lambda c=c: plain.apply(x, **c).sum().backward()) for c in keywords] + [
        error(lambda: plain.apply(x=x, j=2))
    ]
    calls += [error(lambda c=c: Apart.apply(x, **c)) for c in ({}, {"k": 2}, {"only": 2})]

    def marked(name, *values):
        return scaled(None, lambda ctx, x, k: (getattr(ctx, name)(*values), x * k)[1])

    marks = [
        error(marked(name, 1).apply, x) for name in ("mark_dirty", "mark_non_differentiable", "set_materialize_grads")
    ]
    results = [lambda g: [g], lambda g: g.to(torch.complex64), lambda g: torch.ones(2, device="meta")]
    gradients = [error(scaled(lambda g, r=r: (r(g), None)).apply(x, 1).sum().backward) for r in results]
    kept = scaled(None, lambda ctx, x, k: (ctx.mark_non_differentiable(x), x)[1]).apply(x * 1)
    changed = scaled(None, lambda ctx, x, k: (ctx.mark_dirty(x), x.mul_(2))[1])
    listed = scaled(None, lambda ctx, x, k: [x * k]).apply(x)
    node = plain.apply(x).grad_fn
    return [
        calls,
        told,
        k.grad,
        marks,
        gradients,
        [kept.requires_grad, kept.grad_fn],
        error(changed.apply, x[:1]),
        type(listed).__name__,
        type(node).__module__,
    ]


def case_results_of_hooks_of_nodes_are_judged(torch):
    results = [
        (torch.ones(3),),
        (torch.ones(2, dtype=torch.float64),),
        (1,),
        (torch.ones(2).to_sparse(),),
        (None,),
        (torch.ones(2),) * 2,
        3,
    ]

    def of_node(register, result):
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        getattr(y.grad_fn, register)(lambda *given: result)
        return error(y.sum().backward), x.grad

    def of_leaf(result):
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: p if result is None else result)
        return error((x * 2).sum().backward)

    def with_saved(*hooks):
        with torch.autograd.graph.saved_tensors_hooks(*hooks):
            pass

    x = torch.ones(2, requires_grad=True)
    raw = (x * x).grad_fn._raw_saved_self
    calls = [
        lambda: with_saved(3, print),
        lambda: raw.register_hooks(1, print),
        lambda: torch.autograd.graph.register_multi_grad_hook((torch.ones(1),), print),
    ]
    hooked = [of_node(register, r) for register in ("register_hook", "register_prehook") for r in results]
    return [
        hooked,
        [of_leaf(r) for r in (None, torch.ones(2), 3)],
        [error(c)[1][:60] for c in calls],
        type(raw).__name__,
    ]


def case_what_grad_and_backward_are_given(torch):
    from collections import OrderedDict

    grad, backward, e = torch.autograd.grad, torch.autograd.backward, torch.eye(3)
    x, one = torch.ones(2, requires_grad=True), torch.tensor(1.0)
    y = torch.ones(3, requires_grad=True)
    inputs = [[x, 3], {"a": x}, [x, {"b": x}], OrderedDict(a=x), (x, (x, x)), "a", [None], 3, (), {}]
    outputs = [3, [(x * x).sum(), 3], {"k": x}, [None], ((x * x).sum(), (x,))]
    given = [[], [None], [one] * 2, one, 2.0, [2.0], {"a": one}]
    found = [error(grad, (x * x).sum(), i) for i in inputs] + [error(grad, o, x) for o in outputs]
    for g in given:
        found += [
            error(f, o, *more)
            for o in ((x * x).sum(), [(x * x).sum(), x.sum()])
            for f, more in ((grad, (x, g)), (backward, (g,)))
        ]
    found += [error(backward, (x * x).sum(), inputs=i) for i in ([torch.ones(2)], [3], [None], x, {"a": x})]
    batches = [
        ((y * y,), None),
        ((y * y, y * 2), (e, torch.ones(2, 3))),
        ((y.sum(), y * 2), (None, e)),
        ((y * y, y * 2), (e, None)),
    ]
    found += [error(grad, outs, y, gs, is_grads_batched=True) for outs, gs in batches]
    found += [
        error(backward, (x * x).sum(), one, grad_variables=one),
        error(torch.set_grad_enabled, 3),
        repr(torch.set_grad_enabled(True)),
    ]
    found += [error(torch.autograd.graph.increment_version, v) for v in (3, [3])]
    found += [error(lambda n=n: delattr(x, n)) for n in ("data", "requires_grad", "_backward_hooks")]
    return [found, grad((x * x).sum(), {"a": x}), error(lambda: setattr(x * 1, "requires_grad", True)), x.grad]


def case_forms_in_place_without_gradients(torch):
    F, fw = torch.nn.functional, torch.autograd.forward_ad
    calls = [*(lambda x, n=n: getattr(x, n)() for n in ("acosh_", "asinh_", "atanh_", "arccosh_", "acos_"))]
    calls += [
        lambda x: F.elu_(x, -1.0),
        lambda x: F.elu(x, -1.0, inplace=True),
        lambda x: F.elu_(x, 0.5),
        lambda x: F.celu_(x, -1.0),
        lambda x: torch.celu_(x, 2.0),
    ]
    calls += [lambda x: F.leaky_relu_(x, -0.1), lambda x: F.leaky_relu_(x, 0.1), F.selu_]
    calls += [lambda x: F.hardtanh_(x, -1, 1), lambda x: F.threshold_(x, 0.1, -1), F.relu_]

    def of_view(call):
        x = torch.tensor([1.5, -0.5, 2.0], requires_grad=True)
        y = x * 1
        call(y[:2])
        return error(y.sum().backward), x.grad

    def outcome(call):
        x = torch.tensor([1.5, -0.5, 2.0], requires_grad=True)
        y = call(x * 1)
        return y.grad_fn.name(), error(y.sum().backward), x.grad

    def forward(call):
        with fw.dual_level():
            return fw.unpack_dual(call(fw.make_dual(torch.tensor([1.5, 2.5]), torch.ones(2)))).tangent

    slopes = [outcome(lambda x, at=at: F.rrelu_(x, at, at))[1:] for at in (-0.3, 0.2)]
    return [[outcome(c), of_view(c), *attempts(lambda c=c: forward(c))] for c in calls], slopes


def case_what_is_written_in_place_by_comparisons_views_and_composites(torch):
    def written(change, of_view=False):
        x = torch.tensor([[1.5, -0.5], [0.5, 2.0]], requires_grad=True)
        p = torch.tensor([0.5, 2.0], requires_grad=True)
        y = x * 1
        told = error(lambda: change(y[0] if of_view else y, p))
        name = y.grad_fn.name()
        y.sum().backward()
        return told, name, x.grad + 0, None if p.grad is None else p.grad + 0, y

    compare = [
        lambda y, p, n=n: getattr(y, n)(p)
        for n in ("eq_", "ne_", "lt_", "le_", "gt_", "greater_equal_", "logical_and_")
    ]
    compare += [lambda y, p: y.ge_(1.0), lambda y, p: y.logical_not_()]
    parts = [lambda y, p, n=n: getattr(y, n)(2)[0].mul_(p) for n in ("tensor_split", "hsplit", "vsplit", "chunk")]
    ways = [
        lambda y, p: y.as_strided_((2,), (3,)),
        lambda y, p: y.t().as_strided_((2,), (1,)),
        lambda y, p: y.clamp_(0, 1),
        lambda y, p: y.round_(),
    ]
    leaf, base = torch.ones(2, requires_grad=True), torch.ones(4)
    turned = base[:2].requires_grad_()
    calls = [
        lambda: leaf.set_(torch.ones(2)),
        lambda: turned.view(2).add_(1),
        lambda: turned.zero_(),
        lambda: turned.detach().add_(1),
    ]
    return [
        [written(c) for c in compare + parts + ways],
        [written(c, True) for c in compare],
        [error(c) for c in calls],
        base,
    ]


def case_what_a_pass_will_run(torch):
    will, internals = torch._C._will_engine_execute_node, torch._C._autograd
    found = []

    def told(f):
        try:
            return f()
        except Exception as e:
            return [type(e).__name__, str(e)[:60]]

    def node(t):
        return t.grad_fn or t.view_as(t).grad_fn.next_functions[0][0]

    a, other = (torch.ones(2, requires_grad=True) for _ in range(2))
    b = a * other
    c, beside = b * 2, b.cos()
    nodes = [node(t) for t in (a, other, b, c, beside)]
    b.register_hook(
        lambda g: found.append(
            [internals._get_current_graph_task_keep_graph(), *(told(lambda n=n: will(n)) for n in nodes)]
        )
    )
    torch.autograd.backward(c.sum(), inputs=(a, b), retain_graph=True)
    for inputs in ((a,), (b,)):
        torch.autograd.grad(c.sum(), inputs, retain_graph=True)
    c.sum().backward()
    found += [told(lambda: will(nodes[2])), told(lambda: will(None)), internals._get_current_graph_task_keep_graph()]
    x = torch.ones(2)
    found += [told(lambda: internals._unsafe_set_version_counter((x,), (3,))), x._version]
    found += [told(lambda v=v: internals._unsafe_set_version_counter((x,), v)) for v in ((-1,), (1, 2))]
    x, y, z = (torch.ones(1, requires_grad=True) for _ in range(3))
    a, b = x + y, y + z
    order = []
    for number, (name, t) in enumerate((("b", b), ("a", a))):
        t.grad_fn._set_sequence_nr(100 + number)
        t.register_hook(lambda g, name=name: order.append(name))
    (a + b).sum().backward()
    return [
        *found,
        order,
        a.grad_fn._sequence_nr(),
        *(told(lambda v=v: a.grad_fn._set_sequence_nr(v)) for v in (-1, 1.5)),
    ]


def case_gradcheck_of_what_cannot_be_batched(torch):
    found = []
    for fast_mode in (True, False):
        sparse = torch.rand(4, dtype=torch.float64, requires_grad=True).to_sparse()
        try:
            torch.autograd.gradcheck(
                lambda x: x.to_dense(), (sparse,), masked=True, check_batched_grad=True, fast_mode=fast_mode
            )
        except RuntimeError as e:
            found.append(
                [
                    type(e).__name__,
                    str(e)[:33],
                    "gradcheck or gradgradcheck failed while testing batched gradient" in str(e),
                ]
            )
    dense = torch.rand(4, dtype=torch.float64, requires_grad=True)
    return [*found, torch.autograd.gradcheck(lambda x: x.sin(), (dense,), check_batched_grad=True)]


def _seen_by_a_hook(run):
    """How often a hook in the middle of a graph is called while run(output, input) walks it, and what that gives."""

    def count(torch):
        calls, x = [], torch.linspace(0.1, 1.2, 12).reshape(3, 4).requires_grad_()
        middle = x.sin()
        middle.register_hook(lambda g: calls.append(tuple(g.shape)))
        y = (middle[1:] @ torch.ones(4, 2)).tanh()
        return [run(torch, y, x), len(calls), calls[0]]

    return count


def case_a_batch_of_gradients_is_one_pass(torch):
    def asked(torch, y, x, **settings):
        return torch.autograd.grad(y, x, torch.arange(12.0).reshape(3, 2, 2), is_grads_batched=True, **settings)[0]

    def twice(torch, y, x):
        g = asked(torch, y, x, create_graph=True)
        return [g, *torch.autograd.grad(g.square().sum(), x)]

    def mapped(torch, y, x):
        return torch.vmap(lambda v: torch.autograd.grad(y, x, v)[0])(torch.arange(12.0).reshape(3, 2, 2))

    return [_seen_by_a_hook(f)(torch) for f in (asked, twice, mapped)]


def case_vjp_of_a_batch_is_one_pass(torch):
    calls = []

    class Counting(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            calls.append(tuple(g.shape))
            return g * 2 * ctx.saved_tensors[0]

    def f(x):
        return torch.stack([Counting.apply(x).cumsum(0), x.softmax(0)])

    x, w = torch.linspace(0.5, 1.5, 4), torch.linspace(-1, 1, 12).reshape(3, 4)
    out, pull = torch.func.vjp(f, x)
    cotangents = torch.arange(24.0).reshape(3, *out.shape)
    found = [
        torch.func.jacrev(f)(x),
        torch.func.jacrev(f, chunk_size=3)(x),
        torch.vmap(pull)(cotangents),
        torch.vmap(torch.func.jacrev(f))(w),
    ]
    found.append(torch.vmap(torch.vmap(pull))(cotangents.expand(2, *cotangents.shape)))
    return [found, calls[0], torch.autograd.functional.jacobian(f, x, vectorize=True)]


def case_batches_of_gradients_at_the_edges(torch):
    x, w = torch.linspace(0.1, 1.2, 3, requires_grad=True), torch.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
    y, total, ones, other = torch.tanh(w @ x), (x * x).sum(), torch.ones(2, 4), torch.ones(2, requires_grad=True)
    asked = lambda *args, **named: torch.autograd.grad(*args, is_grads_batched=True, retain_graph=True, **named)  # noqa: E731
    found = [
        asked((y, total), (x, w), (ones, torch.ones(2))),
        asked(y, (x, other), ones, allow_unused=True),
        asked(y, (x, other), ones, materialize_grads=True),
    ]
    found += [
        [
            g.contiguous()
            for g in torch.vmap(lambda v: torch.autograd.grad((y, total), (x, w), (v, None), retain_graph=True))(ones)
        ]
    ]
    found += [error(asked, y, x, torch.zeros(0, 4)), error(asked, y, (x, other), ones)]
    last = torch.tanh(w @ x)
    found += [
        torch.autograd.grad(last, x, ones, is_grads_batched=True),
        error(torch.autograd.grad, last, x, torch.ones(4)),
    ]
    return found


def case_gradients_through_chains_of_writes_into_views(torch):
    """Writes into slices, transposes, diagonals and reshaped views of one tensor, with the first and the second
    derivative.
    """

    def rows(x, y):
        z = x * 1
        for i in range(1, 4):
            z[:, i, :i] = (
                z[:, i, :i].clone() + (z[:, i, :i].clone().unsqueeze(-1) * z[:, :i, :i].clone()).sum(-2) * y[i]
            )
        return z

    def mixed(x, y):
        z = (x * 2).transpose(0, 1)
        z[1].add_(y[1])
        z[2:4, :, 1:3] = 0
        z.diagonal(dim1=0, dim2=2).mul_(y[0])
        return z

    def reshaped(x, y):
        z = x * 1
        v = z.view(-1)
        v[3:9].copy_(y.repeat(2)[:6])
        v[::3] *= 2
        z[0] = y[2]
        first, second = z[:1], z[1:]
        first.mul_(y[1])
        second.copy_(first.clone() * second.clone())
        return z

    found = []
    for f in (rows, mixed, reshaped):
        x = torch.linspace(-1, 1, 32, dtype=torch.float64).reshape(2, 4, 4).requires_grad_()
        y = torch.linspace(0.5, 2, 4, dtype=torch.float64).requires_grad_()
        first = torch.autograd.grad(f(x, y).pow(3).sum(), (x, y))
        graph = torch.autograd.grad(f(x, y).pow(3).sum(), (x, y), create_graph=True)
        second = torch.autograd.grad(sum(g.pow(2).sum() for g in graph), (x, y))
        batch = torch.autograd.grad(
            f(x, y), (x, y), torch.eye(3, 32, dtype=torch.float64).reshape(3, *f(x, y).shape), is_grads_batched=True
        )
        found += [first, graph, second, batch]
    return found


def case_order_in_which_tensors_are_packed(torch):
    def given(*shape):
        return torch.ones(shape, requires_grad=True)

    x, y = given(2, 3), given(1, 3)
    calls = {
        "mul": lambda: x * y,
        "div": lambda: x / y,
        "mm": lambda: given(2, 4) @ given(4, 5),
        "bmm": lambda: torch.bmm(given(1, 2, 4), given(1, 4, 5)),
        "addmm": lambda: torch.addmm(given(5), given(2, 4), given(4, 5)),
        "layer_norm": lambda: torch.nn.functional.layer_norm(given(2, 4), (4,), given(4), given(4)),
        "pow": lambda: x**y,
        "atan2": lambda: torch.atan2(x, y),
        "maximum": lambda: torch.maximum(x, y),
        "where": lambda: torch.where(x > 0, x, y),
        "addcmul": lambda: torch.addcmul(x, x, y),
    }
    found = {}
    for name, call in calls.items():
        found[name] = packed = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(tuple(t.shape)) or t, lambda t: t):
            call()
    return found


def case_gradients_beside_nan(torch):
    found, nan = {}, float("nan")
    a, b = [1.0, nan, 2.0, nan, 3.0, 3.0], [nan, 1.0, 3.0, nan, 2.0, 3.0]
    for name in ("fmax", "fmin", "maximum", "minimum"):
        x, y = (torch.tensor(v, requires_grad=True) for v in (a, b))
        found[name] = torch.autograd.grad(getattr(torch, name)(x, y).sum(), (x, y))
    for name, f in {
        "max": lambda x: x.max(),
        "amax": lambda x: x.amax(),
        "max of a row": lambda x: x.view(2, 3).max(1)[0].sum(),
        "nansum": lambda x: x.nansum(),
        "nanmean": lambda x: x.nanmean(),
        "nanmedian": lambda x: x.nanmedian(),
        "nan_to_num": lambda x: x.nan_to_num(5.0).sum(),
        "clamp": lambda x: x.clamp(1.5, 2.5).sum(),
        "relu": lambda x: x.relu().sum(),
        "topk": lambda x: x.topk(3)[0].sum(),
    }.items():
        x = torch.tensor(a, requires_grad=True)
        found[name] = torch.autograd.grad(f(x), x)
    return found


def case_gradients_twice_with_options(torch):
    """First and second derivatives where options differ from their defaults, and of complex arguments."""
    F, found = torch.nn.functional, {}
    x = torch.linspace(-2.3, 2.1, 8, dtype=torch.float64).view(2, 4)
    z = torch.complex(x, x.flip(0, 1) * 0.7)
    for name, f, *args in (
        ("elu", lambda x: F.elu(x, 1.7), x),
        ("celu", lambda x: F.celu(x, 1.7), x),
        ("leaky_relu", lambda x: F.leaky_relu(x, 0.3), x),
        ("softplus", lambda x: F.softplus(x, 2.5, 3), x),
        ("hardtanh", lambda x: F.hardtanh(x, -0.4, 1.2) * x, x),
        ("softshrink", lambda x: F.softshrink(x, 0.8) * x, x),
        ("gelu", lambda x: F.gelu(x, approximate="tanh"), x),
        ("logit", lambda x: torch.logit(x.sigmoid(), 0.2), x),
        ("logsumexp", lambda x: torch.logsumexp(x, (0, 1)), x),
        ("layer_norm", lambda x, w: F.layer_norm(x, (4,), w, eps=0.3), x, x[0].cos()),
        ("group_norm", lambda x, w: F.group_norm(x, 2, w, eps=0.3), x, x[0].cos()),
        ("smooth_l1", lambda x, y: F.smooth_l1_loss(x, y, beta=0.7), x, x.sin()),
        ("huber", lambda x, y: F.huber_loss(x, y, delta=0.6), x, x.sin()),
        ("lerp", lambda x, y, w: torch.lerp(x, y, w), x, x.sin(), x.cos()),
        ("complex lerp", lambda x, y, w: torch.lerp(x, y, w), z, z.sin(), z.cos()),
        ("complex mul", lambda x, y: torch.addcmul(x, x, y, value=1 - 2j), z, z.sin()),
        ("complex div", lambda x, y: torch.addcdiv(x, x, y, value=1 - 2j), z, z.cosh()),
        ("complex tanh", lambda x: torch.tanh(x), z / 3),
        ("complex sigmoid", lambda x: torch.sigmoid(x), z / 3),
        ("complex pow", lambda x, y: x**y, z, z.cos()),
        ("complex prod", lambda x: x.prod(1), z),
        ("complex norm", lambda x: torch.linalg.vector_norm(x, 3), z),
    ):
        inputs = [a.clone().requires_grad_() for a in args]
        out = f(*inputs)
        weights = torch.linspace(0.3, 1.4, out.numel(), dtype=out.dtype).view(out.shape)
        first = torch.autograd.grad(out, inputs, weights * (1 + 0.4j if out.is_complex() else 1), create_graph=True)
        found[name] = first
        total = sum((g * torch.linspace(-1, 2, g.numel(), dtype=g.dtype).view(g.shape)).sum() for g in first)
        found[f"{name}, twice"] = torch.autograd.grad(total.real, inputs, allow_unused=True)
    return found


# which of equal elements is chosen is nobody's promise; a NaN that passes a gradient on in PyTorch makes it NaN here
OTHERWISE = {
    **dict.fromkeys(("kthvalue",), ("ties", "equal", "zeros", "negative", "nan")),
    **dict.fromkeys(("mode", "hardswish", "elu", "selu", "celu", "cdist inf", "cdist 1", "renorm"), ("nan",)),
    "margin": ("negative",),
}


def case_gradients_where_several_elements_are_chosen(torch):
    """Ties, zeros, bounds and NaN: who gets the gradient, and how much of it."""
    F, found, nan = torch.nn.functional, {}, float("nan")
    sources = {
        "ties": [[2.0, -2.0, 2.0], [1.0, 1.0, -3.0]],
        "equal": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        "zeros": [[0.0, 0.0, 0.0], [0.0, -0.0, 1.0]],
        "negative": [[-1.0, -2.0, -1.0], [-2.0, -2.0, -1.0]],
        "nan": [[nan, 1.0, nan], [1.0, nan, 1.0]],
    }
    functions = {
        **{
            f"norm {p} {dim}": lambda x, p=p, dim=dim: torch.linalg.vector_norm(x, p, dim)
            for p in (float("inf"), -float("inf"), 0, 0.5, 1, 1.5, 2, 3, -1)
            for dim in (None, 0, 1, (0, 1))
        },
        **{
            f"matrix norm {p}": lambda x, p=p: torch.linalg.matrix_norm(x, p)
            for p in ("fro", float("inf"), -float("inf"), 1, -1)
        },
        **{
            f"{n} {d}": lambda x, n=n, d=d: (lambda r: r[0] if isinstance(r, tuple) else r)(getattr(torch, n)(x, *d))
            for n in ("max", "min", "median", "nanmedian")
            for d in ((), (0,), (1,))
        },
        **{
            f"{n} {d}": lambda x, n=n, d=d: getattr(torch, n)(x, d)
            for n in ("amax", "amin")
            for d in ((), 0, 1, (0, 1))
        },
        **{
            n: lambda x, n=n: getattr(torch, n)(x, x.flip(1))
            for n in ("maximum", "minimum", "fmax", "fmin", "dist", "hypot", "atan2")
        },
        **{n: lambda x, n=n: getattr(torch, n)(x, 1)[0] for n in ("cummax", "cummin", "sort", "mode")},
        "aminmax": lambda x: torch.aminmax(x).max * 2 + torch.aminmax(x).min,
        "kthvalue": lambda x: x.kthvalue(2, 1)[0],
        "topk": lambda x: x.topk(2, 1)[0],
        "clamp": lambda x: x.clamp(-1, 1),
        "clamp tensors": lambda x: x.clamp(x.detach().flip(0), torch.ones(3)),
        **{
            n: lambda x, n=n: getattr(F, n)(x)
            for n in (
                "relu",
                "relu6",
                "hardtanh",
                "hardswish",
                "hardsigmoid",
                "leaky_relu",
                "elu",
                "selu",
                "celu",
                "softshrink",
                "hardshrink",
                "softsign",
                "logsigmoid",
            )
        },
        "threshold": lambda x: F.threshold(x, 0.0, 1.0),
        **{
            n: lambda x, n=n: getattr(torch, n)(x)
            for n in ("abs", "sign", "sgn", "sqrt", "rsqrt", "frac", "prod", "sinc", "std", "var")
        },
        "cumprod": lambda x: x.cumprod(1),
        "prod of rows": lambda x: x.prod(1),
        "max_pool1d": lambda x: F.max_pool1d(x[None], 2, 1),
        "max_pool2d": lambda x: F.max_pool2d(x[None], 2, 1),
        "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[None], 2),
        "l1_loss": lambda x: F.l1_loss(x, torch.ones(2, 3)),
        "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, torch.zeros(2, 3)),
        "huber_loss": lambda x: F.huber_loss(x, torch.ones(2, 3)),
        "hinge": lambda x: F.hinge_embedding_loss(x, torch.ones(2, 3)),
        "margin": lambda x: F.multi_margin_loss(x, torch.tensor([0, 1])),
        "ranking": lambda x: F.margin_ranking_loss(x, x.detach().flip(1), torch.ones(2, 3)),
        "cosine": lambda x: F.cosine_similarity(x, x.flip(1)),
        "pairwise": lambda x: F.pairwise_distance(x, x.flip(0)),
        "cdist": lambda x: torch.cdist(x, x.flip(1)),
        "cdist inf": lambda x: torch.cdist(x, x.flip(1), float("inf")),
        "cdist 1": lambda x: torch.cdist(x, x.flip(1), 1.0),
        "pdist": lambda x: F.pdist(x),
        "renorm": lambda x: x.renorm(2, 0, 1.0),
        "normalize": lambda x: F.normalize(x, dim=1),
        "pow": lambda x: x**2 + x.abs() ** 0.5,
        "pow 0": lambda x: x**0,
        "xlogy": lambda x: torch.xlogy(x, x.abs()),
        "nansum": lambda x: x.nansum(1),
        "where": lambda x: torch.where(x > 1, x, x * 2),
        "nan_to_num": lambda x: x.nan_to_num(2.0),
        "scatter_reduce": lambda x: torch.zeros(2, 3).scatter_reduce(1, torch.zeros(2, 3, dtype=torch.long), x, "amax"),
        "index_reduce": lambda x: torch.zeros(1, 3).index_reduce(0, torch.zeros(2, dtype=torch.long), x, "amin"),
        "segment": lambda x: torch.segment_reduce(x, "max", lengths=torch.tensor([2])),
    }
    for source, values in sources.items():
        for name, f in functions.items():
            if source in OTHERWISE.get(name, ()):
                continue

            def run(values=values, f=f):
                x = torch.tensor(values, dtype=torch.float32, requires_grad=True)
                out = f(x)
                g = torch.arange(1.0, out.numel() + 1).reshape(out.shape)
                return torch.autograd.grad(out, x, g, allow_unused=True)

            found[f"{name} of {source}"] = attempt(run)
    return found


def case_custom_fwd_of_a_forward_without_ctx(torch):
    """The decorator writes to the first argument, which is a tensor here: it stays what it is."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            """Save nothing."""

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    results = []
    for dtype in (torch.float32, torch.float64, torch.float16):
        for enabled in (False, True):
            x = torch.arange(3.0, dtype=dtype).requires_grad_()
            with torch.autocast("cpu", enabled=enabled):
                results.append(Doubled.apply(x, 2).detach())
            results.append(x.detach())
    return results
