"""torch.fx: graphs, generated code and what it computes, text for text as in PyTorch."""

import copy
import importlib
import inspect
import math
import operator
from math import sqrt

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def module(torch):
    nn = torch.nn

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.p, self.c = nn.Linear(2, 2), nn.Parameter(torch.ones(2)), torch.ones(2)
            self.register_buffer("b", torch.ones(2))
            self.seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            with torch.no_grad():
                for p in self.parameters():
                    p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))

        def forward(self, x, y=3, *a, k=None, **kw):
            z = self.l(x) + self.p * self.b * self.c
            z = torch.relu(z).view(x.size(0), -1)[..., :1]
            u, v = self.seq(x).chunk(2, dim=1)
            z = z.clone()
            z += 1
            w = torch.tanh(torch.cat([u, v], 1)).sum(dim=[0])
            return {
                "o": z,
                "t": (z + y, 1 - z),
                "w": w * math.pi,
                "sh": x.shape[0],
                "d": (-u) ** 2,
                "n": torch.tensor([1.0, 2.0]) * w,
            }

    return M()


def case_symbolic_trace(torch):
    g = torch.fx.symbolic_trace(module(torch))
    c = copy.deepcopy(g)
    x = torch.ones(1, 2)
    return [
        str(g.graph),
        g.code,
        g(x),
        c(x),
        c.code == g.code,
        c.graph is g.graph,
        list(g.state_dict()),
        str(inspect.signature(g.forward)),
        torch.fx.Interpreter(g).run(x, 3),
        [[n.op, n.name, str(n.args), sorted(u.name for u in n.users)] for n in g.graph.nodes],
    ]


def case_functions(torch):
    def f1(x, input, sum=2):
        return (x + input) * sum + x.sum()

    def f2(x):
        y = x.clone()
        y -= 2
        y **= 2
        return y

    def f3(x):
        return x.float().masked_fill(x > 0, float("-inf")), x.device, torch.zeros(2, device="cpu") + x

    def f4(x, flag):
        return x + 1 if flag else x - 1

    return [
        answer(lambda: torch.fx.symbolic_trace(f).code)
        for f in (
            f1,
            f2,
            f3,
            lambda x: 1 if x > 0 else 2,
            lambda x: len(x),
            lambda x: [i for i in x],
            lambda x: x in [1],
            lambda *a: a[0],
            lambda x, **kw: x + kw["a"],
        )
    ] + [torch.fx.symbolic_trace(f4, concrete_args={"flag": True})(torch.ones(1), True)]


def case_changing_graphs(torch):
    gm = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    for n in gm.graph.nodes:
        if n.target is operator.add:
            with gm.graph.inserting_after(n):
                n.replace_all_uses_with(gm.graph.call_function(torch.mul, n.args))
            gm.graph.erase_node(n)
    with gm.graph.inserting_before():
        gm.graph.placeholder("q")
    gm.graph.eliminate_dead_code()
    gm.graph.lint()
    gm.recompile()
    g = torch.fx.Graph()
    x = g.placeholder("x")
    g.output(g.call_method("neg", (x,)))
    return [
        gm.code,
        gm(torch.ones(1), torch.tensor([3.0])),
        torch.fx.GraphModule({}, g)(torch.ones(1)),
        answer(lambda: g.erase_node(x)),
        torch.fx.Transformer(torch.fx.symbolic_trace(lambda x: x + 1)).transform()(torch.ones(1)),
    ]


def case_calls_as_given(torch):
    """How a call stands in the graph: functions of Python name what is optional, f(*tensors) is as it was written."""
    F = torch.nn.functional

    def f(x, y):
        many = (
            torch.block_diag(x, y),
            torch.cartesian_prod(x, y),
            torch.broadcast_tensors(x, y),
            torch.atleast_2d(x, y),
            torch.einsum("ij->i", x),
        )
        many += (
            torch.einsum("ij,jk", [x, y]),
            torch.meshgrid(x, y, indexing="ij"),
            x.view(2, 3),
            x.view((2, 3)),
            x.permute(1, 0),
            x.repeat(2, 2),
        )
        many += (
            torch.split(x, 2, dim=1),
            torch.cdist(x, y),
            torch.unique(x),
            torch.stack([x, y], 1),
            x.sum(1, keepdim=True),
            x.clamp(min=0),
        )
        many += (
            F.dropout(x, 0.1, False),
            F.cross_entropy(x, y, reduction="sum"),
            F.layer_norm(x, (3,)),
            F.pad(x, (1, 1)),
            F.embedding(x, y),
        )
        many += F.interpolate(x, scale_factor=2), F.normalize(x), F.leaky_relu(x, 0.2)
        return len(many)

    return [
        (
            n.op,
            n.name,
            getattr(n.target, "__name__", n.target),
            getattr(n.target, "__module__", ""),
            str(n.args),
            str(n.kwargs),
        )
        for n in torch.fx.symbolic_trace(f).graph.nodes
    ]


def case_passes(torch):
    from torch.fx.experimental import const_fold
    from torch.fx.passes.infra.pass_base import PassResult
    from torch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint

    class Constants(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Parameter(torch.tensor([3.0])), torch.nn.Parameter(torch.tensor([5.0]))

        def forward(self, x, y):
            a = self.a + self.a
            return x - a, y * (self.b * a), a - 1

    folded = const_fold.split_const_subgraphs(Constants())
    results = folded(torch.ones(1), torch.ones(1))
    kinds = sorted(n.op for n in folded.graph.nodes)

    def first(gm):
        for n in gm.graph.nodes:
            if n.target is torch.add:
                n.target = torch.mul
        return PassResult(gm, False)

    def second(gm):
        for n in gm.graph.nodes:
            if n.target is torch.mul:
                n.target = torch.sub

    second = pass_result_wrapper(second)
    manager = PassManager([second, first], constraints=[this_before_that_pass_constraint(first, second)])
    result = manager(torch.fx.symbolic_trace(lambda x: torch.add(x, 3)))
    return [
        results,
        kinds,
        folded.has_folding_been_run,
        result.graph_module(torch.ones(1)),
        result.modified,
        answer(lambda: manager.add_checks(lambda a, b: None)),
        answer(
            lambda: PassManager(
                [second, first], constraints=[this_before_that_pass_constraint(first, second)]
            ).validate_constraints()
        )[:1],
    ]


def case_arguments_that_nest_and_code_of_ones_own(torch):
    import enum

    from torch.fx import PH
    from torch.fx.graph import CodeGen

    def nested(d, k):
        return {"o": d["a"] + d["b"][0] * k}

    class Mode(enum.Enum):
        A = 1

    class Listed(CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return (
                f"\ndef forward(self, args: List[torch.Tensor]){maybe_return_annotation}:\n    {', '.join(free_vars)} "
                "= args"
            )

        def additional_globals(self):
            return [("List", list)]

        def process_inputs(self, *inputs):
            return inputs[0]

    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.act = torch.nn.ReLU()

        def forward(self, x):
            return self.act(x)

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) + self.inner(x)

    class Pair(metaclass=torch.fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

    one = torch.ones(1)
    gm = torch.fx.symbolic_trace(nested, concrete_args=({"a": PH, "b": [PH]}, 2))
    listed = torch.fx.symbolic_trace(lambda a, b: a - b)
    listed.graph.set_codegen(Listed())
    listed.recompile()
    tracer = torch.fx.Tracer()
    graph = tracer.trace(Outer())
    stacks = [
        {k: (path, cls.__name__) for k, (path, cls) in n.meta.get("nn_module_stack", {}).items()} for n in graph.nodes
    ]
    pair = torch.fx.symbolic_trace(lambda x: Pair(x, x + 1).right)
    added = torch.fx.symbolic_trace(lambda x: x.append(Mode.A))
    items: list = []
    added(items)
    return [
        gm({"a": one, "b": [one]}, 2),
        answer(lambda: gm({"a": one, "b": [one]}, 3))[:1],
        [n.name for n in gm.graph.nodes],
        listed([one, one]),
        torch.fx.Transformer(listed).transform()([one, one]),
        torch.fx.Interpreter(listed).run([one, one]),
        stacks,
        pair(one),
        items == [Mode.A],
        copy.deepcopy(tracer).trace(lambda x: x + 1).nodes.__len__(),
    ]


def case_where_an_error_of_a_graph_comes_from(torch):
    import contextlib
    import io

    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = torch.nn.Linear(5, 3)

        def forward(self, x):
            return self.l(x)

    found = []
    for f in (lambda x: torch.dot(x, x), Inner(), lambda x: torch.relu(x) + torch.ones(2), lambda x: x.foo):
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            kind = answer(lambda f=f: torch.fx.symbolic_trace(f)(torch.ones(3, 3)))[0]
        found.append([kind, [line for line in shown.getvalue().splitlines() if line.startswith("Call using")]])
    return found


def case_operators_of_the_dispatcher_in_a_trace(torch):
    aten = torch.ops.aten
    calls = (
        lambda x: aten.relu.default(x),
        lambda x: aten.add.Tensor(x, x),
        lambda x: aten.max_pool2d_with_indices.default(x, [2, 2])[0],
        lambda x: aten.sum.dim_IntList(x, [1]),
        lambda x: aten.sum(x),
        lambda x: aten.cat.default([x, x]),
        lambda x: aten.softmax.int(x, 1),
        lambda x: aten.view.default(x, [16]),
    )
    graphs = [torch.fx.symbolic_trace(f) for f in calls]
    return [[[(str(n.target), n.name) for n in g.graph.nodes], g(torch.arange(16.0).reshape(1, 4, 4))] for g in graphs]


def case_patterns_with_defaults_and_modules(torch):
    from torch.fx.experimental import const_fold
    from torch.fx.node import _type_repr

    pool = torch.ops.aten.max_pool2d_with_indices.default

    class Sigmoid(torch.nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.inner, self.act = torch.nn.Identity(), kind()

        def forward(self, x):
            return self.act(x) + 1

    class Folded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.const, self.mod = torch.nn.Parameter(torch.ones(2)), torch.nn.Identity()
            self.mod.attr = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + (self.const + self.mod.attr) + self.mod.attr

    traced = torch.fx.symbolic_trace(lambda x: pool(x, [2, 2], stride=[2, 2]))
    matches = torch.fx.replace_pattern(traced, f := lambda x, k, s: pool(x, k, s, padding=[0, 0]), f)
    module = torch.fx.symbolic_trace(Sigmoid(torch.nn.Sigmoid))
    torch.fx.replace_pattern(
        module, torch.fx.symbolic_trace(Sigmoid(torch.nn.Sigmoid)), torch.fx.symbolic_trace(Sigmoid(torch.nn.ReLU))
    )
    return [
        len(matches),
        [n for n, _ in module.named_modules()],
        const_fold.split_const_subgraphs(Folded())(torch.ones(2)),
        [_type_repr(t) for t in (int, type(None), torch.Tensor, ..., list[int], 42, "x", copy.copy)],
        answer(lambda: torch.fx.node.map_arg(next(iter(module.graph.nodes)), "f"))[:1],
    ]


def case_signatures_of_operators(torch):
    from torch.fx.operator_schemas import create_type_hint, get_signature_for_torch_op, normalize_function, type_matches

    aten, x = torch.ops.aten, torch.ones(2)
    traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    linear = next(n for n in traced.graph.nodes if n.op == "call_module")

    class Checking(torch.fx.Tracer):
        check_mutable_operations = True

    def whole(target, *args, types=None, **kwargs):
        return answer(
            lambda: tuple(
                normalize_function(target, args, kwargs, types, normalize_to_only_use_kwargs=True).kwargs.items()
            )
        )

    return [
        [str(s) for s in get_signature_for_torch_op(torch.sum)[:4]],
        [str(s) for s in get_signature_for_torch_op(torch.conv2d)],
        [
            str(s)
            for op in (aten.addmm.default, aten.max_pool2d, aten.nonzero.default, aten.full_like.default)
            for s in get_signature_for_torch_op(op)
        ],
        [get_signature_for_torch_op(f) for f in (torch.nn.functional.layer_norm, torch.stft, print, torch.Tensor.add)],
        whole(torch.add, x, 2, types=(torch.Tensor, int)),
        whole(torch.cumsum, x, dim=0),
        whole(aten.resize_as_.default, x, the_template=x),
        whole(torch.nn.functional.layer_norm, x, [2]),
        whole(torch.cumsum, x, 0, 1, 2, types=(torch.Tensor,))[:1],
        answer(lambda: torch.fx.symbolic_trace(torch.sigmoid))
        and answer(lambda: Checking().trace(lambda x: torch.sigmoid(x, out=x)))[1][:34],
        [
            type_matches(*p)
            for p in ((list[int], int), (float, int), (int, torch.dtype), (torch.Tensor, torch.nn.Parameter))
        ],
        [str(create_type_hint(t)) for t in ([int, int], (torch.nn.Parameter, torch.Tensor), [int, str], int)],
        str(linear.normalized_arguments(traced, normalize_to_only_use_kwargs=True)),
    ]


def case_partitions(torch):
    from torch.fx.annotate import annotate
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
    from torch.fx.passes.split_utils import split_by_tags
    from torch.fx.passes.tools_common import get_node_target, legalize_graph

    def f(a, b):
        c = a + b
        d, e = torch.sin(c), torch.split(c, 1)
        g = d * e[0] + e[1]
        return torch.cos(g) - a, g * 2

    adds = create_op_support(lambda _, n: n.op == "call_function" and n.target is not torch.sin)
    all_but = chain(
        any_chain(adds, create_op_support(lambda _, n: False)), OpSupports.decline_if_node_in_names({"cos"})
    )
    found = []
    for support in (adds, all_but, OperatorSupport({"_operator.add": None, "torch.sin": None, "_operator.mul": None})):
        for options in ({}, {"allows_single_node_partition": True}, {"skip_horizontal_fusion": True}):
            gm = torch.fx.symbolic_trace(f)
            partitioner = CapabilityBasedPartitioner(gm, support, non_compute_ops=["_operator.getitem"], **options)
            parts = partitioner.propose_partitions()
            found.append([sorted(n.name for n in p.nodes) for p in parts])
            partitioner.remove_bookend_non_compute_ops(parts)
            fused = partitioner.fuse_partitions(parts)
            taken = any(
                n.op == "placeholder" for p in parts for n in p.nodes
            )  # then nothing is left to give arguments to
            values = None if taken else fused(torch.ones(2, 1), torch.ones(2, 1))
            found.append([[n.name for n in fused.graph.nodes], values, [m.code for m in fused.children()]])
    gm = torch.fx.symbolic_trace(f)
    for i, node in enumerate(gm.graph.nodes):
        node.tag = "first" if i < 5 else "second"
    split, names = split_by_tags(gm, ["first", "second"], return_fqn_mapping=True)

    return [
        found,
        [split.code, split.first.code, split.second.code, names, split(torch.ones(2, 1), torch.ones(2, 1))],
        [get_node_target({}, n) for n in gm.graph.nodes if n.op == "call_function"],
        [n.name for n in legalize_graph(gm).graph.nodes],
        [str(n.type) for n in torch.fx.symbolic_trace(lambda x: annotate(torch.neg(x), torch.Tensor)).graph.nodes],
    ]


def case_nodes_know_where_they_come_from(torch):
    import pickle
    import typing

    pytree = torch.utils._pytree

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Sequential(torch.nn.Linear(2, 2))

        def forward(self, x: typing.List[torch.Tensor], n: int | None = None) -> typing.Dict[str, torch.Tensor]:  # noqa: UP006
            return {"y": torch.ops.aten.sigmoid(self.a(x))}

    class Recording(torch.fx.Tracer):
        record_stack_traces = True

    class Lists(torch.fx.graph.CodeGen):
        def gen_fn_def(self, free_vars, annotation):
            return f"def forward(self, values){annotation}:\n    {', '.join(free_vars)} = values"

        def process_inputs(self, *inputs):
            return inputs[0]

        def generate_output(self, output):
            return f"return list({output!r})"

        def process_outputs(self, outputs):
            return list(outputs)

    recorded = Recording().trace(M())
    g = torch.fx.symbolic_trace(M())
    lists = torch.fx.symbolic_trace(lambda a, b: (a + b, a))
    lists.graph.set_codegen(Lists())
    lists.recompile()
    foreign = torch.fx.Graph()
    for node in g.graph.nodes:
        foreign.node_copy(node)
    frozen = torch.fx.immutable_collections.immutable_list([3, {"k": 4}])
    missing = torch.fx.Tracer()
    missing.traced_func_name = "backwards"
    marked = torch.fx.symbolic_trace(
        lambda a, b: a + b, concrete_args={"a": torch.fx._symbolic_trace.PHWithMeta("first"), "b": torch.fx.PH}
    )
    return [
        ["cases_fx.py" in (n.stack_trace or "") for n in recorded.nodes if n.op != "output"],
        g.code,
        [n.name for n in pickle.loads(pickle.dumps(g)).graph.nodes],
        [lists([1, 2]), torch.fx.Interpreter(lists).run([1, 2])],
        [answer(foreign.lint)[0], answer(lambda: missing.trace(M()))[0]],
        [pytree.tree_leaves(frozen), type(pytree.tree_map(lambda x: x, frozen)).__name__],
        [getattr(n, "ph_key", None) for n in marked.graph.nodes],
        g._replicate_for_data_parallel()._is_replica,
        [
            g.delete_submodule("a.1"),
            g.delete_submodule("a.0"),
            g.delete_submodule("a"),
            [n for n, _ in g.named_modules()],
        ],
    ]


def case_what_is_named_is_there(torch):
    import warnings

    class Net(torch.nn.Module):
        def forward(self, x):
            return x * 2

    traced = torch.fx.symbolic_trace(Net())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traced.graph.get_attr("scale")
    try:
        traced.graph.call_module("missing")
        error = None
    except AttributeError as e:
        error = str(e)
    return [
        [str(w.message) for w in caught],
        error,
        " from " in traced.forward.__code__.co_filename,
        traced.forward.__code__.co_filename.endswith("in forward"),
    ]


def case_nested_arguments_are_pickled(torch):
    import pickle

    traced = torch.fx.symbolic_trace(_listed, concrete_args={"x": {"a": (torch.fx.PH, torch.fx.PH), "b": []}})
    again = pickle.loads(pickle.dumps(traced))
    given = {"a": (torch.ones(2), torch.zeros(2)), "b": []}
    empty = torch.fx.symbolic_trace(_listed, concrete_args={"x": {"a": []}})
    return [
        again(given),
        empty({"a": []}),
        torch.fx.symbolic_trace(lambda x: torch.ops.aten._reshape_alias_copy(x, [2], [1])).code,
    ]


def _listed(x):
    return {k: [i + 1 for i in v] for k, v in x.items()}


def case_constants_are_indexed_by_arguments(torch):
    def trace(read):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("b", torch.arange(6.0).view(2, 3))

            def forward(self, x):
                return read(self.b, x)

        traced = torch.fx.symbolic_trace(Net())
        return [traced.code, traced(torch.tensor([1, 0]))]

    def write(b, x):
        b = b.clone()
        b[x] = 1
        return b

    reads = (lambda b, x: b[x], lambda b, x: b[:, x], lambda b, x: b[x, x], lambda b, x: b[[x, x]], write)
    return [answer(lambda read=read: trace(read)) for read in reads]


def case_methods_that_are_named_become_nodes(torch):
    from torch.fx._symbolic_trace import _wrapped_methods_to_patch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.arange(8.0))

        def forward(self, x):
            return self.b[: x.size(0)] + self.b[2]

    _wrapped_methods_to_patch.append((torch.Tensor, "__getitem__"))
    try:
        traced = torch.fx.symbolic_trace(Net())
    finally:
        _wrapped_methods_to_patch.pop()
    return [traced.code, traced(torch.ones(3)), torch.ones(3)[1]]


def case_lines_of_the_code_and_the_nodes_behind_them(torch):
    def f(x):
        torch.add(x, 1)
        return {"a": torch.relu(x), "b": x * 2}

    def greeted(_):
        return lambda body: ["print('hello')\n", *body]

    traced = torch.fx.symbolic_trace(f)
    found = [traced._lineno_map, traced._prologue_start]
    traced.graph.on_generate_code(greeted)
    traced.recompile()
    empty = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    return [*found, traced._lineno_map, traced._prologue_start, traced.code, empty._lineno_map, empty.code]


def case_functions_of_torch_and_the_operators_behind_them(torch):
    from torch.fx.operator_schemas import get_signature_for_torch_op
    from torch.jit._builtins import _find_builtin

    functional = """
    adaptive_avg_pool1d avg_pool1d avg_pool2d bilinear celu_ conv2d cosine_similarity elu_ gelu hardshrink linear
    logsigmoid one_hot pdist prelu relu relu_ selu_ softmax softplus threshold threshold_"""
    functions = [getattr(torch.nn.functional, n) for n in functional.split()]
    functions += [torch._assert_async, torch.linalg.lu, torch.linalg.norm, torch.norm, torch._segment_reduce, torch.mm]
    functions += [torch.sparse.mm, torch.sparse.addmm, torch.sparse.sum]
    same = "hardshrink relu_ rrelu_ celu_ selu_ threshold_ avg_pool1d bilinear cosine_similarity prelu".split()
    return [
        [(_find_builtin(f), list(map(str, get_signature_for_torch_op(f) or []))) for f in functions],
        [getattr(torch, n) is getattr(torch.nn.functional, n) for n in same],
        answer(lambda: torch.classes.quantized.Conv2dPackedParamsBase_),
        answer(lambda: torch.classes.__path__._path),
    ]


def case_a_tracer_with_a_trace_of_its_own(torch):
    """As libraries write it that treat further classes as leaves: over the names of the tracer's file."""
    st = importlib.import_module("torch.fx._symbolic_trace")

    class Leaf:
        def __call__(self, x):
            return x + 1

    class Tracer(torch.fx.Tracer):
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root, concrete_args=None):
            self.root, fn = root, type(root).forward
            self.graph = torch.fx.Graph(tracer_cls=type(self))
            self.tensor_attrs = {v: k for k, v in vars(root).items() if isinstance(v, (torch.Tensor, st.ScriptObject))}
            fn, args = self.create_args_for_root(fn, True, concrete_args)
            cache, seen = {}, []

            @st.functools.wraps(st._orig_module_getattr)
            def read(mod, name):
                return self.getattr(name, st._orig_module_getattr(mod, name), cache)

            @st.functools.wraps(st._orig_module_call)
            def call(mod, *args, **kwargs):
                st._autowrap_check(patcher, mod.forward.__globals__, self._autowrap_function_ids)
                return self.call_module(mod, lambda *a, **k: st._orig_module_call(mod, *a, **k), args, kwargs)

            with st._Patcher() as patcher:
                patcher.patch_method(torch.nn.Module, "__getattr__", read, deduplicate=False)
                patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
                patcher.patch_method(
                    Leaf,
                    "__call__",
                    lambda leaf, x: self.create_proxy("call_function", torch.neg, (x,), {}),
                    deduplicate=False,
                )
                st._patch_wrapped_functions(patcher)
                for module in self._autowrap_search:
                    st._autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
                seen += [patcher.visit_once(seen), patcher.visit_once(seen)]
                self.create_node(
                    "output", "output", (self.create_arg(fn(*args)),), {}, type_expr=fn.__annotations__.get("return")
                )
            root.seen = seen
            return self.graph

    class Scaled(torch.nn.Module):
        def forward(self, x):
            return x * sqrt(x.shape[0])

    class Root(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.scaled, self.leaf, self.constant = torch.nn.Linear(2, 2), Scaled(), Leaf(), torch.ones(2)

        def forward(self, x, *, y):
            return self.leaf(self.scaled(self.linear(x))) + self.constant * y + self.linear.bias

    def nodes(graph):
        return [(n.op, n.name, n.target if isinstance(n.target, str) else n.target.__name__) for n in graph.nodes]

    root, x = Root(), torch.ones(2, 2)
    torch.nn.init.ones_(root.linear.weight), torch.nn.init.zeros_(root.linear.bias)
    graph = Tracer().trace(root)
    made = torch.fx.GraphModule(root, graph)
    of_function = torch.fx.Tracer().trace(lambda x, *args, k=1, **kwargs: x + args[0] + kwargs["a"] + k)
    return [nodes(graph), root.seen, made(x, y=2), nodes(torch.fx.Tracer().trace(root)), nodes(of_function), sqrt(4.0)]


def case_places_of_insertion(torch):
    g, seen = torch.fx.Graph(), []
    other = torch.fx.Graph().placeholder("other")
    x = g.placeholder("x")
    y = g.call_function(torch.relu, (x,))
    g.output(y)

    def add(*names):
        for name in names:
            made = g.call_function(getattr(torch, name), (x,))
        seen.append([n.name for n in g.nodes])
        return made

    with g.inserting_after(x):
        add("neg", "abs", "exp")
    with g.inserting_before(y):
        add("neg", "abs")
    with g.inserting_before():
        add("sin", "cos")
    with g.inserting_after():
        add("tan", "cosh")
    place = g.inserting_after(x)  # without a block: until it is left
    sinh = add("sinh")
    g.inserting_after(sinh)
    add("erf")
    with place:
        pass
    add("erfc")
    with g.inserting_before(sinh):
        g.erase_node(sinh)
        add("trunc")
    refused = [answer(lambda: f(other)) for f in (g.inserting_before, g.inserting_after, x.append, x.prepend)]
    return [seen, refused]


def _small_graph(torch):
    """A graph of placeholders, calls of each kind and an output, with the module that owns it."""
    root = torch.nn.Module()
    root.linear, root.w = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(2))
    g = torch.fx.Graph()
    x, y = g.placeholder("x"), g.placeholder("y", default_value=None)
    a = g.call_function(torch.add, (x, y), {"alpha": 2})
    b = g.call_method("relu", (a,))
    c = g.call_module("linear", (b,))
    d = g.get_attr("w")
    e = g.call_function(operator.mul, (c, d))
    f = g.call_function(torch.cat, ([e, a, a], -1))
    g.call_function(torch.neg, (x,))  # which nothing uses
    g.output((f, {"b": b}))
    return torch.fx.GraphModule(root, g)


def _state_of_graph(g):
    """All that a graph knows of its nodes, by their names."""
    return [
        [n.name, n.op, str(n.target) if isinstance(n.target, str) else n.target.__name__, repr(n.args), repr(n.kwargs)]
        + [[u.name for u in n.users], [i.name for i in n.all_input_nodes], n.next.name, n.prev.name]
        for n in g.nodes
    ]


def _changes_of_graphs(torch):
    """Every method of nodes and graphs that changes or asks something: {what: f(graph module, nodes by name)}."""
    add, neg = torch.add, torch.neg

    def inserted(gm, at, f):
        with at:
            return f(gm.graph)

    return {
        "replace all": lambda gm, n: n["add"].replace_all_uses_with(n["x"]),
        "replace some": lambda gm, n: n["add"].replace_all_uses_with(n["x"], lambda u: u.name == "relu"),
        "replace none": lambda gm, n: n["add"].replace_all_uses_with(n["x"], lambda u: False),
        "replace unused": lambda gm, n: n["neg"].replace_all_uses_with(n["x"]),
        "replace with meta": lambda gm, n: (
            n["add"].meta.update(k=1),
            n["add"].replace_all_uses_with(n["x"], propagate_meta=True),
            dict(n["x"].meta),
        ),
        "replace input": lambda gm, n: n["cat"].replace_input_with(n["add"], n["y"]),
        "update argument": lambda gm, n: n["add"].update_arg(1, n["x"]),
        "update keyword": lambda gm, n: n["add"].update_kwarg("alpha", n["x"]),
        "new keyword": lambda gm, n: n["relu"].update_kwarg("k", 3),
        "insert argument": lambda gm, n: n["relu"].insert_arg(0, n["y"]),
        "insert argument behind": lambda gm, n: n["relu"].insert_arg(1, n["y"]),
        "arguments": lambda gm, n: setattr(n["mul"], "args", (n["x"], [n["y"], n["add"]])),
        "keywords": lambda gm, n: setattr(n["add"], "kwargs", {"out": n["y"]}),
        "prepend": lambda gm, n: n["relu"].prepend(n["w"]),
        "append": lambda gm, n: n["relu"].append(n["w"]),
        "prepend itself": lambda gm, n: n["relu"].prepend(n["relu"]),
        "erase": lambda gm, n: gm.graph.erase_node(n["neg"]),
        "erase twice": lambda gm, n: [gm.graph.erase_node(n["neg"]), gm.graph.erase_node(n["neg"])],
        "erase used": lambda gm, n: gm.graph.erase_node(n["add"]),
        "erase a chain": lambda gm, n: [
            gm.graph.erase_node(gm.graph.output_node()),
            gm.graph.erase_node(n["cat"]),
            gm.graph.erase_node(n["mul"]),
        ],
        "eliminate": lambda gm, n: gm.graph.eliminate_dead_code(),
        "eliminate what is kept": lambda gm, n: gm.graph.eliminate_dead_code(lambda node: node.name == "neg"),
        "find": lambda gm, n: [
            [repr(m) for m in gm.graph.find_nodes(op=op, target=t)]
            for op, t in (
                ("placeholder", None),
                ("call_function", torch.add),
                ("call_method", "relu"),
                ("call_function", torch.mul),
            )
        ],
        "output": lambda gm, n: repr(gm.graph.output_node()),
        "impure": lambda gm, n: [m.is_impure() for m in gm.graph.nodes],
        "format": lambda gm, n: [m.format_node() for m in gm.graph.nodes],
        "next": lambda gm, n: [n["x"].prev.op, n["output"].next.op, n["x"].next.name],
        "copied node": lambda gm, n: gm.graph.node_copy(n["relu"]).name,
        "copied graph": lambda gm, n: _state_of_graph(copy.deepcopy(gm.graph)),
        "before": lambda gm, n: inserted(
            gm,
            gm.graph.inserting_before(n["relu"]),
            lambda g: [g.call_function(neg, (n["x"],)).name, g.call_function(add, (n["x"], 1)).name],
        ),
        "after": lambda gm, n: inserted(
            gm,
            gm.graph.inserting_after(n["relu"]),
            lambda g: [g.call_function(neg, (n["x"],)).name, g.call_function(add, (n["x"], 1)).name],
        ),
        "at the beginning": lambda gm, n: inserted(gm, gm.graph.inserting_before(), lambda g: g.placeholder("z").name),
        "named": lambda gm, n: [
            gm.graph.create_node("call_function", neg, (n["x"],), name=name).name
            for name in ("neg", "neg_1", "x", "3d", "a.b", "if", "neg_1", "print")
        ],
        "other graph": lambda gm, n: n["relu"].append(torch.fx.Graph().placeholder("q")),
        "added module": lambda gm, n: [
            gm.add_submodule("p.q.r", torch.nn.ReLU()),
            gm.add_submodule("w.q", torch.nn.ReLU()),
            sorted(k for k, _ in gm.named_modules()),
        ],
        "deleted module": lambda gm, n: [
            gm.delete_submodule("linear"),
            gm.delete_submodule("linear"),
            gm.delete_submodule("w"),
            gm.delete_submodule("no.such"),
        ],
        "deleted unused modules": lambda gm, n: [
            gm.add_submodule("p.q", torch.nn.ReLU()),
            gm.delete_all_unused_submodules(),
            sorted(k for k, _ in gm.named_modules()),
        ],
        "lint": lambda gm, n: gm.graph.lint(),
        "normalized": lambda gm, n: repr(n["linear"].normalized_arguments(gm, normalize_to_only_use_kwargs=True)),
        "stack trace": lambda gm, n: [
            setattr(n["add"], "stack_trace", "here"),
            n["add"].stack_trace,
            n["relu"].stack_trace,
        ],
        "code": lambda gm, n: gm.recompile().src,
        "copied into another": lambda gm, n: (lambda g: [repr(g.graph_copy(gm.graph, {})), _state_of_graph(g)])(
            torch.fx.Graph()
        ),
        "mapped": lambda gm, n: [
            repr(torch.fx.map_arg((n["x"], [n["y"], {"k": slice(n["x"], None)}], 3), lambda m: m.name)),
            repr(torch.fx.node.map_aggregate((1, [2, {"k": 3}]), lambda v: v + 1)),
        ],
    }


def case_what_methods_of_graphs_do_and_return(torch):
    """The result of each, and the whole graph after it: arguments, users, inputs and order of all nodes."""
    found = {}
    for what, change in _changes_of_graphs(torch).items():
        gm = _small_graph(torch)
        nodes = {n.name: n for n in gm.graph.nodes}
        result = answer(change, gm, nodes)
        found[what] = [
            result if isinstance(result, (list, str, bool)) and "Node" not in repr(type(result)) else repr(result)
        ]
        if isinstance(found[what][0], list):
            found[what][0] = repr(found[what][0])
        found[what].append(_state_of_graph(gm.graph))
    return found
