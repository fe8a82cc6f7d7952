"""torch.jit: traced graphs, which run on other sizes, print, are frozen, saved and loaded; scripting's faces."""

import copy
import io
import warnings
import zipfile

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def net(torch):
    class Sub(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.fc = torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(2, 3)
            torch.nn.init.ones_(self.fc.weight), torch.nn.init.zeros_(self.fc.bias)

        def forward(self, x):
            return self.fc(x * self.w)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Sub()
            self.seq = torch.nn.Sequential(
                torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten()
            )
            torch.nn.init.ones_(self.seq[0].weight), torch.nn.init.zeros_(self.seq[0].bias)
            self.register_buffer("b", torch.ones(3))

        def forward(self, x, image):
            y = (self.a(x) + self.b).view(x.size(0), -1)
            y = torch.cat([y, self.seq(image)[:, :3]], dim=1)
            values, _ = y.max(dim=1)
            return torch.softmax(y, -1), values * x.shape[0], torch.dropout(y, 0.5, False).neg_()

    return Net().eval()


def inputs(torch, n):
    return torch.arange(2.0 * n).view(n, 2), torch.arange(25.0 * n).view(n, 1, 5, 5) / 10


def case_jit_trace_of_a_parameter_made_inside(torch):
    def program(x):
        scale = torch.nn.Parameter(torch.sqrt(x.sum()))
        return x * scale * scale

    traced = torch.jit.trace(program, torch.ones(3), check_trace=False)
    kinds = [(n.kind(), n.output().requires_grad()) for n in traced.graph.nodes() if n.kind() == "aten::detach"]
    return traced(torch.arange(3.0)), kinds


def case_jit_trace_of_a_module(torch):
    module = net(torch)
    traced = torch.jit.trace(module, inputs(torch, 2))
    other = traced(*inputs(torch, 3))
    graph = traced.inlined_graph
    kinds = sorted(
        n.kind() for n in graph.nodes() if n.kind()[:5] == "aten:" and n.kind() not in ("aten::slice", "aten::Int")
    )
    children = [[n, type(m).__name__, m.original_name] for n, m in traced.named_modules()]
    own_graph = traced.graph
    outer = [n.kind() for n in own_graph.nodes() if n.kind() == "prim::CallMethod"]
    own = [
        answer(lambda: traced.a.fc(torch.ones(1, 2))),
        answer(lambda: traced.a(torch.ones(1, 2))),
        traced.a.code.split("\n")[:2],
    ]
    flags = [
        isinstance(traced.forward, torch._C.ScriptMethod),
        traced.forward.name,
        torch._C.ScriptMethod,
        isinstance(traced, torch.jit.ScriptModule),
        isinstance(traced, torch.jit.TopLevelTracedModule),
        traced.a.w is module.a.w,
        repr(traced),
    ]
    return [
        other,
        kinds,
        children,
        outer,
        own,
        flags,
        sorted(traced.state_dict()),
        sorted(graph.findNode("aten::linear").scopeName().split("/")),
    ]


def case_jit_trace_of_a_function(torch):
    traced = torch.jit.trace(
        lambda x, pair: (x.sum(0) + pair[0], pair[1].unsqueeze(-1) * 2.5),
        (torch.ones(2, 3), (torch.ones(3), torch.ones(1))),
    )
    a, b = traced(torch.ones(4, 3), (torch.ones(3), torch.full((2,), 2.0)))
    return [
        a,
        b,
        traced.name,
        type(traced).__name__,
        [n.kind() for n in traced.graph.nodes() if n.kind()[:4] == "aten"],
    ]


def case_jit_trace_module(torch):
    class Two(torch.nn.Module):
        def forward(self, x):
            return x + 1

        def other(self, x):
            return x * 2

    traced = torch.jit.trace_module(Two(), {"forward": torch.ones(1), "other": torch.ones(1)})
    return [
        traced(torch.ones(2)),
        traced.other(torch.ones(2)),
        traced.other.code.split("(")[0],
        answer(lambda: torch.jit.trace_module(Two(), {"": torch.ones(1)})),
    ]


def case_jit_graph_faces(torch):
    graph, out = torch.jit._get_trace_graph(torch.nn.Linear(2, 3), (torch.ones(4, 2),))
    (node,) = graph.nodes()
    value = node.output()
    found = [
        node.kind(),
        node.scopeName(),
        [v.isCompleteTensor() for v in node.inputs()],
        [v.type().sizes() for v in node.inputs()],
    ]
    found += [
        value.type().scalarType(),
        value.type().strides(),
        value.type().dim(),
        value.type().kind(),
        node.inputsSize(),
        node.hasMultipleOutputs(),
    ]
    found += [
        node.schema(),
        [v.debugName() for v in graph.inputs()],
        out.shape,
        graph.findNode("aten::linear") is not None,
        [u.user.kind() for u in value.uses()],
    ]
    traced = torch.jit.trace(lambda x: x.to(torch.float64).sum(dim=1, keepdim=True), torch.ones(2, 2)).graph
    constants = [[v.type().str(), v.toIValue()] for v in traced.findNode("aten::sum").inputsAt(2).node().outputs()]
    return [
        *found,
        constants,
        str(torch._C.ListType(torch._C.IntType.get())),
        torch._C.TensorType.get().str(),
        torch._C._get_tracing_state(),
    ]


def case_jit_values_that_are_followed(torch):
    def f(x, y):
        n = x.size(0) * 2 + 1
        parts = x.view(x.shape[0], -1).split(1, dim=1)
        x = x + torch.arange(x.shape[1])[None]
        return (
            parts[0] * n,
            torch.stack([x, x.t().reshape(x.shape)]),
            y[..., -1].expand(x.size(0), -1),
            torch.zeros(x.size(0), y.numel()).bool(),
        )

    traced = torch.jit.trace(f, (torch.ones(2, 3), torch.ones(4, 5)))
    return list(traced(torch.arange(12.0).view(4, 3), torch.arange(10.0).view(2, 5)))


def case_jit_recurrent_and_random(torch):
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(3, 2, batch_first=True)
    for p in lstm.parameters():
        torch.nn.init.constant_(p, 0.1)
    traced = torch.jit.trace(lstm, torch.ones(2, 4, 3))
    out, (h, c) = traced(torch.ones(1, 6, 3))
    embedded = torch.jit.trace(
        torch.nn.Sequential(torch.nn.Embedding(3, 2).requires_grad_(False), torch.nn.LayerNorm(2)), torch.tensor([0, 1])
    )
    kinds = [n.kind() for n in embedded.inlined_graph.nodes() if n.kind()[:4] == "aten"]
    return [out, h, c, kinds, [n.kind() for n in traced.graph.nodes() if n.kind() == "aten::lstm"]]


def case_jit_gradients(torch):
    module = net(torch)
    traced = torch.jit.trace(module, inputs(torch, 2))
    traced(*inputs(torch, 2))[1].sum().backward()
    return [module.a.w.grad, module.a.fc.weight.grad]


def case_jit_tracer_warnings(torch):
    def f(x):
        y = x + 1 if x.sum() > 0 else x
        return y * x.sum().item() + len(x) + int(x.sum()) + float(x.sum()) + x.sum().tolist() + float(x.numpy().sum())

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.jit.trace(f, torch.ones(2), check_trace=False)
    return [str(w.message).split(". ")[0] for w in found if issubclass(w.category, torch.jit.TracerWarning)]


def case_jit_errors(torch):
    linear = torch.nn.Linear(1, 1)
    p = torch.ones(1, requires_grad=True)
    found = [
        answer(lambda: torch.jit.trace(lambda x: {"a": x}, torch.ones(1))),
        answer(lambda: torch.jit.trace(lambda x: 5, torch.ones(1))),
    ]
    found += [
        answer(lambda: torch.jit.trace(lambda x: x * p, torch.ones(1)))[:2],
        answer(lambda: torch.jit.freeze(torch.jit.trace(linear, torch.ones(1, 1)))),
    ]
    found += [
        answer(lambda: torch.jit.freeze(linear)),
        answer(lambda: torch.jit.save(linear, io.BytesIO())),
        answer(lambda: torch.jit.load("/nowhere/at/all.pt")),
    ]
    return [f[0] if "expects a Script" in f[1] else f for f in found]


def case_jit_freeze(torch):
    traced = torch.jit.trace(net(torch), inputs(torch, 2))
    frozen = torch.jit.freeze(traced.eval())
    return [
        frozen(*inputs(torch, 3)),
        sorted(frozen.state_dict()),
        [n for n, _ in frozen.named_modules()],
        frozen.original_name,
        traced.a.w.requires_grad,
    ]


def case_jit_save_and_load(torch):
    module, stream, extra = net(torch), io.BytesIO(), {"note.txt": "", "none": ""}
    traced = torch.jit.trace(module, inputs(torch, 2))
    torch.jit.save(traced, stream, _extra_files={"note.txt": "hello"})
    stream.seek(0)
    loaded = torch.jit.load(stream, _extra_files=extra)
    faces = [
        type(loaded).__name__,
        loaded.original_name,
        sorted(loaded.state_dict()),
        [n for n, _ in loaded.named_modules()],
        loaded.training,
        extra["note.txt"],
    ]
    faces += [
        type(loaded.a.w).__name__,
        loaded.a.w.requires_grad,
        loaded.code.split("(")[0],
        len(list(loaded.buffers())),
    ]
    buffer = io.BytesIO(loaded.save_to_buffer())
    function = io.BytesIO()
    torch.jit.save(torch.jit.trace(lambda x: x * torch.tensor([1.0, 2.0]), torch.ones(2)), function)
    function.seek(0)
    return [
        loaded(*inputs(torch, 3)),
        faces,
        torch.jit.load(buffer)(*inputs(torch, 1)),
        torch.jit.load(function)(torch.ones(2)),
        loaded.a(torch.ones(1, 2)),
    ]


def case_jit_copies_and_modes(torch):
    traced = torch.jit.trace(net(torch), inputs(torch, 2))
    twin = copy.deepcopy(traced)
    with torch.no_grad():
        twin.a.w.zero_()
    return [
        traced.a.w,
        twin.a.w,
        twin(*inputs(torch, 1))[0],
        traced.train().a.training,
        traced.eval().training,
        traced.double()(*[t.double() for t in inputs(torch, 1)])[1],
    ]


def scaled(x, n: int = 2):
    return x * n


def case_jit_script_faces(torch):
    f = torch.jit.script(scaled)
    m = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU()))
    torch.nn.init.ones_(m[0].weight), torch.nn.init.zeros_(m[0].bias)
    found = [
        f(torch.ones(1)),
        f(torch.ones(1), 3),
        type(f).__name__,
        f.name,
        type(m).__name__,
        repr(m),
        len(m),
        m(torch.ones(1, 1)),
        sorted(m.state_dict()),
    ]
    found += [
        isinstance(m, torch.nn.Sequential),
        isinstance(m, torch.jit.ScriptModule),
        torch.jit.script(m) is m,
        m.eval().training,
    ]
    return [
        *found,
        torch.jit.is_tracing(),
        torch.jit.Attribute(1, int),
        answer(lambda: torch.jit.script(torch.nn.Linear))[0],
        torch.jit.annotate(int, 3),
    ]


def case_jit_sizes_within_functions(torch):
    torch.manual_seed(0)
    heads = torch.nn.MultiheadAttention(4, 2).eval()
    for p in heads.parameters():
        torch.nn.init.constant_(p, 0.1)
    attention = torch.jit.trace(heads, (torch.ones(2, 3, 4),) * 3)
    x = torch.arange(32.0).view(2, 4, 4) / 10
    grown = torch.jit.trace(
        torch.nn.Sequential(torch.nn.Upsample(scale_factor=2), torch.nn.AdaptiveAvgPool2d(1)), torch.ones(1, 2, 4, 4)
    )
    table = torch.arange(10.0)[None]
    cut = torch.jit.trace(
        lambda x: table[:, : x.shape[1]].expand(x.size(0), x.size(1)) * (x.size(1) / 2) + x.shape[0] // 2,
        torch.ones(2, 3),
    )
    normed = torch.jit.trace(
        torch.nn.Sequential(torch.nn.InstanceNorm2d(2), torch.nn.SiLU(inplace=True)),
        torch.ones(1, 2, 3, 3) * torch.arange(3.0),
    )
    return [
        attention(x, x, x),
        grown(torch.arange(72.0).view(1, 2, 6, 6)),
        cut(torch.ones(4, 5)),
        normed(torch.arange(32.0).view(1, 2, 4, 4)),
    ]


def case_operators_that_traces_replay_by_number(torch):
    F, x = torch.nn.functional, torch.arange(30.0).view(5, 6).sin()
    functions = (
        lambda t: torch.detach(t) + t.detach(),
        lambda t: F.cosine_embedding_loss(t, t + 1, torch.ones(5)),
        lambda t: F.triplet_margin_loss(t, t + 1, t.flip(0)),
        lambda t: F.l1_loss(t, t * 2, reduction="sum"),
        lambda t: F.multi_margin_loss(t, torch.arange(5), reduction="none"),
        lambda t: F.nll_loss(t, torch.arange(5)),
        lambda t: torch.stft(t, 4, window=torch.ones(4), return_complex=True).abs(),
        lambda t: torch.tensordot(t, t, ([1], [1])),
    )
    return [torch.jit.trace(f, (x,), check_trace=False)(x * 0.5) for f in functions]


def case_what_is_written_while_tracing(torch):
    """Values and shapes that change in place are part of the graph, whoever wrote the method."""

    def assigned(x, index, value):
        x = x.clone()
        x[index] = value
        return x

    fs = [
        lambda x: x.clone().zero_(),
        lambda x: x.clone().fill_(3),
        lambda x: x.clone().fill_(x.sum()),
        lambda x: x.clone().copy_(x * 2),
    ]
    fs += [
        lambda x: assigned(x, 0, 1.0),
        lambda x: assigned(x, (slice(None), 1), x.sum(1)),
        lambda x: assigned(x, x > 0.5, 0.0),
    ]
    fs += [
        lambda x: (x * 1).unsqueeze_(0),
        lambda x: (x * 1).t_(),
        lambda x: (x * 1).squeeze_(),
        lambda x: x.clone().add_(1),
        lambda x: x.clone().clamp_(0.2),
    ]
    fs += [
        lambda x: torch.scalar_tensor(3.0) + x,
        lambda x: torch.nn.functional.dropout2d(x[None, None], 0.5, True) * 0,
    ]
    fs += [
        lambda x: torch.nn.functional.conv1d(x, torch.ones(1, 2, 2), padding="valid"),
        lambda x: torch.nn.functional.alpha_dropout(x, 0.5, True) * 0,
    ]
    x = torch.arange(6.0).reshape(2, 3) / 6
    traced = [torch.jit.trace(f, (x,), check_trace=False) for f in fs]
    written = [[n.kind() for n in t.graph.nodes() if n.kind().endswith("_")] for t in traced]
    return written, [t(x * 0.5 + 0.3) for t in traced]


def case_samples_with_numbers_of_their_own(torch):
    """torch.func.vmap: variances of all, one number for each sample's mask."""
    x, v, m = (
        torch.arange(24.0).reshape(2, 3, 4).sin(),
        torch.tensor([1.0, 2.0]),
        torch.arange(24).reshape(2, 3, 4) % 3 == 0,
    )
    found = [
        torch.func.vmap(lambda x, f=f, u=u: f(x, u))(x)
        for f in (torch.var, torch.std, torch.var_mean, torch.std_mean)
        for u in (True, False)
    ]
    vmap = torch.func.vmap
    found += [
        vmap(lambda x, m, v: x.masked_fill(m, v))(x, m, v),
        vmap(lambda x, v: x.masked_fill(m[0], v))(x, v),
        vmap(lambda m, v: x[0].masked_fill(m, v))(m, v),
    ]
    return [*found, vmap(lambda x, m, v: x.clone().masked_fill_(m, v))(x, m, v)]


_CODE = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    {arguments}) -> {result}:
    return {expression}
"""


def _archive(code):
    """A file of TorchScript with one module, which has no attributes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in {
            "data.pkl": b"\x80\x02c__torch__\nM\nq\x00)\x81}q\x01(X\x08\x00\x00\x00trainingq\x02\x89ubq\x03.",
            "code/__torch__.py": code.encode(),
            "constants.pkl": b"\x80\x02).",
            "version": b"3\n",
        }.items():
            z.writestr("archive/" + name, data)
    out.seek(0)
    return out


_INTS, _FLOATS, _STRING = [5, 1, 4, 1, -3], [0.5, -2.0, 3.25], "Some word, and one"
# (arguments, result, expression, values of the arguments)
_VALUES = [
    ("v: List[int], a: int, b: int, c: int", "List[int]", "torch.slice(v, a, b, c)", (_INTS, 0, 4, 2)),
    ("v: List[int], a: int, b: int, c: int", "List[int]", "torch.slice(v, a, b, c)", (_INTS, -3, 99, 3)),
    (
        "v: List[int], a: int, b: int, c: int",
        "List[int]",
        "torch.slice(v, a, b, c)",
        (_INTS, 1, 9223372036854775807, 1),
    ),
    ("v: List[int], a: int, b: int, c: int", "List[int]", "torch.slice(v, a, b, c)", (_INTS, 4, 1, 1)),
    ("v: str, a: int, b: int, c: int", "str", "torch.slice(v, a, b, c)", (_STRING, 2, 9, 3)),
    ("v: List[int], i: int", "int", "v[i]", (_INTS, -2)),
    ("v: List[int], i: int", "int", "v[i]", (_INTS, 7)),
    ("v: List[int]", "int", "torch.len(v)", (_INTS,)),
    ("v: str", "int", "torch.len(v)", (_STRING,)),
    ("v: List[int]", "int", "torch.sum(v)", (_INTS,)),
    ("v: List[float]", "float", "ops.prim.max(v)", (_FLOATS,)),
    ("v: List[int]", "int", "ops.prim.min(v)", (_INTS,)),
    ("v: List[int], e: int", "int", "torch.index(v, e)", (_INTS, 1)),
    ("v: List[int], e: int", "int", "torch.index(v, e)", (_INTS, 9)),
    ("v: List[int], e: int", "int", "torch.count(v, e)", (_INTS, 1)),
    ("v: List[int], e: int", "bool", "torch.__contains__(v, e)", (_INTS, 4)),
    ("v: List[int], e: int", "bool", "torch.__contains__(v, e)", (_INTS, 9)),
    ("v: List[int], w: List[int]", "List[int]", "torch.add(v, w)", (_INTS, [7, 8])),
    ("v: List[int], n: int", "List[int]", "torch.mul(v, n)", (_INTS, 2)),
    ("v: List[int], w: List[int]", "bool", "torch.eq(v, w)", (_INTS, [5, 1, 4, 1, -3])),
    ("v: List[int], w: List[int]", "bool", "torch.ne(v, w)", (_INTS, [5, 1, 4, 1])),
    ("v: List[int]", "List[int]", "torch.copy(v)", (_INTS,)),
    ("v: List[int]", "int", "torch.pop(v)", (_INTS,)),
    ("v: List[int]", "int", "torch.pop(v, 1)", (_INTS,)),
    ("v: List[int]", "List[int]", "torch.list(v)", (_INTS,)),
    ("d: Dict[str, int]", "List[str]", "torch.keys(d)", ({"a": 1, "b": 2},)),
    ("d: Dict[str, int]", "List[int]", "torch.values(d)", ({"a": 1, "b": 2},)),
    ("d: Dict[str, int], k: str", "int", "d[k]", ({"a": 1, "b": 2}, "b")),
    ("d: Dict[str, int], k: str", "bool", "torch.__contains__(d, k)", ({"a": 1, "b": 2}, "c")),
    ("d: Dict[str, int]", "int", "torch.len(d)", ({"a": 1, "b": 2},)),
    ("s: str", "str", "torch.upper(s)", (_STRING,)),
    ("s: str", "str", "torch.lower(s)", (_STRING,)),
    ("s: str", "List[str]", "torch.split(s)", (_STRING,)),
    ("s: str, at: str", "List[str]", "torch.split(s, at)", (_STRING, ", ")),
    ("s: str, v: List[str]", "str", "torch.join(s, v)", ("-", ["a", "b", "c"])),
    ("s: str", "str", "torch.strip(s)", ("  x  ",)),
    ("s: str, t: str", "bool", "torch.startswith(s, t)", (_STRING, "Some")),
    ("s: str, t: str", "bool", "torch.endswith(s, t)", (_STRING, "Some")),
    ("s: str, a: str, b: str", "str", "torch.replace(s, a, b)", (_STRING, "o", "0")),
    ("s: str", "int", "torch.ord(s)", ("x",)),
    ("n: int", "str", "torch.chr(n)", (120,)),
    ("s: str, n: int", "str", "torch.format(s, n, n)", ("{} and {}", 3)),
    ("a: int, b: int, c: int", "int", "torch.__range_length(a, b, c)", (1, 12, 3)),
    ("a: int, b: int, c: int", "int", "torch.__range_length(a, b, c)", (12, 1, 3)),
    ("n: int", "List[int]", "ops.prim.rangelist(n)", (4,)),
    ("a: bool, b: bool", "bool", "torch.__and__(a, b)", (True, False)),
    ("a: bool, b: bool", "bool", "torch.__or__(a, b)", (True, False)),
    ("a: bool, b: bool", "bool", "torch.__xor__(a, b)", (True, True)),
    ("a: bool", "bool", "torch.__not__(a)", (True,)),
    ("a: float", "int", "torch.Int(a)", (-2.5,)),
    ("a: str", "int", "torch.Int(a)", ("12",)),
    ("a: int", "float", "torch.Float(a)", (3,)),
    ("a: str", "float", "torch.Float(a)", ("2.5",)),
    ("a: int", "bool", "torch.Bool(a)", (3,)),
    ("a: Tensor", "int", "torch.Int(a)", "tensor"),
    ("a: Tensor", "float", "torch.Float(a)", "tensor"),
    ("a: Tensor", "List[int]", "torch.size(a)", "matrix"),
    ("a: Tensor", "int", "torch.size(a, 1)", "matrix"),
    ("a: Tensor", "List[int]", "torch.stride(a)", "matrix"),
    ("a: Tensor", "int", "torch.stride(a, 1)", "matrix"),
    ("a: Tensor", "int", "torch.numel(a)", "matrix"),
    ("a: Tensor", "int", "torch.dim(a)", "matrix"),
    ("a: Tensor", "int", "torch.len(a)", "matrix"),
    ("a: Tensor", "bool", "torch.is_floating_point(a)", "matrix"),
    ("a: Tensor", "int", "ops.prim.dtype(a)", "matrix"),
    ("a: Tensor", "Tensor", "torch.tensor(torch.size(a), dtype=6)", "matrix"),
    ("a: Tensor", "Tensor", "torch.slice(a, 1, 0, 9223372036854775807, 2)", "matrix"),
    ("a: Tensor", "Tensor", "torch.select(a, 1, -1)", "matrix"),
    ("a: Tensor", "Tensor", "torch.add(a, a, alpha=2)", "matrix"),
    ("a: Tensor", "Tensor", "torch.sub(1, a)", "matrix"),
    ("a: Tensor", "Tensor", "torch.to(a, 3)", "matrix"),
    *(
        ("a: int, b: int", kind, f"torch.{name}(a, b)", pair)
        for name, kind in {
            "add": "int",
            "sub": "int",
            "mul": "int",
            "div": "float",
            "floordiv": "int",
            "remainder": "int",
            "pow": "float",
            "eq": "bool",
            "ne": "bool",
            "lt": "bool",
            "le": "bool",
            "gt": "bool",
            "ge": "bool",
        }.items()
        for pair in ((-7, 2), (7, -2), (2, 2), (0, 3))  # a divisor of 0 ends the process of PyTorch
    ),
    *(
        ("a: float, b: float", kind, f"torch.{name}(a, b)", pair)
        for name, kind in {
            "add": "float",
            "sub": "float",
            "mul": "float",
            "div": "float",
            "floordiv": "float",
            "remainder": "float",
            "pow": "float",
            "eq": "bool",
            "lt": "bool",
            "ge": "bool",
        }.items()
        for pair in ((-7.5, 2.0), (7.5, -2.0), (2.0, 2.0), (0.0, 3.0))
    ),
    *(
        ("a: float", kind, f"torch.{name}(a)", (a,))
        for name, kind in {
            "neg": "float",
            "sqrt": "float",
            "ceil": "int",
            "floor": "int",
            "log": "float",
            "exp": "float",
            "isinf": "bool",
            "isnan": "bool",
        }.items()
        for a in (2.5, -0.5, 0.0, 1e4, float("inf"), float("nan"))
        if (a == a and abs(a) < 1e9) or kind != "int"
    ),
    *(("a: float", "float", "ops.prim.abs(a)", (a,)) for a in (2.5, -0.5)),
]


def case_functions_of_scripts(torch):
    """What code in a file of TorchScript calls on numbers, strings, lists, dictionaries and tensors."""
    found, tensors = {}, {"tensor": torch.tensor(-2.5), "matrix": torch.arange(6.0).view(2, 3).t()}
    for arguments, result, expression, given in _VALUES:
        code = _CODE.format(arguments=arguments.replace(", ", ",\n    "), result=result, expression=expression)
        values = (tensors[given],) if isinstance(given, str) else copy.deepcopy(given)

        def run(code=code, values=values):
            return torch.jit.load(_archive(code)).forward(*values)

        try:
            found[f"{expression} of {given}, {arguments}"] = run()
        except Exception:
            found[f"{expression} of {given}, {arguments}"] = "raises"
    return found
