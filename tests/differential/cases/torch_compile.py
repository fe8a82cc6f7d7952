"""Passes over graphs, torch.compile's faces and the graphs that backends get, exported programs.

The real torch._dynamo turns off the checks of distributions' arguments for the process: this file comes after theirs.
"""

import copy
import io
import pickle
from unittest import mock

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def net(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.p = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(2))
            torch.nn.init.ones_(self.l.weight), torch.nn.init.zeros_(self.l.bias)

        def forward(self, x, y):
            a = self.l(x) + self.p
            b = a.relu()
            c = b + y
            return a * c, b

    return Net()


def case_split_module(torch):
    from torch.fx.passes.split_module import split_module

    found = []
    for size in (1, 2, 3):
        graph, order = torch.fx.symbolic_trace(net(torch)), {}
        split = split_module(graph, graph, lambda n, order=order, size=size: order.setdefault(n, len(order)) // size)
        found += [split.code, [(n, c.code) for n, c in split.named_children()], split(torch.ones(1, 2), torch.zeros(2))]
    graph = torch.fx.symbolic_trace(net(torch))
    names = {}
    named = split_module(graph, graph, lambda n: 0, names, partition_affix="part", tuple_return=True)
    circle = answer(lambda: split_module(graph, graph, lambda n: int(n.name in ("add", "mul"))))
    return [*found, named.code, names, circle]


def case_shapes(torch):
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    from torch.fx.passes.shape_prop import ShapeProp

    graph = torch.fx.symbolic_trace(net(torch))
    ShapeProp(graph).propagate(torch.ones(3, 2), torch.ones(2))
    metas = [tuple(n.meta["tensor_meta"])[:4] for n in graph.graph.nodes if n.op.startswith("call")]
    metas = [[list(s), str(d), r, list(t)] for s, d, r, t in metas]
    fake = torch.fx.symbolic_trace(net(torch))
    answer(lambda: FakeTensorProp(fake).propagate(torch.ones(3, 2), torch.ones(2)))  # parameters are no fake tensors
    FakeTensorProp(fake, torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)).propagate(
        torch.ones(3, 2), torch.ones(2)
    )
    return [
        metas,
        [list(n.meta["val"].shape) for n in fake.graph.nodes if n.op.startswith("call")],
        answer(lambda: ShapeProp(graph).propagate(torch.ones(3, 2), 5))[0],
    ]


def case_replace_pattern(torch):
    def f(x, y):
        a = torch.relu(x + 1) * torch.relu(y + 1)
        return torch.neg(a) + torch.cat([x, y]).sum()

    found = []
    pairs = [
        (lambda a: torch.relu(a + 1), lambda a: torch.sigmoid(a)),
        (lambda a: torch.relu(a + 2), lambda a: torch.sigmoid(a)),
        (lambda a, b: a * b, lambda a, b: torch.maximum(a, b) - b),
        (lambda a, b: torch.cat([a, b]).sum(), lambda a, b: a.sum() + b.sum()),
        (lambda a: torch.relu(a), lambda a: a),
    ]
    for pattern, replacement in pairs:
        graph = torch.fx.symbolic_trace(f)
        matches = torch.fx.replace_pattern(graph, pattern, replacement)
        graph.graph.lint()
        found += [len(matches), [m.anchor.name for m in matches], graph.code, graph(torch.ones(2), torch.zeros(2))]
    return found


def case_matches_in_a_row(torch):
    """Patterns whose inputs are what other matches return, and that follow one another."""

    def f(x, y):
        a = torch.relu(torch.relu(torch.relu(x) + y) + torch.relu(y))
        return torch.relu(a) * torch.neg(torch.neg(torch.neg(x)))

    found = {}
    for name, pattern, replacement in (
        ("one", lambda a: torch.relu(a), lambda a: torch.sigmoid(a) + 1),
        ("pair", lambda a: torch.neg(torch.neg(a)), lambda a: torch.abs(a)),
        ("sum", lambda a, b: torch.relu(a + b), lambda a, b: torch.maximum(a, b)),
        ("negative", lambda a: torch.neg(a), lambda a: torch.mul(a, -1)),
    ):
        graph = torch.fx.symbolic_trace(f)
        matches = torch.fx.replace_pattern(graph, pattern, replacement)
        graph.graph.lint()
        found[name] = len(matches), graph.code, graph(torch.linspace(-1, 1, 4), torch.linspace(2, -2, 4))
    return found


def case_matcher(torch):
    from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

    graph = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) + torch.relu(x + 2) * 3).graph
    pattern = torch.fx.symbolic_trace(lambda a: torch.relu(a + 1)).graph
    strict, loose = SubgraphMatcher(pattern).match(graph), SubgraphMatcher(pattern, ignore_literals=True).match(graph)
    return [
        [[n.name for n in m.anchors], [n.name for n in m.placeholder_nodes], [n.name for n in m.returning_nodes]]
        for m in (*strict, *loose)
    ]


def case_typed_code(torch):
    class M(torch.nn.Module):
        def forward(self, x: torch.Tensor, n: int = 2) -> torch.Tensor:
            return x * n

    graph = torch.fx.symbolic_trace(M())
    return [
        graph.code,
        str(graph.graph),
        type(copy.deepcopy(graph)).__name__,
        type(copy.copy(graph)).__name__,
        type(pickle.loads(pickle.dumps(graph))).__name__,
    ]


def case_optimized_module(torch):
    found, n = [], net(torch)
    m = torch.compile(n, backend="eager")
    m.extra = 3
    found += [
        n.extra,
        m.training,
        m.eval() is m,
        n.training,
        m.l is n.l,
        sorted(m.state_dict()),
        [k for k, _ in m.named_modules()],
        repr(m),
    ]
    del m.extra
    found += [
        hasattr(n, "extra"),
        answer(lambda: m.nothing),
        m._orig_mod is n,
        type(pickle.loads(pickle.dumps(torch.compile(torch.nn.Linear(1, 1))))).__name__,
    ]
    inner = torch.nn.Linear(2, 2)
    inner.compile(backend="eager")
    return [
        *found,
        list(inner(torch.ones(1, 2)).shape),
        len(torch.compile(torch.nn.Sequential(torch.nn.ReLU()))),
        m(torch.ones(1, 2), torch.ones(2)),
    ]


def case_backends(torch):
    graphs = []

    def backend(gm, inputs):
        graphs.append([[n.op for n in gm.graph.nodes], [list(i.shape) for i in inputs]])
        return gm.forward

    def with_values(x, scale, names):
        return {"y": torch.sin(x) * scale + len(names), "n": 4}

    f = torch.compile(with_values, backend=backend)
    out = [
        f(torch.ones(2), 2.0, ["a"]),
        f(torch.zeros(2), 2.0, ["a"]),
        len(graphs),
        f(torch.ones(2), 2.0, ["a", "b"]),
        len(graphs),
    ]
    x = torch.ones(2, requires_grad=True)
    torch.compile(lambda x: (x * x).sum(), backend=backend)(x).backward()
    layer = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(layer.weight), torch.nn.init.zeros_(layer.bias)
    compiled = torch.compile(layer, backend=backend)
    before = compiled(torch.ones(1, 2))
    with torch.no_grad():
        layer.weight.mul_(2)  # parameters are inputs of the graph
    return [*out, x.grad, before, compiled(torch.ones(1, 2)), [sorted(g[0]) for g in graphs]]


def case_backend_that_changes_the_graph(torch):
    def backend(gm, inputs):
        for n in gm.graph.nodes:
            if n.target is torch.relu:
                n.target = torch.neg
        gm.recompile()
        return gm

    return torch.compile(lambda x: torch.relu(x), backend=backend)(torch.ones(2))


def case_state_that_a_graph_must_not_freeze(torch):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.seen = 0, []
            self.d = torch.nn.BatchNorm1d(2)

        def forward(self, x):
            self.n += 1
            self.seen.append(x.shape[0])
            return self.d(x) + self.n

    m = Counts()
    c = torch.compile(m, backend=lambda gm, inputs: gm.forward)
    out = [
        c(torch.ones(2, 2)),
        c(torch.ones(2, 2)),
        c(torch.ones(3, 2)),
        m.n,
        m.seen,
        m.d.running_mean.clone(),
        m.d.num_batches_tracked.clone(),
    ]
    c.eval()
    return [*out, c(torch.ones(2, 2)), m.n]


def case_in_place(torch):
    x = torch.ones(2)
    f = torch.compile(lambda x: x.add_(1) * 2, backend=lambda gm, inputs: gm.forward)
    return [f(x), f(x), x]


def case_compile_errors(torch):
    def refuses(gm, inputs):
        raise ValueError("no")

    whole = dict(backend=lambda gm, inputs: gm.forward, fullgraph=True)
    return [
        answer(lambda: torch.compile(lambda x: x + 1, backend=refuses)(torch.ones(1))),
        answer(lambda: torch.compile(lambda x: x if x.sum() > 0 else -x, **whole)(torch.ones(1))),
        torch.compile(lambda x: x if x.sum() > 0 else -x, backend="eager")(torch.ones(1)),
        answer(lambda: torch.compile(lambda x: x, backend="nothing")(1))[0],
    ]


def case_dynamo(torch):
    import torch._dynamo as d

    exported = d.export(lambda x: (x + 1).relu())(torch.ones(2))[0]
    found = [d.is_dynamo_supported(), exported(torch.ones(2)), [n.op for n in exported.graph.nodes]]
    e = d.explain(lambda x: (x * 2).sum())(torch.ones(2))
    with mock.patch("torch._dynamo.config.suppress_errors", True), d.config.patch(recompile_limit=5):
        found += [d.config.suppress_errors, d.config.recompile_limit]
    with torch.compiler.set_stance("force_eager"):
        found.append(torch.compile(lambda x: x + 1, backend=lambda gm, i: None)(1))
    return [*found, e.graph_count, e.graph_break_count, d.config.suppress_errors]


def case_inductor_settings(torch):
    import torch._inductor.config as c

    with c.patch({"triton.cudagraphs": True, "max_autotune": True}):
        inside = [c.triton.cudagraphs, c.max_autotune]
    return [inside, c.triton.cudagraphs, c.max_autotune, answer(lambda: c.nothing_such)[0]]


def case_modes_see_methods(torch):
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    with Mode():
        (
            float(x[0]),
            int(x[0]),
            bool(x[0]),
            x[0].item(),
            x.tolist(),
            len(x),
            x.shape,
            x.dim(),
            x.size(),
            x.grad,
            x.is_leaf,
            1.0 in x,
        )
        (w * x).sum().backward()
        torch.tensor(1), torch.as_tensor([1]), f"{x[0]}", x.detach(), x.T, x.numel(), x.is_contiguous(), w.requires_grad
    return seen


def case_export(torch):
    class N(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.c = torch.nn.Linear(2, 3), torch.ones(3)
            self.register_buffer("b", torch.ones(3), persistent=False)
            torch.nn.init.ones_(self.l.weight), torch.nn.init.zeros_(self.l.bias)

        def forward(self, x, *, k=2, d=None):
            return {"y": (torch.tanh(self.l(x)) + self.c) * self.b * k, "d": d["a"] + 1}

    p = torch.export.export(N(), (torch.ones(2, 2),), {"d": {"a": torch.ones(1)}})
    m = p.module()
    file = io.BytesIO()
    torch.export.save(p, file)
    file.seek(0)
    again = torch.export.load(file).module()
    s = p.graph_signature
    return [
        [n.name for n in p.graph.nodes if n.op == "placeholder"],
        [
            s.parameters,
            s.buffers,
            dict(s.inputs_to_parameters),
            dict(s.inputs_to_buffers),
            sorted(s.non_persistent_buffers),
            s.user_inputs,
            s.lifted_tensor_constants,
        ],
        [i.kind.name for i in s.input_specs],
        m(torch.zeros(2, 2), d={"a": torch.ones(1)}),
        again(torch.zeros(2, 2), d={"a": torch.ones(1)}),
        sorted(m.state_dict()),
        sorted(p.state_dict),
        answer(lambda: m(torch.ones(3, 2), d={"a": torch.ones(1)}))[0],
        answer(lambda: p(torch.ones(2, 2))),
        answer(lambda: torch.export.export(lambda x: x, (1,)))[0],
        answer(lambda: torch.export.export(torch.nn.Linear(1, 1), torch.ones(1)))[0],
    ]


def case_a_graph_without_calls_needs_no_backend(torch):
    graphs = []

    def backend(gm, example_inputs):
        graphs.append(len(gm.graph.nodes))
        return gm.forward

    x, found = torch.ones(3), []
    for f in (
        lambda x: None,
        lambda x: (x, 3),
        lambda x: x.shape,
        lambda x: torch.compiler.is_compiling(),
        lambda x: x + torch._dynamo.is_compiling(),
    ):
        r = torch.compile(f, backend=backend)(x)
        found += [r, type(r).__name__, len(graphs)]
    return [found, torch.compiler.is_compiling()]


def case_operators_tell_which_module_or_function_they_are_from(torch):
    from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.relu = torch.nn.Linear(3, 3), torch.nn.ReLU()

        def forward(self, x, k=2):
            return torch.nn.functional.relu(x).sum() + k * self.a(self.relu(self.a(x)))

    graph = torch._dynamo.export(Net(), aten_graph=True)(torch.ones(3, 3))[0].graph
    found = get_source_partitions(graph, [torch.nn.Linear, torch.nn.ReLU, torch.nn.functional.relu])
    return {
        k.__name__: [(len(p.nodes), len(p.input_nodes), len(p.output_nodes), len(p.params)) for p in parts]
        for k, parts in found.items()
    }


def case_distributions(torch):
    """The first torch.compile turns the validation of distributions off."""

    def f(p):
        d = torch.distributions.Categorical(logits=p)
        return d.entropy(), d.log_prob(torch.tensor(1))

    compiled = torch.compile(f, fullgraph=True, backend="eager")
    found = {"value": compiled(torch.tensor([0.5, 1.5])), "after": torch.distributions.Distribution._validate_args}
    torch.distributions.Distribution.set_default_validate_args(True)
    torch.compile(f, fullgraph=True, backend="eager")
    found["turned on again"] = torch.distributions.Distribution._validate_args
    return found
