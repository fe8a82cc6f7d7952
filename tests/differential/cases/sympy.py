"""torch.utils._sympy: infinite integers, functions over sizes, ranges of values, printing and solving."""

import itertools

import sympy
from comparing import STRICT

TOLERANCE = STRICT

NUMBERS = [sympy.Integer(n) for n in (-7, -2, -1, 0, 1, 2, 3, 8, 100)] + [sympy.Float(x) for x in (-2.5, 0.5, 3.0)]


def outcome(f, *args):
    try:
        return str(f(*args))
    except Exception as e:
        return [type(e).__name__, str(e)]


def table(functions, *arguments):
    return {
        f"{name}{args}": outcome(f, *args) for name, f in functions.items() for args in itertools.product(*arguments)
    }


def case_infinite_integers(torch):
    import operator

    from torch.utils._sympy.numbers import int_oo, is_infinite

    others = [*NUMBERS, sympy.oo, -sympy.oo, int_oo, -int_oo, sympy.nan, sympy.Symbol("x"), 2, -1, 0.5]
    functions = {name: getattr(operator, name) for name in "add sub mul truediv mod eq ne lt le gt ge".split()}
    left = table(functions, [int_oo, -int_oo], others)
    right = table(functions, others, [int_oo, -int_oo])
    powers = table({"pow": operator.pow}, [int_oo, -int_oo], [sympy.Integer(n) for n in (-2, -1, 0, 1, 2, 3)])
    facts = [
        [getattr(x, f"is_{fact}") for fact in "integer number positive negative finite real extended_real".split()]
        for x in (int_oo, -int_oo)
    ]
    return [
        left,
        right,
        powers,
        facts,
        [is_infinite(x) for x in others],
        abs(-int_oo) is int_oo,
        float(int_oo),
        repr(-int_oo),
        hash(int_oo) == hash(int_oo),
    ]


def case_functions_of_numbers(torch):
    from torch.utils._sympy import functions as f
    from torch.utils._sympy.numbers import int_oo

    integers = [sympy.Integer(n) for n in (-7, -1, 0, 1, 2, 3, 12)]
    two = {
        name: getattr(f, name)
        for name in "FloorDiv PythonMod CeilDiv IntTrueDiv FloatTrueDiv LShift RShift Max Min".split()
    }
    positive = {"Mod": f.Mod, "PowByNatural": f.PowByNatural}
    one = {name: getattr(f, name) for name in "CeilToInt FloorToInt TruncToInt TruncToFloat ToFloat Identity".split()}
    opaque = {n: getattr(f, f"OpaqueUnaryFn_{n}") for n in "sqrt cos sinh atan exp log2 asinh".split()}
    bits = {n: getattr(f, f"BitwiseFn_bitwise_{n}") for n in ("and", "or", "xor")}
    return [
        table(two, integers, integers),
        table(positive, [i for i in integers if i >= 0], integers[3:]),
        table(one, [*NUMBERS, sympy.oo, -sympy.oo, int_oo]),
        table(opaque, [sympy.Integer(1), sympy.Float(0.5), sympy.oo, int_oo, sympy.Symbol("x")]),
        table(bits, integers, [*integers, sympy.true, sympy.false]),
        table({"FloorDiv": f.FloorDiv}, [int_oo, -int_oo, sympy.Integer(5)], [int_oo, -int_oo, sympy.Integer(-2)]),
        table({"round": f.RoundDecimal}, NUMBERS[-3:], [sympy.Integer(0), sympy.Integer(1)]),
        [str(f.safe_pow(a, b)) for a in (-3, 0, 1, 2, 10) for b in (0, 1, 5, 62, 63, 64)],
    ]


def expressions(torch):
    from torch.utils._sympy import functions as f

    s, t, u = sympy.symbols("s t", positive=True, integer=True) + (sympy.Symbol("u", integer=True),)
    yield from (
        f.FloorDiv(s, 2),
        f.FloorDiv(4 * s + 2 * t, 2),
        f.FloorDiv(4 * s + t, 2),
        f.FloorDiv(f.FloorDiv(s, 3), 4),
        f.FloorDiv(s * t, t),
    )
    yield from (
        f.FloorDiv(2 * s, 4),
        f.FloorDiv(s * t + s, t + 1),
        f.FloorDiv(u, -1),
        f.FloorDiv(s + 3, s + 3),
        f.CeilDiv(s, 4),
        f.CeilDiv(4 * s, 4),
    )
    yield from (
        f.PythonMod(s, 2),
        f.PythonMod(4 * s, 2),
        f.PythonMod(u, 3),
        f.Mod(s, 5),
        f.PythonMod(2 * s + 1, 2),
        f.PythonMod(s, s * t),
    )
    yield from (
        f.ModularIndexing(s, 2, 3),
        f.ModularIndexing(6 * s + t, 1, 6),
        f.ModularIndexing(f.FloorDiv(s, 2), 3, 5),
        f.ModularIndexing(4 * s, 2, 7),
    )
    yield from (
        f.Max(s, 1),
        f.Max(s, 0),
        f.Max(2 * s, 3 * s),
        f.Min(s, t, 4),
        f.Max(f.Max(s, t), u),
        f.Min(s, 0),
        f.Max(s, t, 2),
        f.Min(2, 5, s),
    )
    yield from (
        f.Where(s > 2, s, t),
        f.Where(sympy.true, s, t),
        f.ToFloat(s),
        f.IntTrueDiv(s, 2),
        f.FloatTrueDiv(f.ToFloat(s), 2.0),
        f.TruncToInt(f.IntTrueDiv(s, 3)),
    )
    yield from (
        f.PowByNatural(s, 2),
        f.PowByNatural(2, t),
        f.LShift(s, t),
        f.RShift(s, 2),
        f.OpaqueUnaryFn_sqrt(f.ToFloat(s)),
        f.FloorToInt(f.IntTrueDiv(s, 4)),
    )
    yield from (
        s + t * 2 - 1,
        s * t,
        (s + 1) ** 2,
        abs(u),
        sympy.Piecewise((1, s > 3), (0, True)),
        f.CeilToInt(f.IntTrueDiv(u, 2)),
        f.Identity(s + 1) * 2,
    )
    yield from (
        f.BitwiseFn_bitwise_and(s, 7),
        f.BitwiseFn_bitwise_or(u, 3),
        f.IsNonOverlappingAndDenseIndicator(s, 1),
        f.RoundDecimal(f.ToFloat(s), 2),
    )


def case_expressions_simplify(torch):
    facts = "integer nonnegative positive real".split()
    return [[str(e), [getattr(e, f"is_{fact}") for fact in facts]] for e in expressions(torch)]


def case_ranges_of_expressions(torch):
    from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

    s, t, u = sympy.symbols("s t", positive=True, integer=True) + (sympy.Symbol("u", integer=True),)
    known = {s: ValueRanges(2, 10), t: ValueRanges(1, 64), u: ValueRanges(-5, 6)}
    conditions = [
        sympy.Lt(s, 20),
        sympy.Ge(s, t),
        sympy.Eq(u, 7),
        sympy.And(s > 1, t > 100),
        sympy.Not(s > 1),
        sympy.Ne(s, u),
    ]
    return [
        [str(e), outcome(bound_sympy, e, known), outcome(bound_sympy, e)] for e in (*expressions(torch), *conditions)
    ]


def case_ranges(torch):
    from torch.utils._sympy.numbers import int_oo
    from torch.utils._sympy.value_ranges import ValueRangeError, ValueRanges

    a, b, c = ValueRanges(2, 10), ValueRanges(5, int_oo), ValueRanges(-1.5, sympy.oo)
    refused = [
        outcome(ValueRanges, *pair)
        for pair in (
            (3, 2),
            (sympy.true, sympy.false),
            (sympy.Symbol("x"), 3),
            ("a", 1),
            (1, sympy.true),
            (sympy.nan, 1),
        )
    ]
    kinds = [
        [r.is_int, r.is_float, r.is_bool, r.is_singleton(), repr(r)]
        for r in (a, b, c, ValueRanges.wrap(3), ValueRanges.wrap(True), ValueRanges(2, sympy.oo))
    ]
    both = [
        repr(a & b),
        repr(a | b),
        repr(a.tighten(b)),
        repr(ValueRanges.unknown() & a),
        repr(ValueRanges.unknown_int() | a),
        outcome(lambda: a & c),
    ]
    inside = [
        3 in a,
        11 in a,
        10**30 in b,
        int_oo in b,
        sympy.oo in c,
        0 in c,
        a.issubset(ValueRanges.unknown_int()),
        a.issubset(b),
    ]
    maps = [
        repr(ValueRanges.increasing_map(a, lambda x: x + 1)),
        repr(ValueRanges.decreasing_map(a, lambda x: -x)),
        repr(ValueRanges.monotone_map(a, lambda x: 3 - x)),
        repr(ValueRanges.convex_min_zero_map(ValueRanges(-3, 2), lambda x: x * x)),
        repr(ValueRanges.coordinatewise_monotone_map(a, ValueRanges(-2, 3), lambda x, y: x * y)),
    ]
    unknown = [repr(getattr(ValueRanges, f"unknown{kind}")()) for kind in ("", "_int", "_bool")]
    return [
        refused,
        kinds,
        both,
        inside,
        maps,
        unknown,
        issubclass(ValueRangeError, RuntimeError),
        a == ValueRanges(2, 10),
        hash(a) == hash(ValueRanges(2, 10)),
    ]


def case_analysis_of_ranges(torch):
    from torch.utils._sympy.numbers import int_oo
    from torch.utils._sympy.value_ranges import SymPyValueRangeAnalysis, ValueRanges

    ranges = [
        ValueRanges(a, b)
        for a, b in ((-3, -1), (-2, 5), (0, 0), (0, 7), (1, int_oo), (4, 4), (-int_oo, int_oo), (2, 9))
    ]
    two = (
        "add mul floordiv mod python_mod int_truediv minimum maximum eq ne lt le gt ge bitwise_and bitwise_or "
        "bitwise_xor"
    ).split()
    one = "abs floor ceil trunc sqrt log exp reciprocal identity cos cosh tan".split()
    floats = [ValueRanges(-2.5, 1.5), ValueRanges(0.5, 4.0), ValueRanges(0.0, sympy.oo), ValueRanges.unknown()]
    bools = [ValueRanges.unknown_bool(), ValueRanges.wrap(True), ValueRanges.wrap(False)]
    analysis = SymPyValueRangeAnalysis
    finite = [r for r in ranges if r.upper != int_oo]
    return [
        table({n: getattr(analysis, n) for n in two}, ranges, ranges),
        # to an unbounded power PyTorch's own recursion does not end
        table({"pow_by_natural": analysis.pow_by_natural}, ranges, finite),
        table({n: getattr(analysis, n) for n in one}, [*ranges, *floats]),
        table(
            {n: getattr(analysis, n) for n in "and_ or_ bitwise_and bitwise_or bitwise_xor eq lt mul".split()},
            bools,
            bools,
        ),
        table({n: getattr(analysis, n) for n in ("truediv", "add", "mul", "pow")}, floats, floats),
        table(
            {n: getattr(analysis, n) for n in ("floor_to_int", "ceil_to_int", "trunc_to_int")},
            floats[:2],
            [torch.int64],
        ),
        table(
            {"constant": analysis.constant},
            [1, 2.5, True, float("nan"), sympy.Integer(3)],
            [torch.int64, torch.float64, torch.bool],
        ),
        table({"to_dtype": analysis.to_dtype}, ranges[:2], [torch.float64, torch.float32, torch.int32, torch.bool]),
    ]


def case_printing(torch):
    from torch.utils._sympy.printers import PythonPrinter

    x = sympy.Symbol("x")
    more = [
        sympy.oo,
        -sympy.oo,
        sympy.nan,
        sympy.Float(0.1),
        sympy.Not(x > 1),
        sympy.And(x > 1, x < 3),
        sympy.Or(x > 1, x < 0),
        sympy.Eq(x, 1),
        x**3,
    ]
    return [outcome(PythonPrinter().doprint, e) for e in (*expressions(torch), *more)]


def case_interpretation(torch):
    from torch.utils._sympy.interp import sympy_interp
    from torch.utils._sympy.reference import PythonReferenceAnalysis, ReferenceAnalysis

    s, t, u = sympy.symbols("s t", positive=True, integer=True) + (sympy.Symbol("u", integer=True),)
    numbers = {s: 6, t: 4, u: -3}
    symbols = {k: sympy.Integer(v) for k, v in numbers.items()}
    return [
        [
            [
                str(e),
                outcome(sympy_interp, ReferenceAnalysis, symbols, e),
                outcome(sympy_interp, PythonReferenceAnalysis, numbers, e),
            ]
            for e in expressions(torch)
        ],
        outcome(sympy_interp, ReferenceAnalysis, {}, s + 1),
    ]


def case_solving(torch):
    from torch.utils._sympy.functions import FloorDiv
    from torch.utils._sympy.solve import mirror_rel_op, try_solve

    a, b = sympy.symbols("a b", integer=True)
    p = sympy.Symbol("p", integer=True, positive=True)
    relations = [sympy.Eq, sympy.Ne, sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le]
    left = [a + 5, 3 * a, 3 * a + b, -2 * a, b * a, FloorDiv(a, 3), FloorDiv(a, p), FloorDiv(a, b), a * a]
    found = {f"{r.__name__}({e})": outcome(try_solve, r(e, 10), a) for r in relations for e in left}
    turned = {f"{r.__name__}({e})": outcome(try_solve, r(10, e), a) for r in relations for e in left[:4]}
    more = [
        outcome(try_solve, sympy.Lt(FloorDiv(a, 3), 10), a, 5, False),
        outcome(try_solve, sympy.Eq(a, a + b), a),
        outcome(try_solve, a + b, a),
    ]
    return [found, turned, more, [str(mirror_rel_op(r)) for r in (*relations, sympy.Add)]]


def case_symbols(torch):
    from torch.utils._sympy.symbol import SymT, free_symbol_is_type, make_symbol, prefix_str, symbol_is_type

    s, u, x = make_symbol(SymT.SIZE, 3, integer=True), make_symbol(SymT.UNBACKED_INT, 0), sympy.Symbol("XBLOCK")
    return [
        {kind.name: prefix_str[kind] for kind in SymT},
        [
            str(s),
            s.is_integer,
            symbol_is_type(s, SymT.SIZE),
            symbol_is_type(s, (SymT.FLOAT, SymT.UNBACKED_INT)),
            symbol_is_type(x, SymT.XBLOCK),
        ],
        [
            free_symbol_is_type(s + u, SymT.UNBACKED_INT),
            free_symbol_is_type(s + 1, SymT.UNBACKED_INT),
            outcome(symbol_is_type, s + 1, SymT.SIZE),
        ],
    ]


def case_sizes_equal_to_themselves_alone(torch):
    from torch.utils._sympy.singleton_int import SingletonInt

    j1, j2 = SingletonInt(1), SingletonInt(2)
    questions = [
        (j1, j1),
        (j1, j2),
        (j1 * 2, j1),
        (sympy.Integer(1), j1),
        (j1, sympy.Integer(2)),
        (j1, sympy.Integer(5)),
    ]
    return [
        [[outcome(sympy.Eq, *q), outcome(sympy.Ge, *q)] for q in questions],
        [outcome(lambda: j1 + 1), outcome(lambda: j1 * j2), outcome(lambda: j1 - 1), str(j1.free_symbols)],
    ]
