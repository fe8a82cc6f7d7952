"""Hooks of nodes and modules that return what they may not, memory formats that are ambiguous, convolutions of nothing,
refused parametrizations.
"""

from attempts import answer


def _told(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except Exception as e:
        return type(e).__name__, str(e).split("\n")[0][:160]


def case_what_hooks_of_nodes_may_return(torch):
    def run(method, hook):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        getattr(y.grad_fn, method)(hook)
        y.sum().backward()
        return x.grad

    post = [
        lambda gi, go: (),
        lambda gi, go: (*gi, gi[0]),
        lambda gi, go: gi[0],
        lambda gi, go: None,
        lambda gi, go: [gi[0]],
    ]
    pre = [lambda go: (), lambda go: (*go, go[0]), lambda go: go[0], lambda go: None, lambda go: (go[0] * 2,)]
    return [_told(lambda h=h: run("register_hook", h)) for h in post] + [
        _told(lambda h=h: run("register_prehook", h)) for h in pre
    ]


def case_what_hooks_of_modules_may_return(torch):
    def run(method, hook):
        m, x = torch.nn.Sigmoid(), torch.ones(3, requires_grad=True)
        getattr(m, method)(hook)
        m(x).sum().backward()
        return x.grad

    both = ("register_backward_hook", "register_full_backward_hook")
    hooks = [
        lambda m, gi, go: (),
        lambda m, gi, go: (*gi, gi[0]),
        lambda m, gi, go: (gi[0] * 2,),
        lambda m, gi, go: gi[0],
    ]
    pre = [lambda m, go: (), lambda m, go: (*go, go[0]), lambda m, go: (go[0] * 2,), lambda m, go: go[0]]
    found = [_told(lambda n=n, h=h: run(n, h)) for n in both for h in hooks]
    return found + [_told(lambda h=h: run("register_full_backward_pre_hook", h)) for h in pre]


def case_formats_that_strides_leave_open(torch):
    last, rows = torch.channels_last, torch.contiguous_format
    one = torch.ones(2, 1, 4, 5)
    return [
        t.stride()
        for t in (
            torch.ones(2, 3).T.to(memory_format=rows),
            torch.ones(2, 3, 4, 5).transpose(1, 2).to(memory_format=rows),
            torch.ones(2, 3, 4, 5).to(memory_format=last).to(memory_format=rows),
            one.to(memory_format=last),
            one.contiguous(memory_format=last),
            one.to(memory_format=last).clone(),
            torch.ones(2, 3, 1, 1).to(memory_format=last),
            torch.nn.Conv2d(1, 8, 3).to(memory_format=last)(torch.ones(2, 1, 6, 6)),
        )
    ]


def case_convolutions_of_no_image(torch):
    nn, found = torch.nn, []
    for m, shape in (
        (nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=4), (0, 4, 4, 4)),
        (nn.Conv1d(4, 4, 3), (0, 4, 4)),
        (nn.Conv3d(4, 4, 3), (0, 4, 4, 4, 4)),
        (nn.ConvTranspose2d(4, 4, 3), (0, 4, 4, 4)),
    ):
        x = torch.randn(shape, requires_grad=True)
        y = m(x)
        y.sum().backward()
        found += [y.shape, x.grad, m.weight.grad, m.bias.grad]
    return found


def case_nothing_to_pack(torch):
    return [
        _told(lambda s=s: torch.nn.utils.rnn.pack_padded_sequence(torch.randn(s), torch.zeros(s[1], dtype=torch.int64)))
        for s in ((0, 0), (0, 3), (2, 1))
    ]


def case_refused_parametrizations(torch):
    parametrize = torch.nn.utils.parametrize

    class Changed(torch.nn.Module):
        def __init__(self, there=None, back=None):
            super().__init__()
            self.there = there or (lambda x: x)
            if back:
                self.right_inverse = back

        def forward(self, x):
            return self.there(x)

    changes = [{"there": lambda x: x[:-1]}, {"there": lambda x: x.bool()}, {"there": lambda x: (x, x)}]
    changes += [{"back": lambda x: x[:-1]}, {"back": lambda x: x.bool()}, {"back": lambda x: (x, x)}]
    plain, taken = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    parametrize.register_parametrization(taken, "weight", Changed())
    return [
        _told(lambda m=m, c=c: parametrize.register_parametrization(m, "weight", Changed(**c)))
        for m in (plain, taken)
        for c in changes
    ]


def case_parts_that_are_no_views(torch):
    found = []
    for name, n in (("unsafe_split", 1), ("unsafe_chunk", 3), ("unsafe_split_with_sizes", (1, 1, 1))):
        a, x = torch.arange(9.0).view(3, 3).requires_grad_(), torch.ones(3, 3)
        s1, s2, _ = getattr(a + a, name)(n)
        s1.mul_(s2)
        s1.sum().backward()
        getattr(x, name)(n)[0].zero_()
        found += [a.grad, x, s1._is_view(), s1.grad_fn.name()]
    return found


def case_views_of_inference_tensors(torch):
    with torch.inference_mode():
        c = torch.ones(1, 2, 3, requires_grad=True)
    views = [c.view(-1), c[0], c.expand(2, 2, 3), c.T]
    return [[v.is_inference(), v.requires_grad, v._is_view(), v.is_leaf] for v in views] + [(c * 2).requires_grad]


def case_gradients_of_powers_of_minus_one(torch):
    found = []
    for base in (-torch.ones(2, dtype=torch.double), -1):
        e = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.cdouble, requires_grad=True)
        torch.pow(base, e).sum().abs().backward()
        found.append(e.grad)
    return found


def case_what_is_recorded_and_refused(torch):
    x = torch.rand(4, requires_grad=True)
    results = [
        torch.unique(x),
        torch.unique(x, return_inverse=True)[0],
        torch.unique(x, dim=0),
        torch.unique_consecutive(x),
    ]
    return [[r.requires_grad, _told(lambda r=r: r.sum().backward())] for r in results] + [
        torch.unique(x, return_counts=True)[1].requires_grad
    ]


def case_older_functions(torch):
    import warnings

    class Doubled(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            ctx.save_for_backward(b)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, ga, gb):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found.extend((len(ctx.saved_variables), told[0].category.__name__, str(told[0].message)))
            return ga, ga + gb

    found, x, y = [], torch.ones(2), torch.ones(2, requires_grad=True)
    q, _ = Doubled.apply(x, y)
    q.sum().backward()
    return [found, q is x, y.grad, Doubled(inplace=True).inplace]


def case_results_of_ambiguous_formats(torch):
    x, y = torch.rand(10, 3, 1, 1).to(memory_format=torch.channels_last), torch.rand(10, 3, 1, 1)
    return [
        t.stride()
        for t in (x * 5, 5 * x, x > 0, x + x, x * y, y * x, x.exp(), -x, x + torch.rand(3, 1, 1), torch.empty_like(x))
    ]


_NAMES = """
    x.sum(); x.sum(0); x.sum((0, 1), True); x.mean(); x.mean(1); x.prod(); x.prod(0); x.max(); x.max(0)[0]; x.min();
    x.median(); x.median(0)[0]; x.nanmedian(0)[0]; x.squeeze(); x[None].squeeze(0); x[None].squeeze((0,)); x.pow(2);
    x**x; 2**x; x.square(); 1 - x; torch.rsub(x, x); x.clamp(0, 1); x.clamp(min=0); x.clamp(x.detach(), None);
    torch.div(x, 2, rounding_mode="floor"); x.masked_fill(x > 0.5, 0); x.masked_fill(x > 0.5, torch.tensor(0.0));
    x.fmod(2); x.fmod(x); x % 2; x % x; torch.lerp(x, x, 0.5); torch.lerp(x, x, x); F.linear(x, w, b); F.linear(x, w);
    F.linear(x[None], w, b); F.linear(x[None], w); x @ w.t(); x[None] @ w.t(); x[None].expand(2, 4, 3) @ x.t();
    x.split(1)[0]; x.split([1, 3])[0]; x.chunk(2)[0]; x.norm(); torch.linalg.matrix_norm(x); torch.linalg.qr(x)[0];
    torch.matrix_exp(x[:3]); torch.cross(x, x, dim=1); F.rms_norm(x, (3,)); F.selu(x); F.logsigmoid(x);
    (x * 1).fill_(2)
"""


def case_names_of_nodes(torch):
    """As PyTorch numbers its overloads, and names what it has in the place of one operator of ours.

    What was named goes back as before.
    """
    x, w, b = (
        torch.arange(12.0).reshape(4, 3).requires_grad_(),
        torch.ones(5, 3, requires_grad=True),
        torch.ones(5, requires_grad=True),
    )
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "w": w, "b": b}
    found = [(text.strip(), eval(text.strip(), names).grad_fn.name()) for text in _NAMES.split(";")]
    y = (x * 2).sum(0)
    before = (
        repr(y.grad_fn).split(" ")[0],
        type(y.grad_fn).__name__,
        type(y.sum().grad_fn.next_functions[0][0]).__name__,
    )
    y.sum().backward()
    return found, before, x.grad, repr(x.detach().requires_grad_().sum(1))


def case_leaves_in_pytorchs_order(torch):
    found = []
    for n in (2, 3, 5, 8):
        order, leaves = [], [torch.ones(2, requires_grad=True) for _ in range(n)]
        for i, leaf in enumerate(leaves):
            leaf.register_hook(lambda g, i=i, order=order: order.append(i))
        torch.cat(leaves).sum().backward()
        product = leaves[0]
        for leaf in leaves[1:]:
            product = product * leaf
        product.sum().backward()
        found.append(order)
    return found


def case_saved_tensors_that_were_detached(torch):
    x = torch.tensor(1.0, requires_grad=True).clone()
    y = x.sin()
    x.detach_()
    z = x.requires_grad_() * x  # saved afterwards
    z.backward()
    w = torch.tensor(1.0, requires_grad=True).clone()
    v = w.exp()
    w.detach_()
    v.backward()
    return [
        _told(y.backward),
        x.grad,
        torch._C._autograd.SavedTensor is torch.autograd.SavedTensor,
        _told(torch.autograd.SavedTensor),
    ]


def case_backward_passes_within_each_other(torch):
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x > 0:
                with torch.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return g

    x = torch.tensor(50.0, requires_grad=True)
    Deep.apply(x).backward()
    return [x.grad]


def case_hooks_where_no_gradient_comes(torch):
    seen = []

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(["leaf", g]))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(["accumulated", p.grad]))
    y = x * 2
    y.register_hook(lambda g: seen.append(["y", g]))
    y.grad_fn.register_hook(lambda *g: seen.append(["node", *g]))
    y.grad_fn.register_prehook(lambda g: seen.append(["before", g]))
    Nothing.apply(y).sum().backward()
    a, b = (x * 3).unbind()
    b.register_hook(lambda g: seen.append(["b", g]))
    a.backward()
    a, b = (x * 3).unbind()
    b.register_hook(lambda g: torch.ones(()))
    return [seen, _told(a.backward), x.grad]


def case_complex_numbers_written_to_by_their_parts(torch):
    def run(write):
        a = torch.arange(1, 5.0).view(2, 2).requires_grad_()
        z = torch.complex(a, a * 2)
        y = write(z)
        y = z if y is None else y
        y = torch.view_as_real(y) if y.is_complex() else y
        (y * torch.arange(8.0).view(2, 2, 2)).sum().backward()
        return a.grad

    def whole(z):
        torch.view_as_real(z).mul_(3)

    def row(z):
        torch.view_as_real(z)[0].mul_(3)

    def real(z):
        z.real.mul_(3)

    def imaginary(z):
        z.imag[1] = 0

    def base(z):
        v = torch.view_as_real(z)
        z.mul_(2j)
        return v

    a = torch.arange(8.0).view(2, 2, 2).requires_grad_()
    b = a * 1
    torch.view_as_complex(b).mul_(2j)
    (b * torch.arange(8.0).view(2, 2, 2)).sum().backward()
    return [*map(run, (whole, row, real, imaginary, base)), a.grad]


def case_in_place_on_a_result_that_a_node_has_saved(torch):
    x = torch.tensor([[[[1.0, 1.0], [0.5, 2.0]]]], requires_grad=True)
    t = torch.relu_((x + 1).view_as(x)).exp_()
    return answer(lambda: torch.autograd.grad(t.pow(2).sum(), x, create_graph=True))


def case_expanded_tensors_written_to(torch):
    import warnings

    def run(f):
        t = torch.zeros(1).expand(3)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            raised = _told(f, t)
        return [raised, t.clone(), [str(w.message)[:40] for w in told]]

    i, one, mask = torch.tensor([0]), torch.ones(1), torch.tensor([True, False, False])
    return [
        run(lambda t: t.scatter_(0, i, 1.0)),
        run(lambda t: t.index_add_(0, i, one)),
        run(lambda t: t.index_copy_(0, i, one)),
        run(lambda t: t.index_put_((i,), one)),
        run(lambda t: t.index_fill_(0, i, 1)),
        run(lambda t: t.masked_fill_(mask, 1)),
        run(lambda t: t.add_(1)),
    ]


def case_arguments_with_defaults_of_custom_functions(torch):
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(x, y=3):
            return x**y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs = inputs

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.inputs
            return g * y * x ** (y - 1), None

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.view_as(x), y.view_as(y)

        @staticmethod
        def backward(ctx, *g):
            return g

    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

    x = torch.tensor(2.0, requires_grad=True)
    y = Power.apply(x)
    two = Two.apply(x * 1, x * 2)
    return [y, torch.autograd.grad(y, x), _told(two[0].mul_, 2), _told(View.apply(torch.ones(2)).mul_, x)]


def case_gradients_of_edges_and_batches(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.sin().sum()
    edge = torch.autograd.graph.get_gradient_edge(y)
    zeros = torch.autograd.grad(x.sum(), torch.ones(2, requires_grad=True), create_graph=True, materialize_grads=True)
    r = [
        zeros,
        _told(torch.autograd.grad, edge, x, torch.ones(4)),
        _told(torch.autograd.grad, edge, x, torch.ones((), dtype=torch.complex64)),
    ]
    r += [
        _told(torch.autograd.grad, x * 1, x, torch.ones(3, 3), is_grads_batched=True),
        list(y.grad_fn._input_metadata[0].shape),
        _told(y.grad_fn),
    ]
    for self, index in (((10,), ()), ((), (2,)), ((), ())):
        leaf = torch.ones(self, requires_grad=True)
        torch.gather(leaf, 0, torch.zeros(index, dtype=torch.int64), sparse_grad=True).sum().backward()
        r.append(leaf.grad.to_dense())
    return [
        *r,
        torch.ones(1).new(torch.Size([])).shape,
        _told(setattr, torch.ones(2), "data", torch.eye(2).to_sparse()),
    ]


def case_what_hooks_hold_is_freed(torch):
    import gc
    import weakref

    def run():
        kept, leaf = torch.rand(3), torch.rand(3, requires_grad=True)
        leaf.register_hook(lambda g: kept)
        leaf.sum().backward()
        return weakref.ref(kept)

    ref = run()
    gc.collect()
    return ref() is None


def case_names_of_nodes_in_place_and_of_numbers(torch):
    x, r = torch.ones(1, 2, requires_grad=True), []
    for f in (
        lambda t: t.squeeze_(0),
        lambda t: t.squeeze_(),
        lambda t: t.unsqueeze_(0),
        lambda t: t.t_(),
        lambda t: t.transpose_(0, 1),
        lambda t: t.zero_(),
        lambda t: t.fill_(2),
        lambda t: t.copy_(torch.ones(1, 2)),
        lambda t: t.masked_fill_(t > 0, 1),
        lambda t: t.clamp(min=0),
        lambda t: t.fmod(2),
        lambda t: t + 1,
        lambda t: 1 - t,
        lambda t: t[0] @ torch.ones(2, 2),
        lambda t: torch.nn.functional.linear(t[0], torch.ones(3, 2), torch.ones(3)),
    ):
        node = f(x.clone()).grad_fn
        r.append([node.name(), [n and n.name() for n, _ in node.next_functions]])
    y = x * 1
    z = y * y
    y.copy_(torch.ones(1, 2))
    return [r, _told(z.sum().backward), x.split(1)[0].grad_fn.name(), _told(x.clone().split(1)[0].mul_, 2)]


def case_older_constructors_and_small_methods(torch):
    import warnings

    def warned(f):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            torch.set_warn_always(True)
            try:
                return [f(), [str(w.message).partition(" (Triggered")[0] for w in told]]
            finally:
                torch.set_warn_always(False)

    x, t = torch.tensor(2.0, requires_grad=True), torch.ones(2, 3)
    empty = torch.empty((0, 3), requires_grad=True)
    empty[:, ::2].sum().backward()
    return [
        reversed(torch.arange(1, 10).view(3, 3)),
        reversed(torch.tensor(42)),
        [warned(lambda: float(x)), warned(lambda: complex(x)), warned(lambda: int(x)), warned(lambda: x.item())],
        [_told(t.diff, dim=0, prepend=torch.tensor([[0, 1]])), _told(t.diff, dim=0, append=torch.ones(1, 2))],
        [x.new(size=(3, 4)).shape, torch.Tensor(size=(2,)).shape, _told(torch.LongTensor, (6, 0), 1, 1, 0)[0]],
        [_told(type, "F", (torch.FloatTensor,), {}), _told(lambda: torch.Size([1]) + [2]), torch.Size([1]) + (2,)],
        [_told(f, n)[0] for f in (torch.set_num_threads, torch.set_num_interop_threads) for n in (-1, 2**65)],
        [
            _told(torch.sparse_coo_tensor, [[-1]], [1.0]),
            _told(lambda: t[::0]),
            _told(torch.ones(2).resize_, -1),
            _told(t[0].view, torch.int64),
        ],
        empty.grad._is_view(),
    ]


def case_graph_behind_linear_layers_and_what_is_written_into(torch):
    nn, seen = torch.nn, []

    def walk(node):
        return None if node is None else [node.name(), [[walk(n), i] for n, i in node.next_functions]]

    def layers():
        made = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1, bias=False))
        for p in made.parameters():
            nn.init.constant_(p, 0.5)
        return made

    m, x = layers(), torch.ones(2, 3)
    y = m(x)
    graphs = [walk(y.grad_fn)]
    y.grad_fn.next_functions[1][0].register_hook(lambda gi, go: seen.append([gi[0], go[0]]))
    y.sum().backward()
    first, again = [p.grad for p in m.parameters()], layers()
    y = again(x)
    graphs.append(walk(y.grad_fn))
    gradients = torch.autograd.grad(y.sum(), list(again.parameters()), create_graph=True)
    sum((g * g).sum() for g in gradients).backward()
    target, base = torch.zeros(2, 2), torch.ones(4, requires_grad=True) * 1
    target[0] = torch.ones(2, requires_grad=True) * 2
    base[:2].mul_(3)
    graphs += [
        walk(t.grad_fn)
        for t in (target, base, x.requires_grad_().round(decimals=1), x.scatter(0, torch.tensor([[0]]), 1.0))
    ]
    return [graphs, seen, first, [p.grad for p in again.parameters()]]
