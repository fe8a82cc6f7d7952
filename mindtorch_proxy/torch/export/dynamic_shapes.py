"""Which sizes of an exported program are dynamic: Dim, its hints, and how they are given for nested arguments."""

import enum
import inspect
from dataclasses import dataclass, field

import sympy

import torch
from torch._dynamo.exc import UserError, UserErrorType
from torch.fx.experimental._shape_env import (
    ConstraintViolationError,
    DimDynamic,
    RelaxedUnspecConstraint,
    ShapeEnv,
    Source,
    StatelessSymbolicContext,
)
from torch.utils._pytree import BUILTIN_TYPES, SUPPORTED_NODES, MappingKey, SequenceKey, _get_node_type, keystr
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.solve import try_solve
from torch.utils._sympy.value_ranges import ValueRangeError, ValueRanges, bound_sympy

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims", "refine_dynamic_shapes_from_suggested_fixes"]


class _DimHintType(enum.Enum):
    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


@dataclass
class _DimHint:
    """How a size becomes a symbol, with bounds. ``Dim.AUTO(min=2, max=8)`` returns one with bounds."""

    type: _DimHintType
    min: int | None = None
    max: int | None = None
    _factory: bool = True

    def __call__(self, min=None, max=None):
        if not self._factory:
            raise TypeError(f"'{type(self)}' object is not callable")
        for name, bound in (("min", min), ("max", max)):
            if bound is not None and bound < 0:
                raise AssertionError(f"{name} must be non-negative, got {bound}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return _DimHint(self.type, min, max, _factory=False)

    def __repr__(self):
        bounds = [f"{n}={b}" for n, b in (("min", self.min), ("max", self.max)) if b is not None]
        return f"DimHint({', '.join([self.type.name, *bounds])})"


def _needs_int(action, other, name):
    return NotImplementedError(
        f"Attempted to {action} {name}, where an integer was expected. "
        "(Only increasing linear operations with integer coefficients are supported.)".replace("other", str(other))
    )


class Dim:
    """A named size with bounds; the same name means the same size. ``2 * Dim("n") + 1`` is a size derived from it."""

    AUTO, DYNAMIC, STATIC = map(_DimHint, (_DimHintType.AUTO, _DimHintType.DYNAMIC, _DimHintType.STATIC))

    def __init__(self, name, *, min=None, max=None):
        self.min, self.max = 0 if min is None else min, int_oo if max is None else max
        if not self.max > self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    root = property(lambda self: self, doc="The dimension that this one is derived from.")

    def fn(self, x):
        """Return the size for a size of the root."""
        return x

    def __add__(self, other):
        if type(other) is not int:
            raise _needs_int(f"add {other} to", other, self.__name__)
        return self._derive(lambda x: x + other)

    __radd__ = __add__

    def __sub__(self, other):
        if type(other) is not int:
            raise _needs_int(f"subtract {other} from", other, self.__name__)
        return self._derive(lambda x: x - other)

    def __rsub__(self, other):
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. "
            "(Only increasing linear operations with integer coefficients are supported.)"
        )

    def __mul__(self, other):
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. "
                "(Only increasing linear operations with integer coefficients are supported.)"
            )
        return self._derive(lambda x: x * other)

    __rmul__ = __mul__

    def _derive(self, fn):
        return _DerivedDim(self, fn)

    @staticmethod
    def _readable(name, low, high):
        bounds = [f"min={low}"] * (low != 2) + [f"max={high}"] * (high != int_oo)
        return f"Dim({', '.join([repr(name), *bounds])})"

    def __repr__(self):
        return Dim._readable(self.__name__, self.min, self.max)


class _DerivedDim(Dim):
    """An increasing linear function of a dimension."""

    def __init__(self, base, fn):
        self._root, self._fn = base.root, lambda x: fn(base.fn(x))
        self.__name__ = str(fn(sympy.sympify(base.__name__, {base.root.__name__: sympy.Symbol(base.root.__name__)})))

    root = property(lambda self: self._root, doc="The dimension that this one is derived from.")

    def fn(self, x):
        return self._fn(x)

    def _bound(self, name, low):
        bound = getattr(self.root, name)
        if bound == int_oo:
            return bound
        found = int(self._fn(sympy.Integer(bound)))
        if low and found < 0:
            raise AssertionError(
                f"Expected derived min value of {self.__name__} to be >= 0. Please specify an appropriate min value "
                f"for {self.root.__name__} (currently {bound})."
            )
        return found

    min = property(lambda self: self._bound("min", True), doc="The least size.")
    max = property(lambda self: self._bound("max", False), doc="The largest size.")

    def __repr__(self):
        return self.__name__


def dims(*names, min=None, max=None):
    """Return a Dim for each name, with the same bounds."""
    return tuple(Dim(name, min=min, max=max) for name in names)


# ------------------------------------------------------------------------------------------------ nested arguments
def _invalid(message, case="dynamic_shapes_validation"):
    return UserError(UserErrorType.INVALID_INPUT, message, case_name=case)


def combined_args(f, args, kwargs):
    """Return {name: argument} of a call of a module or function."""
    signature = inspect.signature(f.forward if isinstance(f, torch.nn.Module) else f)
    return signature.bind(*args, **(kwargs or {})).arguments


def _children(tree):
    """Return [(key, child)] of a container, or None for a leaf."""
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES:
        return None
    found, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if kind in (dict, *_DICTS) and kind in BUILTIN_TYPES:
        return list(zip(map(MappingKey, tree.keys()), tree.values()))
    return [(SequenceKey(i), v) for i, v in enumerate(found)]


_DICTS = tuple(t for t in BUILTIN_TYPES if isinstance(t, type) and issubclass(t, dict))


def specs_of_leaves(tree, shapes, path=(), name="inputs"):
    """Yield (path, leaf, its specification) for nested arguments and specifications of the same structure."""
    children = _children(tree)
    if children is None:
        yield path, tree, shapes
        return
    if shapes is None:
        for key, child in children:
            yield from specs_of_leaves(child, None, (*path, key), name)
        return
    kind, place = type(tree), keystr(path)
    builtin = _get_node_type(tree) in BUILTIN_TYPES
    if not builtin and _get_node_type(shapes) not in BUILTIN_TYPES and _children(shapes) is not None:
        shapes = [v for _, v in _children(shapes)]
    if not isinstance(shapes, (dict, tuple, list)):
        raise _mismatch(name, f"`{name}{place}` is a {kind}, but `dynamic_shapes{place}` is not")
    expected = kind if builtin else list
    if isinstance(shapes, dict) != issubclass(expected, dict) or builtin and type(shapes) is not kind:
        raise _mismatch(name, f"`{name}{place}` is a {kind}, but `dynamic_shapes{place}` is a {type(shapes)}")
    if len(shapes) != len(children):
        raise _mismatch(
            name,
            f"`{name}{place}` has {len(children)} elements, but `dynamic_shapes{place}` has {len(shapes)} elements",
        )
    if isinstance(shapes, dict):
        if set(shapes) != {k.key for k, _ in children}:
            keys = [k.key for k, _ in children]
            raise _mismatch(
                name, f"`{name}{place}` has keys {keys}, but `dynamic_shapes{place}` has keys {list(shapes)}"
            )
        given = [shapes[k.key] for k, _ in children]
    else:
        given = list(shapes)
    for (key, child), spec in zip(children, given):
        yield from specs_of_leaves(child, spec, (*path, key), name)


def _mismatch(name, text):
    return _invalid(f"Detected mismatch between the structure of `{name}` and `dynamic_shapes`: {text}")


def _checked_names(arguments, shapes):
    """Return specifications in the structure of the arguments, whose names they may leave out."""
    if shapes is None or len(shapes) == 0:
        return None
    if isinstance(shapes, (tuple, list)):
        return shapes
    if set(shapes) != set(arguments):
        named = list(arguments)
        text = (
            f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {named} of "
            f"`inputs`, but here they are {list(shapes)}. "
        )
        if len(named) == 1 and named[0] not in shapes and isinstance(next(iter(arguments.values())), dict):
            text += (
                "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose "
                "`dynamic_shapes` in a list/tuple?"
            )
        else:
            text += (
                "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple "
                "matching `inputs`."
            )
        raise _invalid(text)
    return {n: shapes[n] for n in arguments}


@dataclass
class Symbols:
    """The symbols of a program's inputs, and what was asked of them."""

    env: ShapeEnv
    contexts: dict = field(default_factory=dict)  # place of a leaf: StatelessSymbolicContext, or a symbolic int
    named: dict = field(default_factory=dict)  # name of a Dim: (symbol, Dim, sources)
    sources: list = field(default_factory=list)  # the names of the leaves, such as L['x'][0]
    hints: list = field(default_factory=list)  # (source, expression, hint, its place in the arguments)

    def source(self, place, dim=None):
        """Return the source of a leaf, by its position among the leaves, or of one of its sizes."""
        name = self.sources[place]
        return Source(name if dim is None else f"{name}.size()[{dim}]")


def _per_dimension(path, tensor, spec):
    """Return the specification of each dimension of a tensor."""
    place, n = keystr(path), tensor.dim()
    if spec is None:
        return [None] * n
    if isinstance(spec, dict):
        for i, d in spec.items():
            _check_dim(d, f"mapped to index {i} in input tensor shape {spec} specified at `dynamic_shapes{place}`")
        return [spec.get(i, spec.get(i - n)) for i in range(n)]
    if isinstance(spec, (tuple, list)):
        if len(spec) != n:
            raise _invalid(
                f"Expected dynamic shape spec {spec} specified at `dynamic_shapes{place}` to have the same length as "
                f"the actual tensor shape {tensor.shape} (expected {n}, but got {len(spec)} instead)"
            )
        for i, d in enumerate(spec):
            _check_dim(d, f"#{i} in input tensor shape {spec} specified at `dynamic_shapes{place}`", "dimension ")
        return list(spec)
    raise _invalid(
        f"Unexpected input type {type(spec)} specified at `dynamic_shapes{place}`(expected either a list/tuple of "
        f"dimensions, or a dict mapping indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, "
        "Dim.STATIC, or Dim.DYNAMIC)"
    )


def _check_dim(d, where, before="dimension "):
    if not (d is None or isinstance(d, (int, Dim, _DimHint))):
        raise _invalid(
            f"Unexpected {before}{where} (expected None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,  but got "
            f"{d!r} instead)"
        )


def symbols_of(arguments, shapes, env):
    """Return the Symbols of nested arguments {name: argument} with their specifications."""
    found = Symbols(env)
    shapes = _checked_names(arguments, shapes)
    given = dict(arguments) if isinstance(shapes, dict) or shapes is None else type(shapes)(arguments.values())
    leaves = []
    found.sources = ["L" + keystr(path) for path, _, _ in specs_of_leaves(dict(arguments), None)]
    for path, leaf, spec in specs_of_leaves(given, shapes):
        if isinstance(leaf, torch.Tensor):
            leaves.append((path, leaf, _per_dimension(path, leaf, spec)))
        else:
            _check_number(path, leaf, spec)
            leaves.append((path, leaf, spec))
    _name_symbols(found, leaves)
    for place, (path, leaf, spec) in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            found.contexts[place] = _context(found, path, place, leaf, spec)
        elif isinstance(spec, _DimHint) and spec.type is not _DimHintType.STATIC:
            found.contexts[place] = env.create_symbol(leaf, found.source(place), DimDynamic.DYNAMIC)
            _note_hint(found, found.source(place), found.contexts[place], spec, f"inputs{keystr(path)}", leaf)
    return found


def _check_number(path, leaf, spec):
    allowed = type(leaf) is int and (isinstance(spec, (_DimHint, int)))
    if spec is not None and not allowed:
        raise _invalid(
            f"Cannot associate shape {spec} specified at `dynamic_shapes{keystr(path)}` to non-tensor type "
            f"{type(leaf)} at `inputs{keystr(path)}` (expected None)"
        )


def _name_symbols(found, leaves):
    """Create the symbols of named dimensions, directly used ones first, then those that others are derived from."""
    bounds, derived = {}, []
    for place, (_, leaf, spec) in enumerate(leaves):
        for i, d in enumerate(spec) if isinstance(leaf, torch.Tensor) else ():
            if not isinstance(d, Dim):
                continue
            root, low, high = d.root, d.root.min, d.root.max
            if bounds.setdefault(root.__name__, (low, high)) != (low, high):
                this, that = (Dim._readable(root.__name__, *b) for b in (bounds[root.__name__], (low, high)))
                raise _invalid(
                    f"Found different definitions {this} and {that} for the same symbolic dimension {d}!", None
                )
            if isinstance(d, _DerivedDim):
                derived.append((d, int(leaf.shape[i])))
            else:
                _name(found, root, int(leaf.shape[i]), found.source(place, i))
    for d, size in derived:
        if d.root.__name__ not in found.named:
            x = sympy.Symbol("x", integer=True)
            solved = try_solve(sympy.Eq(d.fn(x), size), x)
            value = solved[1] if solved is not None else sympy.Rational(1, 2)
            if not value.is_Integer:
                raise UserError(
                    UserErrorType.CONSTRAINT_VIOLATION,
                    f"Expected shape {size} of input Tensor to be of the form {d.__name__}, where "
                    f"{d.root.__name__} is an integer",
                )
            _name(found, d.root, int(value), Source(d.root.__name__), phantom=True)


def _name(found, root, size, source, phantom=False):
    name = root.__name__
    if name not in found.named:
        if not root.min <= size <= root.max:
            raise ConstraintViolationError(f"{size} not in range [{root.min}, {root.max}]")
        env = found.env
        symbol = env.create_symbol(size, source, DimDynamic.DYNAMIC)
        if symbol.is_Symbol:
            env.constrain_symbol_range(symbol, root.min, root.max)
        found.named[name] = symbol, root, [] if phantom else [source]
        return
    symbol, _, sources = found.named[name]
    if found.env.size_hint(symbol) != size:
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION,
            f"Expected input {source.name} to be equal to {name}, where {name} = {found.env.size_hint(symbol)}, "
            f"but got {size}",
        )
    sources.append(source)
    if symbol.is_Symbol:
        found.env.var_to_sources[symbol].append(source)


def _context(found, path, place, tensor, spec):
    context = StatelessSymbolicContext([DimDynamic.STATIC] * tensor.dim())
    context.given = {}
    for i, d in enumerate(spec):
        size, source = int(tensor.shape[i]), found.source(place, i)
        if isinstance(d, Dim):
            symbol = found.named[d.root.__name__][0]
            expr = d.fn(symbol)
            if found.env.size_hint(expr) != size:
                raise UserError(
                    UserErrorType.CONSTRAINT_VIOLATION,
                    f"Expected input {source.name} to be equal to {d.__name__}, where {d.root.__name__} = "
                    f"{found.env.size_hint(symbol)}, but got {size}",
                )
            context.given[i] = expr
        elif isinstance(d, _DimHint) and d.type is not _DimHintType.STATIC:
            if size in (0, 1) and d.type is _DimHintType.AUTO:
                continue
            context.given[i] = found.env.create_symbol(size, source, DimDynamic.DYNAMIC)
            _note_hint(found, source, context.given[i], d, f"inputs{keystr(path)}.shape[{i}]", size)
        elif type(d) is int and d != size:
            raise _invalid(
                f"Static shape constraint of {d} does not match input size of {size}, for {source.name}", None
            )
    return context


def _note_hint(found, source, expr, hint, place, size):
    found.hints.append((source, expr, hint, place, size))
    if expr.is_Symbol and (hint.min is not None or hint.max is not None):
        try:
            found.env.constrain_symbol_range(expr, hint.min, hint.max)
        except ValueRangeError:
            raise ValueError(
                "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n"
                f"- Received user-specified {hint.min, hint.max}, but export inferred {size} for {place}."
            ) from None


# ------------------------------------------------------------------------------------------------ violations
class _BySource(PythonPrinter):
    """Writes an expression with the sources of its symbols."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def _print_Symbol(self, expr):
        return self.names.get(expr, str(expr))


def written(expr, names):
    """Return an expression as Python code, with {symbol: code} for its symbols."""
    return _BySource(names).doprint(expr)


def check_constraints(found):
    """Raise PyTorch's errors if the trace fixed or related sizes that were declared dynamic."""
    env, errors, fixes, culprits = found.env, [], [], []
    sources = {s: source[0].name for s, source in env.var_to_sources.items() if source}
    names = {symbol: name for name, (symbol, _, _) in found.named.items()}
    for name, (symbol, dim, places) in found.named.items():
        _check_named(found, name, symbol, dim, places, names, sources, errors, fixes, culprits)
    conflicts = []
    for source, expr, hint, place, size in found.hints:
        if hint.type is not _DimHintType.DYNAMIC:
            continue
        if not expr.free_symbols:
            conflicts.append(
                f"- Received user-specified dim hint Dim.DYNAMIC(min={hint.min}, max={hint.max}), but export 0/1 "
                f"specialized due to hint of {size} for dimension {place}."
            )
        elif not env.replace(expr).free_symbols:
            errors.append(_fixed(source.name, env.replace(expr)))
            culprits.append(source.name)
    if errors:
        text = f"Constraints violated ({', '.join(dict.fromkeys(culprits))})! "
        text += 'For more information, run with TORCH_LOGS="+dynamic".\n' + "\n".join(errors)
        text += "\nSuggested fixes:\n" + "\n".join(fixes) if fixes else ""
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, text)
    if conflicts:
        raise ValueError(
            "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n"
            + "\n".join(conflicts)
        )


def _fixed(name, value):
    return (
        f"  - You marked {name} as dynamic but your code specialized it to be a constant ({value}). If you're using "
        "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with "
        "either Dim.STATIC or Dim.AUTO."
    )


def _check_named(found, name, symbol, dim, places, names, sources, errors, fixes, culprits):
    env, expr = found.env, found.env.replace(symbol)
    where = places[0].name if places else name
    before = len(errors)
    if not expr.free_symbols:
        errors += [_fixed(name, expr)] * max(len(places), 1)
        fixes.append(f"  {name} = {expr}")
    elif expr != symbol and expr.free_symbols <= names.keys():
        others = {s: names[s] for s in expr.free_symbols}
        first = next(iter(expr.free_symbols))
        text, other = written(expr, others), f"{names[first]} = {sources.get(first, names[first])}"
        relation = "be equal" if expr.is_Symbol else f"be related to the values of {other} by {name} = {text}"
        beside = f" and {other}" if expr.is_Symbol else ""
        errors.append(f"  - The values of {name} = {where}{beside} must always {relation}.")
        fixes.append(f"  {name} = {text}")
    else:
        _check_range(env, name, symbol, dim, where, errors, fixes)
        _check_guards(env, name, symbol, dim, where, sources, errors)
    if len(errors) > before:
        culprits.append(name)


def _spoken_range(name, dim):
    low, high = (dim.min if dim.min > 2 else None), (None if dim.max == int_oo else dim.max)
    if low is None and high is None:
        return ""
    return " " + (f"{low} <= " if low is not None else "") + name + (f" <= {high}" if high is not None else "")


def _check_range(env, name, symbol, dim, where, errors, fixes):
    r = env.var_to_range[symbol]
    if r.lower <= max(dim.min, 2) and r.upper >= dim.max:
        return
    errors.append(
        f"  - Not all values of {name} = {where} in the specified range{_spoken_range(name, dim)} satisfy the "
        f"generated guard {r.lower} <= {where} and {where} <= {'IntInfinity()' if r.upper == int_oo else r.upper}"
    )
    bounds = [f"min={r.lower}"] * bool(r.lower > 2) + [f"max={r.upper}"] * bool(r.upper != int_oo)
    fixes.append(f"  {name} = Dim({', '.join([repr(name), *bounds])})")


def _check_guards(env, name, symbol, dim, where, sources, errors):
    for guard in env.get_nontrivial_guards():
        if guard.free_symbols == {symbol} and not env.implied_by_ranges(guard):
            errors.append(
                f"  - Not all values of {name} = {where} in the specified range{_spoken_range(name, dim)} satisfy the "
                f"generated guard {written(guard, sources)}."
            )


# ------------------------------------------------------------------------------------------------ builders
class ShapesCollection:
    """Specifications of tensors by the tensors themselves: ``shapes[tensor] = {0: Dim.AUTO}``."""

    def __init__(self):
        self._shapes = {}

    def __setitem__(self, t, shape):
        if not isinstance(t, (torch.Tensor, _IntWrapper)):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-_IntWrapper type {type(t)}")
        if id(t) in self._shapes and self._shapes[id(t)] != shape:
            raise AssertionError(f"Shapes assigned to input do not match: expected {self._shapes[id(t)]}, got {shape}")
        self._shapes[id(t)] = shape

    def __getitem__(self, t):
        return self._shapes.setdefault(id(t), {})

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """Return the specifications in the structure of a call's arguments."""
        used = set()

        def of(leaf):
            used.add(id(leaf))
            return self._shapes.get(id(leaf))

        found = map_leaves(of, dict(combined_args(m, args, kwargs)))
        if not self._shapes.keys() <= used:
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when "
                "passing them as args? "
                "Maybe such tensors are contained in classes that were not registered with pytree?"
            )
        return found


@dataclass
class _IntWrapper:
    """An int argument with an identity of its own."""

    val: int
    dynamism: object = field(init=False, default=None)


def map_leaves(f, tree, *others):
    """Apply a function to the leaves of nested arguments; a container of a registered class becomes a list."""
    children = _children(tree)
    if children is None:
        return f(tree, *others)
    rests = [[v for _, v in _children(o)] for o in others]
    found = [map_leaves(f, child, *(r[i] for r in rests)) for i, (_, child) in enumerate(children)]
    if isinstance(tree, dict) and _get_node_type(tree) in BUILTIN_TYPES:
        return {key.key: v for (key, _), v in zip(children, found)}
    return tuple(found) if type(tree) is tuple else found


class AdditionalInputs:
    """Specifications from several example calls: sizes that differ between them are dynamic."""

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """Add the arguments of another call."""
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m, args, kwargs=None):
        """Return the specifications in the structure of a call's arguments."""
        first, *rest = (dict(combined_args(m, *call)) for call in [(args, kwargs), *self._examples])
        return map_leaves(_dynamism, first, *rest)

    def verify(self, ep):
        """Raise an error unless an exported program takes the additional arguments."""
        module = ep.module()
        for args, kwargs in self._examples:
            module.check_inputs(args, kwargs or {})


def _dynamism(value, *others):
    if not all(type(o) is type(value) for o in others):
        raise ValueError(
            "The following inputs were found to have differing types, so they cannot be marked as dynamic: "
            f"{(value, *others)}."
        )
    if isinstance(value, torch.Tensor):
        sizes = zip(*(tuple(t.shape) for t in (value, *others)))
        return tuple(None if len(set(s)) == 1 else Dim.DYNAMIC for s in sizes)
    if all(o == value for o in others):
        return None
    if type(value) is int:
        return Dim.DYNAMIC
    raise ValueError(
        "The following inputs were found to have differing values, but they cannot be marked as dynamic: "
        f"{(value, *others)}."
    )


def refine_dynamic_shapes_from_suggested_fixes(msg, dynamic_shapes):
    """Return specifications with the changes that the text of a constraint violation suggests."""
    fixes = {}
    for line in msg.split("Suggested fixes:")[1].splitlines():
        name, _, text = line.strip().partition(" = ")
        if text:
            fixes[name] = text

    def fixed(d):
        if not isinstance(d, Dim) or d.__name__ not in fixes:
            return d
        text = fixes[d.__name__]
        if text.lstrip("-").isdigit():
            return int(text)
        given = {n: Dim(n) for n in fixes if n not in (d.__name__,)}
        expr = sympy.sympify(text) if not text.startswith("Dim(") else None
        if expr is None:
            return eval(text.replace("max=oo", "max=None"), {"Dim": Dim, "__builtins__": {}})
        (symbol,) = expr.free_symbols
        root = given.get(symbol.name) or Dim(symbol.name)
        coefficient, offset = expr.coeff(symbol), expr.subs(symbol, 0)
        return root if expr == symbol else root * int(coefficient) + int(offset)

    def walk(spec):
        if isinstance(spec, dict):
            return {k: walk(v) for k, v in spec.items()}
        return type(spec)(map(walk, spec)) if isinstance(spec, (tuple, list)) else fixed(spec)

    return walk(dynamic_shapes)


def ranges(found, fakes, used):
    """Return {expression: its range} of the symbols that a graph uses and of sizes derived from them."""
    env, declared = found.env, {}
    for symbol, dim, _ in found.named.values():  # a lower bound of 2 is a convention of the trace
        if symbol in used and env.var_to_range[symbol].lower == 2:
            declared[symbol] = ValueRanges(dim.min, env.var_to_range[symbol].upper)
    known = {**env.var_to_range, **declared}
    sizes = [n for t in fakes for n in (t.shape if isinstance(t, torch.Tensor) else (t,))]
    exprs = [env.replace(n.node._expr) for n in sizes if isinstance(n, torch.SymInt)]
    order = [s for s in used if not env.var_to_sources.get(s)] + exprs + list(used)
    return {e: known[e] if e in known else bound_sympy(e, known) for e in dict.fromkeys(order) if e.free_symbols}


__all__ += ["RelaxedUnspecConstraint", "ValueRanges"]
