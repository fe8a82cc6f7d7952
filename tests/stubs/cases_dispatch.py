"""The level below autograd: modes, classes with a __torch_dispatch__, tensors without values, captured graphs, operators written in Python."""

__warningregistry__ = {}


def text(f):
    try:
        return f()
    except Exception as e:
        return [type(e).__name__, str(e).split("\n")[0]]


def case_fake_tensors(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    found = []
    with FakeTensorMode() as mode:
        x = torch.ones(2, 3)
        linear = torch.nn.Linear(3, 4)
        out = linear(x)
        out.sum().backward()
        found += [repr(x @ x.t()), repr(out), repr(linear.weight.grad), isinstance(linear.weight, torch.nn.Parameter), torch.tensor(3).item()]
        found += [text(f) for f in (lambda: x.sum().item(), lambda: torch.nonzero(x), lambda: x[x > 0], lambda: bool(x.sum()))]
        view = x.view(3, 2)
        view.add_(1)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        found += [repr(view), x._version, repr(layer(torch.randn(2, 5, 8))), list(x.unsqueeze_(0).shape), repr(torch.nn.BatchNorm1d(3)(torch.ones(2, 3)))]
    real = torch.zeros(4, 4)
    fake = mode.from_tensor(real)
    return [*found, fake is mode.from_tensor(real), repr(fake.long() + 1), text(lambda: fake + real)]


def case_fake_results_have_the_strides_of_real_ones(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def program(x):
        y = torch.nn.functional.conv2d(x, x.new_ones(4, 3, 3, 3)).permute(0, 2, 3, 1)
        z = torch.stack([y.sum(-1), y.amax(-1)], 1).flip(0)
        values, indices = z.sort(-1, descending=True)
        return [
            [list(t.shape), list(t.stride()), str(t.dtype)] for t in (y, z, values, indices, y.contiguous().view(-1)[::2], torch.softmax(y, 1), y.mean((1, 2)))
        ]

    x = torch.ones(2, 3, 8, 8)
    with FakeTensorMode() as mode:
        fake = program(mode.from_tensor(x))
    return [fake, fake == program(x)]


def case_captured_graphs(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    def f(x, y):
        z = torch.nn.functional.linear(x, y)
        z.add_(1)
        a, b = z.chunk(2, -1)
        return torch.softmax(a, -1), {"b": b[0, 1:]}

    graph = make_fx(f)(torch.ones(2, 3), torch.ones(4, 3))
    doubled = make_fx(lambda x: (x * 2).relu())(torch.ones(2))
    sines = {torch.ops.aten.exp.default: lambda x: x.sin()}
    decomposed = make_fx(lambda x: x.mean(0).exp(), decomposition_table=sines)(torch.ones(2))
    constant = make_fx(lambda x: x + torch.tensor(1.0) + torch.zeros(2))(torch.ones(2))
    graphs = (graph, doubled, decomposed, constant)
    return [
        [g.code for g in graphs],
        [[str(n.target) for n in g.graph.nodes] for g in graphs],
        graph(torch.eye(2, 3), torch.ones(4, 3)),
        doubled(torch.ones(3)),
    ]


def case_captured_gradients(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    def gradient(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x.exp() * 2).sum(), x)[0]

    graph = make_fx(gradient)(torch.zeros(2))
    detach = torch.ops.aten.detach.default  # how often is the engine's matter
    return [sorted(str(n.target) for n in graph.graph.nodes if n.op == "call_function" and n.target is not detach), graph(torch.ones(2))]


def case_wrapper_subclasses(torch):
    from torch.utils._pytree import tree_map

    seen = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device, strides=inner.stride())

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append([str(func), [type(a).__name__ for a in args], sorted(kwargs or {})])
            args, kwargs = tree_map(lambda t: t.inner if isinstance(t, Wrapper) else t, (args, kwargs or {}))
            return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*args, **kwargs))

    x = Wrapper(torch.arange(6.0).reshape(2, 3))
    out = [x[0], x[:, 1:], x.t(), torch.cat([x, x]), x.to(torch.float64), torch.softmax(x, -1), x.clone(), x.view(3, 2), x > 1, x == x, x**2, -x, x.sum(0)]
    out += [torch.nn.functional.layer_norm(x, (3,)), x.reshape(-1), x.expand(4, 2, 3), x.mean(), x.max(), x.argmax(-1), torch.where(x > 1, x, -x)]
    return [seen, [t.inner for t in out], x.sum().item()]


def case_custom_operators(torch):
    library = torch.library.Library("ourcases", "DEF")
    library.define("twice(Tensor x, *, int n=2) -> Tensor")
    library.impl("twice", lambda x, n=2: x * n, "CPU")
    twice = torch.ops.ourcases.twice
    found = [twice(torch.ones(2)), twice(torch.ones(2), n=5), text(lambda: twice(1)), text(lambda: twice(torch.ones(1), 3)), text(lambda: twice())]
    found += [str(twice.default), twice.default.name(), str(twice.default._schema), text(lambda: library.define("twice(Tensor x) -> Tensor"))[0]]
    library._destroy()

    @torch.library.custom_op("ourcases2::bump", mutates_args={"x"})
    def bump(x: torch.Tensor, by: int = 1) -> None:
        x.add_(by)

    @torch.library.custom_op("ourcases2::scaled", mutates_args=())
    def scaled(x: torch.Tensor, k: float, shift: float | None = None) -> torch.Tensor:
        return x * k + (shift or 0.0)

    scaled.register_fake(lambda x, k, shift=None: torch.empty_like(x))
    scaled.register_autograd(lambda ctx, g: (g * ctx.k, None, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]))
    x, y = torch.zeros(2), torch.ones(2, requires_grad=True)
    before = x._version
    bump(x), torch.ops.ourcases2.bump(x, by=5)
    scaled(y, 3.0).sum().backward()
    return [*found, x, x._version - before, y.grad, str(torch.ops.ourcases2.scaled.default._schema), list(scaled(torch.ones(3, device="meta"), 2.0).shape)]


def case_properties_ask_subclasses(torch):
    seen = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(torch.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 2).as_subclass(Logged)
    x.shape, x.dtype, x.T, x.ndim, x.is_leaf, x.device, len(x), x[0], x.size()
    x[0] = 5
    x.requires_grad = True
    return [seen, type(x.grad).__name__, type(x.T).__name__]


def case_gradients_of_subclasses_are_plain(torch):
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Sub).requires_grad_()
    (x * x.exp()).sum().backward()
    return [type(x.grad).__name__, x.grad.as_subclass(torch.Tensor)]


def case_return_and_correct_aliasing(torch):
    from torch.utils._python_dispatch import return_and_correct_aliasing
    from torch.utils._pytree import tree_map

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, a):
            return torch.Tensor._make_wrapper_subclass(cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad)

        def __init__(self, a):
            self.a = a

        def __tensor_flatten__(self):
            return ["a"], None

        @staticmethod
        def __tensor_unflatten__(inner, meta, size, stride):
            return Wrapper(inner["a"])

        @classmethod
        def __torch_dispatch__(cls, f, types, args=(), kwargs=None):
            plain = [tree_map(lambda x: x.a if isinstance(x, Wrapper) else x, given) for given in (args, kwargs or {})]
            out = tree_map(lambda x: Wrapper(x) if isinstance(x, torch.Tensor) else x, f(*plain[0], **plain[1]))
            return return_and_correct_aliasing(f, args, kwargs or {}, out)

    x = Wrapper(torch.ones(2, 3))
    view = x.view(3, 2)
    same = x.add_(1) is x
    return [same, x.a, view.a, type(view).__name__, [t.a for t in x.split(1)], list(x.t().shape)]


def case_ordered_set(torch):
    from torch.utils._ordered_set import OrderedSet

    s = OrderedSet([3, 1, 3, 2])
    s.add(0)
    s.discard(1)
    found = [list(s), list(s | [9, 3]), list(s & {0, 3}), list(s.union([7], [8])), s == OrderedSet([3, 2, 0]), s == {0, 2, 3}, s.issubset([0, 2, 3, 4])]
    return [*found, s.pop(), list(s), repr(s), list(s.difference([3])), list(reversed(s)), 3 in s, list(s.symmetric_difference([2, 5]))]
