"""torch.export with symbolic sizes: ranges, results at other sizes, guards and PyTorch's errors."""

import logging

from comparing import STRICT

TOLERANCE = STRICT


def _module(torch, fn):
    class M(torch.nn.Module):
        def forward(self, x, y):
            return fn(x, y)

    return M()


def _exported(torch, fn, args, shapes):
    logging.disable(logging.CRITICAL)
    try:
        return torch.export.export(_module(torch, fn), args, dynamic_shapes=shapes)
    finally:
        logging.disable(logging.NOTSET)


def _told(torch, fn, args, shapes):
    try:
        program = _exported(torch, fn, args, shapes)
    except Exception as error:
        return type(error).__name__, str(error)
    return [(str(e), str(r)) for e, r in program.range_constraints.items()]


def case_ranges_of_sizes(torch):
    Dim, a = torch.export.Dim, (torch.randn(4, 6), torch.randn(4, 6))
    b = Dim("b")
    return [
        _told(
            torch, lambda x, y: (x + 1 if x.shape[0] > 3 else x, y), a, {"x": {0: Dim("b", min=4, max=9)}, "y": None}
        ),
        _told(torch, lambda x, y: (x, y), (torch.randn(1, 3), torch.randn(2)), {"x": {0: Dim.AUTO}, "y": None}),
        _told(torch, lambda x, y: x[1:] + y, (torch.randn(5, 3), torch.randn(4, 3)), {"x": {0: b + 1}, "y": {0: b}})[
            -1
        ],
        _told(
            torch,
            lambda x, y: (x * y.shape[0], y),
            (torch.randn(8, 3), torch.randn(4)),
            ({0: Dim.AUTO(min=3, max=20)}, (Dim.DYNAMIC(max=10),)),
        ),
    ]


def case_errors_of_constraints(torch):
    Dim, a = torch.export.Dim, (torch.randn(4, 6), torch.randn(4, 6))
    b, c, two = Dim("b"), Dim("c"), (torch.randn(8, 3), torch.randn(3, 3))
    add, both = lambda x, y: x + y, lambda x, y: (x, y)
    more = lambda x, y: (x + 1 if x.shape[0] > 3 else x, y)
    one = (torch.randn(1, 3), torch.randn(2))
    return [
        _told(torch, lambda x, y: x.view(4, 6) + y, a, {"x": {0: b}, "y": {0: b}}),
        _told(torch, add, a, {"x": {0: b}, "y": {0: c}}),
        _told(torch, add, a, {"x": {0: b}, "y": {0: None}}),
        _told(torch, more, a, {"x": {0: b}, "y": None}),
        _told(torch, more, a, {"x": {0: Dim("b", max=9)}, "y": None}),
        _told(torch, both, one, {"x": {0: b}, "y": None}),
        _told(torch, both, one, {"x": {0: Dim.DYNAMIC}, "y": None}),
        _told(torch, both, two, {"x": {0: 2 * b}, "y": {0: b}}),
        _told(torch, both, two, {"x": {0: b}, "z": None}),
        _told(torch, both, two, {"x": [b], "y": None}),
        _told(torch, both, (two[0], [two[1]]), {"x": [b, None], "y": {0: b}}),
        _told(torch, both, two, {"x": {0: "q"}, "y": None}),
    ]


def case_results_at_other_sizes(torch):
    auto = torch.export.Dim.AUTO
    programs = [
        (lambda x, y: x @ y, (torch.randn(8, 3), torch.randn(3, 7)), (5, 4), (4, 6)),
        (lambda x, y: torch.cat([x, y.flip(0)], 1)[:, ::2], (torch.randn(4, 3), torch.randn(4, 5)), (6, 8), (6, 3)),
        (lambda x, y: x.reshape(-1, x.shape[0]).softmax(-1).sum(0) + y.sum(), (torch.randn(4, 8),) * 2, (6, 4), (6, 4)),
        (
            lambda x, y: torch.arange(x.shape[0]) + torch.zeros(y.shape[1], x.shape[0]),
            (torch.randn(3, 4),) * 2,
            (5, 2),
            (5, 2),
        ),
        (
            lambda x, y: x.unsqueeze(1).expand(-1, y.shape[0], -1) * y,
            (torch.randn(3, 4), torch.randn(5, 4)),
            (2, 6),
            (7, 6),
        ),
        (
            lambda x, y: torch.nn.functional.pad(x, (1, 2))[: y.shape[0] - 1],
            (torch.randn(6, 4), torch.randn(5, 4)),
            (9, 3),
            (4, 2),
        ),
    ]
    found = []
    for fn, args, first, second in programs:
        shapes = tuple({i: auto for i in range(t.dim())} for t in args)
        module = _exported(torch, fn, args, shapes).module()
        x = torch.linspace(-1, 1, first[0] * first[1]).reshape(first)
        y = torch.linspace(0, 2, second[0] * second[1]).reshape(second)
        found.append(module(x, y))
    return found


def case_guards_of_a_program(torch):
    auto = torch.export.Dim.AUTO
    program = _exported(
        torch, lambda x, y: x @ y, (torch.randn(8, 3), torch.randn(3, 7)), ({0: auto, 1: auto}, {0: auto, 1: auto})
    )
    module, found = program.module(), []
    for args in ((torch.ones(3, 4), torch.ones(3, 4)), (torch.ones(1, 4), torch.ones(4, 4)), (torch.ones(3, 4),)):
        try:
            found.append(module(*args))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found


def case_values_become_sizes(torch):
    class M(torch.nn.Module):
        def forward(self, x):
            n = x.sum().item()
            torch._check(n >= 2)
            return torch.nonzero(x) * 2, torch.zeros(n), x[x > 0].shape[0], torch.unique_consecutive(x)

    module = torch.export.export(
        M(), (torch.ones(3, dtype=torch.int64),), dynamic_shapes=({0: torch.export.Dim.AUTO},)
    ).module()
    return [module(torch.tensor(v)) for v in ([1, 0, 2, 2], [1, 1], [0, 3, 3, 3, 1])]


def case_decomposed_programs(torch):
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))
            self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 12).reshape(3, 4))

        def forward(self, x):
            self.count.add_(1)
            y = torch.nn.functional.linear(x, self.weight)
            z = torch.zeros_like(y)
            z[:, 0] = y[:, 1]
            z[0].mul_(2)
            return torch.nn.functional.silu(z), y.masked_fill(y > 0, 1.0), x.triu()

    program = torch.export.export(M(), (torch.ones(2, 4),), dynamic_shapes=({0: torch.export.Dim("b")},))
    lowered = program.run_decompositions()
    x = torch.linspace(-2, 2, 20).reshape(5, 4)
    ops = {str(n.target) for n in lowered.graph.nodes if n.op == "call_function"}
    kinds = [(s.kind.name, s.target) for s in lowered.graph_signature.output_specs]
    module = lowered.module()
    return [
        module(x),
        module.count,
        kinds,
        sorted(o for o in ops if o.partition(".")[2].partition(".")[0].endswith("_")),
    ]


def case_symbolic_numbers(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    found = []

    def f(x):
        s = x.shape[0]
        numbers = [s + 1, 1 + s, s * 2 // 3, s % 2, -s, s**2, torch.sym_max(s, 4), torch.sym_min(3, s), abs(s)]
        found.extend(
            [isinstance(s, int), type(s).__name__, type(s / 2).__name__, type(s > 2).__name__, s == 3, bool(s > 2)]
        )
        found.append([n.node.hint if hasattr(n, "node") else n for n in numbers])
        return x.new_zeros(s * 2), torch.sym_float(s)

    traced = make_fx(f, tracing_mode="symbolic")(torch.ones(5, 3))
    found.append(traced(torch.ones(5, 3)))
    return [bool(v) if type(v).__name__ == "SymBool" else v for v in found]


class _Decoder:
    """A decoder layer with the keys of earlier positions."""

    def __new__(cls, torch):
        nn, F = torch.nn, torch.nn.functional

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.places = nn.Embedding(10, 8), nn.Embedding(20, 8)
                self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)
                for i, p in enumerate(self.parameters()):
                    p.data = torch.linspace(-0.5 + 0.01 * i, 0.5, p.numel()).reshape(p.shape)

            def forward(self, ids, mask, past):
                x = self.embed(ids) + self.places(torch.arange(ids.shape[1]))
                b, n, d = x.shape
                q, k, v = self.qkv(self.norm(x)).view(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
                k, v = torch.cat([past, k], 2), torch.cat([past, v], 2)
                allowed = torch.cat([torch.ones(b, past.shape[2]), mask], 1)[:, None, None, :] == 1
                a = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed.expand(b, 1, n, k.shape[2]))
                return self.out(a.transpose(1, 2).reshape(b, n, d))[:, -1:], k

        return Decoder()


def _inputs(torch, batch, length, past):
    ids = (torch.arange(batch * length) % 10).reshape(batch, length)
    return ids, torch.ones(batch, length), torch.linspace(-1, 1, batch * 2 * past * 4).reshape(batch, 2, past, 4)


def case_a_decoder_with_a_cache(torch):
    auto = torch.export.Dim.AUTO
    shapes = ({0: auto, 1: auto}, {0: auto, 1: auto}, {0: auto, 2: auto})
    program = torch.export.export(_Decoder(torch), _inputs(torch, 2, 5, 3), dynamic_shapes=shapes)
    module, found = program.module(), [sorted(str(r) for r in program.range_constraints.values())]
    for sizes in ((3, 7, 6), (2, 1, 9), (1, 4, 2)):
        found.append(module(*_inputs(torch, *sizes)))
    flat = torch.export.unflatten(program)
    found += [flat(*_inputs(torch, 4, 6, 2)), sorted(flat.state_dict()), [n for n, _ in flat.named_children()]]
    return found


def case_shapes_by_tensors_and_by_examples(torch):
    Dim, x, y = torch.export.Dim, torch.ones(3, 4), torch.ones(3, 5)
    collection = torch.export.ShapesCollection()
    collection[x] = (Dim("n"), None)
    collection[y] = {0: Dim("n")}
    module, found = _module(torch, lambda x, y: x.sum(1) + y.sum(1)), [len(collection)]
    logging.disable(logging.CRITICAL)
    program = torch.export.export(module, (x, y), dynamic_shapes=collection)
    found.append([str(r) for r in program.range_constraints.values()])
    more = torch.export.AdditionalInputs()
    more.add((torch.ones(5, 4), torch.ones(5, 5)))
    program = torch.export.export(module, (x, y), dynamic_shapes=more)
    logging.disable(logging.NOTSET)
    found.append([str(r) for r in program.range_constraints.values()])
    return found + [program.module()(torch.ones(6, 4), torch.ones(6, 5))]


def case_programs_know_that_they_are_exported(torch):
    class M(torch.nn.Module):
        def forward(self, x):
            c = torch.compiler
            return x, [c.is_compiling(), c.is_exporting(), c.is_dynamo_compiling(), torch.jit.is_tracing()]

    outside = [torch.compiler.is_compiling(), torch.compiler.is_exporting()]
    return outside, torch.export.export(M(), (torch.ones(2),)).module()(torch.ones(2))


def case_graphs_above_autograd(torch):
    from torch.fx.experimental.proxy_tensor import make_fx

    def f(x, w):
        return torch.nn.functional.linear(x, w).reshape(-1).softmax(0)

    traced = make_fx(f, pre_dispatch=True)(torch.ones(2, 3), torch.ones(4, 3))
    return [str(n.target) for n in traced.graph.nodes if n.op == "call_function"]


def _program(torch, fn, args, shapes=None, other=None, **parts):
    """Return the results of an exported function, also after decompositions, and the kinds of its results."""

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                self.register_buffer(name, part)

        def forward(self, *args):
            return fn(self, *args)

    program = torch.export.export(M(), args, dynamic_shapes=shapes)
    lowered, given = program.run_decompositions(), other or args
    kinds = [[s.kind.name for s in p.graph_signature.output_specs] for p in (program, lowered)]
    arguments = [type(s.arg).__name__ for s in program.graph_signature.input_specs]
    copies = [tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in given) for _ in range(2)]
    return program.module()(*copies[0]), lowered.module()(*copies[1]), kinds, arguments


def _set_anew(m, x):
    m.c = m.c + 1
    return x + m.c


def _views_written(m, x):
    y = x.clone()
    y[:, 1:].fill_(3)
    y.t()[0].add_(1)
    return y


def case_arguments_and_changes(torch):
    F, auto, x = torch.nn.functional, torch.export.Dim.AUTO, torch.arange(12.0).reshape(3, 4)
    rows, columns = (({0: auto},),), (({1: auto},),)
    return [
        _program(
            torch,
            lambda m, x, n: x.new_zeros(n, 2) + x.shape[0],
            (x, 5),
            (({0: auto}, torch.export.Dim.DYNAMIC),),
            (x[:2], 9),
        ),
        _program(torch, lambda m, x, n, s, o: x * n if s == "a" else x, (x, 2.5, "a", None)),
        _program(torch, lambda m, x: x.add_(1) * 2, (x.clone(),)),
        _program(torch, lambda m, x: (x, x.view(-1), x[0]), (x,)),
        _program(torch, _set_anew, (x,), c=torch.zeros(1)),
        _program(torch, lambda m, x: m.c.mul_(2).add_(x.sum()) + 0, (x,), c=torch.ones(1)),
        _program(torch, _views_written, (x,), rows, (torch.ones(5, 4),)),
        _program(torch, lambda m, x: (x.shape[0] * 2, x.shape[0] / 2, x.numel()), (x,), rows, (torch.ones(6, 4),)),
        _program(torch, lambda m, x, n: torch.split(x, n.tolist()), (torch.arange(6.0), torch.tensor([2, 4]))),
        _program(torch, lambda m, x: torch.topk(x, x.shape[0] // 2), (torch.arange(6.0),), rows, (torch.arange(8.0),)),
        _program(
            torch,
            lambda m, x: F.pad(x, (0, (4 - x.shape[1] % 4) % 4)),
            (torch.ones(2, 6),),
            columns,
            (torch.ones(2, 7),),
        ),
        _program(
            torch,
            lambda m, x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3]), mode="bilinear"),
            (torch.ones(1, 2, 4, 4),),
            (({2: auto, 3: auto},),),
            (torch.ones(1, 2, 6, 4),),
        ),
    ]
