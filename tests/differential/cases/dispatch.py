"""The level below autograd: modes, classes with a __torch_dispatch__, tensors without values, captured graphs,
operators written in Python.
"""

import copy

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def case_fake_tensors(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    found = []
    with FakeTensorMode() as mode:
        x = torch.ones(2, 3)
        linear = torch.nn.Linear(3, 4)
        out = linear(x)
        out.sum().backward()
        found += [
            repr(x @ x.t()),
            repr(out),
            repr(linear.weight.grad),
            isinstance(linear.weight, torch.nn.Parameter),
            torch.tensor(3).item(),
        ]
        found += [
            answer(f)
            for f in (lambda: x.sum().item(), lambda: torch.nonzero(x), lambda: x[x > 0], lambda: bool(x.sum()))
        ]
        view = x.view(3, 2)
        view.add_(1)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        found += [
            repr(view),
            x._version,
            repr(layer(torch.randn(2, 5, 8))),
            list(x.unsqueeze_(0).shape),
            repr(torch.nn.BatchNorm1d(3)(torch.ones(2, 3))),
        ]
    real = torch.zeros(4, 4)
    fake = mode.from_tensor(real)
    return [*found, fake is mode.from_tensor(real), repr(fake.long() + 1), answer(lambda: fake + real)]


def case_fake_results_have_the_strides_of_real_ones(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def program(x):
        y = torch.nn.functional.conv2d(x, x.new_ones(4, 3, 3, 3)).permute(0, 2, 3, 1)
        z = torch.stack([y.sum(-1), y.amax(-1)], 1).flip(0)
        values, indices = z.sort(-1, descending=True)
        return [
            [list(t.shape), list(t.stride()), str(t.dtype)]
            for t in (y, z, values, indices, y.contiguous().view(-1)[::2], torch.softmax(y, 1), y.mean((1, 2)))
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
    return [
        sorted(str(n.target) for n in graph.graph.nodes if n.op == "call_function" and n.target is not detach),
        graph(torch.ones(2)),
    ]


def case_wrapper_subclasses(torch):
    from torch.utils._pytree import tree_map

    seen = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, device=inner.device, strides=inner.stride()
            )

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append([str(func), [type(a).__name__ for a in args], sorted(kwargs or {})])
            args, kwargs = tree_map(lambda t: t.inner if isinstance(t, Wrapper) else t, (args, kwargs or {}))
            return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*args, **kwargs))

    x = Wrapper(torch.arange(6.0).reshape(2, 3))
    out = [
        x[0],
        x[:, 1:],
        x.t(),
        torch.cat([x, x]),
        x.to(torch.float64),
        torch.softmax(x, -1),
        x.clone(),
        x.view(3, 2),
        x > 1,
        x == x,
        x**2,
        -x,
        x.sum(0),
    ]
    out += [
        torch.nn.functional.layer_norm(x, (3,)),
        x.reshape(-1),
        x.expand(4, 2, 3),
        x.mean(),
        x.max(),
        x.argmax(-1),
        torch.where(x > 1, x, -x),
    ]
    return [seen, [t.inner for t in out], x.sum().item()]


def case_custom_operators(torch):
    library = torch.library.Library("ourcases", "DEF")
    library.define("twice(Tensor x, *, int n=2) -> Tensor")
    library.impl("twice", lambda x, n=2: x * n, "CPU")
    twice = torch.ops.ourcases.twice
    found = [
        twice(torch.ones(2)),
        twice(torch.ones(2), n=5),
        answer(lambda: twice(1)),
        answer(lambda: twice(torch.ones(1), 3)),
        answer(lambda: twice()),
    ]
    found += [
        str(twice.default),
        twice.default.name(),
        str(twice.default._schema),
        answer(lambda: library.define("twice(Tensor x) -> Tensor"))[0],
    ]
    library._destroy()

    @torch.library.custom_op("ourcases2::bump", mutates_args={"x"})
    def bump(x: torch.Tensor, by: int = 1) -> None:
        x.add_(by)

    @torch.library.custom_op("ourcases2::scaled", mutates_args=())
    def scaled(x: torch.Tensor, k: float, shift: float | None = None) -> torch.Tensor:
        return x * k + (shift or 0.0)

    scaled.register_fake(lambda x, k, shift=None: torch.empty_like(x))
    scaled.register_autograd(
        lambda ctx, g: (g * ctx.k, None, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1])
    )
    x, y = torch.zeros(2), torch.ones(2, requires_grad=True)
    before = x._version
    bump(x), torch.ops.ourcases2.bump(x, by=5)
    scaled(y, 3.0).sum().backward()
    return [
        *found,
        x,
        x._version - before,
        y.grad,
        str(torch.ops.ourcases2.scaled.default._schema),
        list(scaled(torch.ones(3, device="meta"), 2.0).shape),
    ]


def case_gradients_of_operators_on_lists_of_tensors(torch):
    library, found = torch.library.Library("ourlists", "DEF"), []

    def defined(schema, kernel, backward, setup=None):
        name = library.define(schema)
        library.impl(name, kernel, "CompositeExplicitAutograd")
        torch.library.register_autograd(f"ourlists::{name}", backward, setup_context=setup)
        return getattr(torch.ops.ourlists, name)

    def keep(ctx, inputs, output):
        found.append([type(x).__name__ for x in (inputs, inputs[0], output)])
        ctx.f = inputs[1]

    def of_times(ctx, grads):
        found.append([type(grads).__name__, *grads])
        return [g * ctx.f for g in grads], None

    times = defined("times(Tensor[] xs, float f) -> Tensor[]", lambda xs, f: [x * f for x in xs], of_times, keep)
    mixed = defined(
        "mixed(Tensor[] xs, Tensor y) -> (Tensor[], Tensor)",
        lambda xs, y: ([x * y for x in xs], y * 2),
        lambda ctx, grads, g: ([*grads], g + 1),
    )
    parts = defined(
        "parts(Tensor x, int[] n) -> Tensor[]", lambda x, n: [x * k for k in n], lambda ctx, grads: (grads[0] * 7, None)
    )
    a, b, c = torch.ones(2, requires_grad=True), torch.ones(3), torch.full((1,), 2.0, requires_grad=True)
    y = torch.tensor(2.0, requires_grad=True)
    out = times([a, b, c], 3.0)
    found.append([type(out).__name__, *(o.requires_grad for o in out), out[0].grad_fn.name()])
    out[0].sum().backward()
    found += [a.grad.clone(), c.grad.clone()]
    out = mixed([a, c], y)
    found.append([type(out).__name__, type(out[0]).__name__, out[0][0].requires_grad, out[1].requires_grad])
    out[0][1].sum().backward()
    found += [a.grad.clone(), c.grad.clone(), y.grad]
    parts(a, [1, 2])[1].sum().backward()
    found.append(a.grad)
    for i, wrong in enumerate(([c], [a, c, c], (a, c), a, None)):
        total = defined(f"total{i}(Tensor[] xs) -> Tensor", lambda xs: xs[0] + xs[1], lambda ctx, g, wrong=wrong: wrong)
        found.append(answer(lambda total=total: total([a, c]).sum().backward()))
    library._destroy()
    return found


def case_a_subclass_whose_base_keeps_tensor_from_hearing_of_it(torch):
    seen = []

    class Base(torch.Tensor):
        def __init_subclass__(cls, mark=0):
            cls.mark = mark  # and does not call Tensor's

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*(x.inner if isinstance(x, cls) else x for x in args), **(kwargs or {}))

    class Wrapper(Base, mark=3):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

    class Function(torch.Tensor):
        def __init_subclass__(cls):
            pass

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Child(Function):
        pass

    out = Wrapper(torch.ones(2)) + 1
    return [Wrapper.mark, out, type(torch.ones(2).as_subclass(Child) * 2).__name__, seen]


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
            return torch.Tensor._make_wrapper_subclass(
                cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad
            )

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
    found = [
        list(s),
        list(s | [9, 3]),
        list(s & {0, 3}),
        list(s.union([7], [8])),
        s == OrderedSet([3, 2, 0]),
        s == {0, 2, 3},
        s.issubset([0, 2, 3, 4]),
    ]
    return [
        *found,
        s.pop(),
        list(s),
        repr(s),
        list(s.difference([3])),
        list(reversed(s)),
        3 in s,
        list(s.symmetric_difference([2, 5])),
    ]


def case_modes_of_pytorch_come_after_those_of_programs(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils import _python_dispatch as dispatch

    seen = []

    class Log(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append([str(func), len(dispatch._get_current_dispatch_mode_stack())])
            return func(*args, **(kwargs or {}))

    with Log() as log:
        with FakeTensorMode() as fake:  # entered later, asked later
            stack = [type(m).__name__ for m in dispatch._get_current_dispatch_mode_stack()]
            x = torch.ones(2)
            x.resize_(3)
            x.set_(torch.ones(2))
            x.data  # noqa: B018
            with dispatch._disable_current_modes() as modes:
                inside = [type(torch.ones(2)).__name__, [m is log or m is fake for m in modes]]
            with FakeTensorMode() as other:
                one = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is other
    return [
        seen,
        stack,
        inside,
        one,
        type(x).__name__,
        dispatch.is_in_torch_dispatch_mode(),
        log.is_infra_mode(),
        fake.is_infra_mode(),
    ]


def case_wrappers_share_storages_as_their_schemas_say(torch):
    from torch.utils._python_dispatch import return_and_correct_aliasing, transform_subclass
    from torch.utils._pytree import tree_map_only

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device
            )

        def __init__(self, inner):
            self.inner = inner

        def __tensor_flatten__(self):
            return ["inner"], None

        @staticmethod
        def __tensor_unflatten__(inner_tensors, context, outer_size, outer_stride):
            return Wrapper(inner_tensors["inner"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            inner, named = tree_map_only(Wrapper, lambda w: w.inner, (args, kwargs or {}))
            out = tree_map_only(torch.Tensor, Wrapper, func(*inner, **named))
            return return_and_correct_aliasing(func, args, kwargs or {}, out)

    x = Wrapper(torch.arange(6.0))
    view, other = x.view(2, 3), x + 1
    a, b = x.chunk(2)
    same = [t.untyped_storage()._cdata == x.untyped_storage()._cdata for t in (view, other, a, b)]
    found = [
        same,
        x.untyped_storage().nbytes(),
        view.add_(1) is view,
        x.inner,
        x.unsqueeze_(0) is x,
        list(x.shape),
        list(x.inner.shape),
    ]
    return [
        *found,
        transform_subclass(x, lambda name, t: t * 2).inner,
        answer(lambda: torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))),
    ]


def case_fakes_share_memory_as_real_tensors_do(torch):
    import gc
    import weakref

    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    x = torch.rand(2, 2, 2)
    y = x[0]
    fakes = [mode.from_tensor(x), mode.from_tensor(y)]
    found = [
        torch._C._storage_id(fakes[0]) == torch._C._storage_id(fakes[1]),
        fakes[1]._is_view(),
        fakes[0]._is_view(),
        fakes[1]._base is fakes[0],
    ]
    p = torch.rand(3, requires_grad=True)
    p.grad = torch.rand(3)
    z = mode.from_tensor(p * 2)
    found += [
        type(mode.from_tensor(p).grad).__name__,
        z.is_leaf,
        z.requires_grad,
        mode.from_tensor(p.view(3, 1)).grad_fn is None,
    ]
    with mode:
        k = torch.tensor([1])
        e = k.expand([4])
        found += [k.constant is None, e.constant is None]
        k = torch.tensor([4])
        q = k[:]
        found += [k.constant.untyped_storage()._cdata == q.constant.untyped_storage()._cdata]
        q.add_(1)
        found += [k.item(), k.resize_([2]).constant is None]
    mode, seen = FakeTensorMode(), weakref.ref(mode)
    del fakes, z, k, e, q
    gc.collect()
    return [*found, seen() is None]


def case_operators_are_compared_with_fakes(torch):
    from torch._subclasses import CrossRefFakeMode

    library = torch.library.Library("compared", "FRAGMENT")
    library.define("wrong(Tensor x) -> Tensor")
    library.impl("wrong", lambda x: x.new_zeros(3), "CPU")
    library.impl("wrong", lambda x: x.new_zeros(2), "Meta")
    with CrossRefFakeMode():
        layer = torch.nn.Sequential(
            torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3).eval(), torch.nn.ReLU(), torch.nn.Flatten()
        )
        out = layer(torch.ones(1, 2, 4, 4))
        out.sum().backward()
        found = [list(out.shape), answer(lambda: torch.ops.compared.wrong(torch.ones(2)))[0]]
    return found


def case_convolutions_gradients_are_one_operator(torch):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if "convolution" in str(func):
                seen.append([str(func), args[-1]])
            return func(*args, **(kwargs or {}))

    x, w = torch.ones(1, 2, 5, 5, requires_grad=True), torch.ones(3, 2, 3, 3, requires_grad=True)
    with Log():
        torch.nn.functional.conv2d(x, w, torch.ones(3)).sum().backward()
        torch.nn.functional.conv2d(x, w.detach()).sum().backward()
    with FlopCounterMode(display=False) as mode:
        torch.nn.functional.conv_transpose2d(x, torch.ones(2, 3, 2, 2, requires_grad=True)).sum().backward()
    counts = {str(k): v for k, v in mode.get_flop_counts()["Global"].items()}
    given = (
        torch.ones(1, 3, 3, 3),
        x.detach(),
        w.detach(),
        [3],
        [1, 1],
        [0, 0],
        [1, 1],
        False,
        [0, 0],
        1,
        [True, False, True],
    )
    return [seen, counts, x.grad, w.grad, torch.ops.aten.convolution_backward(*given)]


def case_gradients_call_what_pytorchs_do(torch):
    """Formulas name PyTorch's operators: reductions, products, selections, and saved results, which are detached where
    they lead back.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    found = []
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    w = torch.ones(4, 2, requires_grad=True)
    F = torch.nn.functional
    for f in (
        lambda: x.sum(1),
        lambda: x.sum((0, 1), True),
        lambda: x.unsqueeze(0),
        lambda: x @ w,
        lambda: x[None].bmm(w[None]),
        lambda: torch.addmm(torch.zeros(2), x, w),
        lambda: F.softmax(x, 1),
        lambda: F.log_softmax(x, 0),
        lambda: x.max(1)[0],
        lambda: x.cummax(0)[0],
        lambda: x.topk(2)[0],
        lambda: x.sigmoid(),
        lambda: F.gelu(x, approximate="tanh"),
        lambda: F.embedding(torch.tensor([1, 2]), x),
    ):
        seen = []
        with Log():
            f().sum().backward()
        found.append(seen)
    return found


def case_higher_order_operators(torch):
    from torch._ops import HigherOrderOperator
    from torch.utils._python_dispatch import TorchDispatchMode

    class Twice(HigherOrderOperator):
        def __init__(self):
            super().__init__("twice_of_ours")

        def __call__(self, f, x):
            return super().__call__(f, x)

    twice, seen = Twice(), []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @twice.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)
    def _(f, x):
        seen.append("kernel")
        return f(f(x))

    @twice.py_impl(torch._C.DispatchKey.Autograd)
    def _(f, x):
        seen.append("autograd")
        with torch._C._AutoDispatchBelowAutograd():
            return twice(f, x)

    @twice.py_impl(Mode)
    def _(mode, f, x):
        seen.append("mode")
        return twice(f, x)

    x = torch.ones(2, requires_grad=True)
    with Mode():
        out = twice(torch.exp, x)
    return [
        out,
        out.requires_grad,
        torch.is_grad_enabled(),
        seen,
        str(torch.ops.higher_order.twice_of_ours),
        answer(lambda: HigherOrderOperator("x")),
    ]


def case_windows_without_a_stride(torch):
    aten, x = torch.ops.aten, torch.arange(32.0).reshape(1, 2, 4, 4)
    return [
        aten.max_pool2d_with_indices.default(x, [2, 2]),
        aten.max_pool2d_with_indices(x, [2, 2], [], [0, 0]),
        aten.max_pool2d_with_indices(x, [2, 2], stride=[1, 1]),
        aten.avg_pool2d.default(x, [2, 2]),
        aten.max_pool3d_with_indices.default(x[None], [2, 2, 2]),
    ]


def case_kernels_of_functions(torch):
    seen = []

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, w = torch.linspace(-1, 1, 48).reshape(8, 2, 3).requires_grad_(), torch.tensor([0.25], requires_grad=True)
    with Log():  # values and gradients are those without the mode
        loss = torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2], [1, 1]]), (8, 8), (2, 2))
        y = torch.nn.functional.prelu(x, w)
    (loss + y.sum()).backward()
    lengths = [8, 8], [2, 2]
    direct = torch.ops.aten._ctc_loss.default(x.detach().log_softmax(-1), torch.tensor([[1, 2], [1, 1]]), *lengths)[0]
    return [
        loss.detach(),
        y.detach(),
        x.grad,
        w.grad,
        direct,
        sorted({n for n in seen if "_ctc_loss" in n or "prelu" in n}),
    ]


def case_defaults_of_functions_are_not_those_of_operators(torch):
    """Python functions read PyTorch's Mean as 0, operators as 1: what a mode is given says which."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            r = func(*args, **(kwargs or {}))
            if "entropy" in str(func):
                seen.append((str(func), args[4] if len(args) > 4 else 1, tuple(r.shape)))
            return r

    x = torch.ones(3)
    with Mode():
        for reduction in ("none", "mean", "sum"):
            torch.nn.functional.binary_cross_entropy_with_logits(x, x, reduction=reduction)
    return seen


def _answering(torch):
    class Answers(torch.Tensor):
        @staticmethod
        def __new__(cls, inside):
            return torch.Tensor._make_wrapper_subclass(cls, inside.size(), dtype=inside.dtype)

        def __init__(self, inside):
            self.inside = inside

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            found = func(*(a.inside if isinstance(a, cls) else a for a in args), **(kwargs or {}))
            return cls(found) if isinstance(found, torch.Tensor) and found.device.type == "cpu" else found

    return Answers


def case_wrapper_subclasses_with_attributes_of_their_own(torch):
    class Indices(_answering(torch)):
        dtype = property(lambda self: self.inside.dtype)
        device = property(lambda self: self.inside.device)

    x = Indices(torch.arange(3))
    return [x.dtype, x.device, (x + 1).inside, x.shape, x.stride()]


def case_tensors_that_answer_operators_become_no_other_class(torch):
    class Plain(torch.Tensor):
        pass

    cls, found = _answering(torch), []
    x = cls(torch.ones(2))
    for make in (Plain, x.as_subclass, torch.Tensor._make_subclass):
        try:
            make(*((x,) if make is Plain else (Plain,) if make == x.as_subclass else (Plain, x)))
        except RuntimeError as e:
            found.append(str(e))
    return [found, type(x.as_subclass(cls)).__name__, x.as_subclass(cls).inside]


def case_tensors_that_answer_operators_are_parametrized(torch):
    class Twice(torch.nn.Module):
        def forward(self, x):
            return 2 * x

    m = torch.nn.Module()
    m.weight = torch.nn.Parameter(_answering(torch)(torch.ones(2)))
    torch.nn.utils.parametrize.register_parametrization(m, "weight", Twice())
    return [type(m.weight).__name__, m.weight.inside, torch.nn.utils.parametrize.is_parametrized(m, "weight")]


def case_classes_may_answer_with_nothing(torch):
    class Silent(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return (
                None
                if func.overloadpacket.__name__ in ("add", "__rshift__")
                else super().__torch_dispatch__(func, types, args, kwargs or {})
            )

    x = torch.ones(2, requires_grad=True).as_subclass(Silent)
    return [x + 1, torch.ones(2).as_subclass(Silent) + 1, torch.ops.aten.__rshift__.Scalar(torch.tensor([4]), 1)]


def case_fake_copies(torch):
    from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode

    mode, bags = FakeTensorMode(), (torch.ones(6, 1), torch.ones(6, dtype=torch.int64), torch.arange(2), False, 2)
    with FakeCopyMode(mode):
        copied = copy.deepcopy(torch.nn.BatchNorm2d(2))
    with mode:
        sizes = [
            tuple(t.shape)
            for t in torch.ops.aten._embedding_bag(
                *(mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in bags)
            )
        ]
    return [
        [
            (n, type(t).__name__, isinstance(t, torch.nn.Parameter))
            for n, t in copied.state_dict(keep_vars=True).items()
        ],
        sizes,
    ]


def case_traces_know_the_values_of_constants(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    def written(x):
        v = torch.tensor(1.0)
        v.add_(2)
        return x * v.item() + torch.tensor([2]).unbind(0)[0].item()

    def given(x):
        v = torch.tensor(1.0)
        v.add_(x.sum())
        return v.item()

    def told(f, mode):
        try:
            graph = make_fx(f, tracing_mode=mode)(torch.ones(2))
            return [graph.code, graph(torch.ones(2)), graph(torch.zeros(2))]
        except Exception as e:
            return [type(e).__name__, str(e).split(" - ")[0]]

    return [
        told(written, "real"),
        told(written, "fake"),
        told(given, "real"),
        *(told(lambda x: torch.allclose(x, x), mode) for mode in ("real", "fake")),
    ]


def case_isolated_traces(torch):
    from torch.fx.experimental.proxy_tensor import get_isolated_graphmodule, make_fx

    inside = []

    def f(x):
        inside.append(get_isolated_graphmodule(lambda a, k: a.sum() * k, (x,), {"k": 2}))
        return x + 1

    return [make_fx(f)(torch.ones(3)).code, [n.name for n in inside[0].graph.nodes], inside[0]([torch.ones(3), 3])]


def case_fake_one_hot_of_so_many_classes(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        found = torch.nn.functional.one_hot(torch.zeros(2, 3, dtype=torch.int64), 4)
        return [list(found.shape), str(found.dtype)]


def case_views_of_wrappers_are_views(torch):
    from torch.utils._pytree import tree_map

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            r = torch.Tensor._make_wrapper_subclass(
                cls, inner.size(), dtype=inner.dtype, strides=inner.stride(), requires_grad=requires_grad
            )
            r.inner = inner
            return r

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args, kwargs = tree_map(lambda t: t.inner if isinstance(t, cls) else t, (args, kwargs or {}))
            return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*args, **kwargs))

    class Asking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    asked, x = [], Wrapper(torch.ones(2, 2), True)
    y = x * 2
    row, whole = y[0], y.view(4)
    told = [row._is_view(), row._base is y, whole._version]
    row.mul_(3)
    told += [y._version, whole._version, type(y.grad_fn).__name__, row.requires_grad]
    (whole * whole).sum().backward()
    torch.autograd.backward((torch.ones(2).as_subclass(Asking).requires_grad_() * 2).sum())

    @torch.library.custom_op("cases_dispatch::bump", mutates_args={"x"})
    def bump(x: torch.Tensor) -> None:
        x.add_(1)

    leaf = torch.ones(2, requires_grad=True)
    bump(leaf)
    return [told, x.grad.inner, asked, leaf]


def case_custom_operators_that_are_defined_again(torch):
    """Cells of notebooks define an operator again: who holds the earlier one calls the new one."""
    seen = []

    def define(factor):
        @torch.library.custom_op("cases_dispatch::again", mutates_args=())
        def again(x: torch.Tensor) -> torch.Tensor:
            return x * factor

        @again.register_fake
        def _(x):
            return torch.empty_like(x)

        return again

    x = torch.arange(3.0)
    first = define(2)
    held = torch.ops.cases_dispatch.again.default
    seen += [first(x), held(x)]
    second = define(3)
    seen += [first(x), second(x), held(x), torch.ops.cases_dispatch.again(x), second(x.to("meta")).shape]
    return seen


def case_operators_on_eight_bit_floats(torch):
    found = []
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        dtype = getattr(torch, name)
        x = torch.tensor([1.0, -2.0, 0.5, float("nan"), 300.0]).to(dtype)
        y = torch.tensor([1.0, 4.0, -0.25, 1.0, 300.0]).to(dtype)
        found += [x == y, x != y, x == 1.0, torch.isnan(x), torch.abs(x).float(), (x * y).float()]
        found += [bool((y == y.clone()).all())]
    return found
