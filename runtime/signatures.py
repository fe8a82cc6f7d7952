"""Functions with several signatures in PyTorch, and the TypeError that lists them where none matches."""

import functools

from .arguments import spoken
from .aten import schemas
from .registry import OPERATORS
from .tensor import type_name

# the parameters that every function making a new tensor has; PyTorch counts them as one parameter
_OPTIONS = (
    "torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False"
)
_OF_OPTIONS = frozenset(("dtype", "layout", "device", "pin_memory"))
_IN_OPTIONS = _OF_OPTIONS | {"requires_grad"}
_OUT, _OUTS = "Tensor out = None", "tuple of Tensors out = None"

# methods that PyTorch binds by hand, so that their signatures do not follow from the schemas
_BY_HAND = """
copy_(Tensor other, bool non_blocking = False)
cuda(torch.device device = None, bool non_blocking = False, *, FORMAT)
ipu(torch.device device = None, bool non_blocking = False, *, FORMAT)
mtia(torch.device device = None, bool non_blocking = False, *, FORMAT)
new(*, torch.device device = None)
new(torch.Storage storage)
new(Tensor other)
new(tuple of ints size, *, torch.device device = None)
new(object data, *, torch.device device = None)
nonzero()
nonzero(*, bool as_tuple)
to(torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, FORMAT)
to(torch.dtype dtype, bool non_blocking = False, bool copy = False, *, FORMAT)
to(Tensor tensor, bool non_blocking = False, bool copy = False, *, FORMAT)
type(object dtype = None, bool non_blocking = False, *, FORMAT)
xpu(torch.device device = None, bool non_blocking = False, *, FORMAT)
""".replace("FORMAT", "torch.memory_format memory_format = None")
# functions with several overloads to which PyTorch gives one signature, most of them in Python, or binds by hand
_NOT_BY_SCHEMA = frozenset(
    """atleast_1d atleast_2d atleast_3d is_contiguous meshgrid norm quantized_gru quantized_lstm range size
    sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor
    split stft stride""".split()
)


def _default(a):
    """Return a default as PyTorch's error messages write it."""
    text = a.default_text
    if text is None:
        return ""
    if a.name == "reduction" and text in ("1", "Mean"):
        return " = at::Reduction::Mean"
    if text[0] == "[":
        numbers = text[1:-1].replace(" ", "").split(",")
        text = "None" if text == "[]" else numbers[0] if len({*numbers}) == 1 else "{" + ",".join(numbers) + "}"
    elif text[0] == "'":
        text = f'"{text[1:-1]}"'
    elif text[-1] == ".":  # as PyTorch's declarations write it: 1 and 10.0
        text = "1" if text == "1." else text + "0"
    return f" = {text}"


def _is_self(a):
    return a.name == "self" and a.is_tensor and not a.list


def _parameter(a):
    return f"{spoken(a)} {'input' if _is_self(a) else a.name}{_default(a)}"


def _given(schema):
    return [a for a in schema.arguments if not a.is_out]


def parameters(schema, method, outs=None):
    """Return the parameters of the Python function, or method, of an overload. outs: the outputs of its out= form."""
    given = [a for a in _given(schema) if not (method and _is_self(a))]
    makes = _OF_OPTIONS <= {a.name for a in given}
    named = [_parameter(a) for a in given if a.kwarg_only and not (makes and a.name in _IN_OPTIONS)]
    if outs and not method:
        named.append(_OUT if len(outs) == 1 else _OUTS)
    if makes:
        named.append(_OPTIONS)
    return [*(_parameter(a) for a in given if not a.kwarg_only), *(["*"] if named else []), *named]


def _text_in_c(schema):
    """Return the parameters with their C++ types, the text by which PyTorch sorts overloads."""
    found, starred = [], False
    for a in _given(schema):
        found += ["*"] if a.kwarg_only and not starred else []
        starred = starred or a.kwarg_only
        base, bracket, rest = a.declared.partition("[")
        type_ = _IN_C[bool(bracket)].get(base.rstrip("?"), base)
        default = "" if a.required else f"={a.default_text}"
        found.append(f"{type_}{(bracket + rest).replace('[]', '')} {'input' if _is_self(a) else a.name}{default}")
    return ", ".join(found)


_IN_C = (
    {"int": "int64_t", "float": "double", "str": "c10::string_view"},
    {"int": "IntArrayRef", "SymInt": "SymIntArrayRef", "Tensor": "TensorList", "Scalar": "ScalarList"},
)
# (type, other): an overload with the first type is tried after one with the other type at the same position
_BEHIND = {
    ("Scalar", "Tensor"),
    ("Scalar?", "Tensor?"),
    ("int", "Tensor"),
    ("SymInt", "Tensor"),
    ("int[]", "int"),
    ("int[]", "int?"),
}


def _is_behind(schema, other):
    """Whether an overload has to be tried after another one: _BEHIND orders some parameters so, the rest are equal."""
    types, others = [a.declared for a in _given(schema)], [a.declared for a in _given(other)]
    behind = [t == o or (t, o) in _BEHIND or t == "Tensor[]" and "[]" in o for t, o in zip(types, others)]
    return len(types) == len(others) and types != others and all(behind)


def _in_order(overloads):
    """Sort overloads into the order in which PyTorch tries them: each after all those that it is behind."""
    overloads = sorted(overloads, key=_text_in_c)
    waits = [{j for j, o in enumerate(overloads) if _is_behind(s, o)} for s in overloads]
    order = [i for i, behind in enumerate(waits) if not behind]
    for i in order:  # grows during the loop
        for j, behind in enumerate(waits):
            if i in behind:
                behind.discard(i)
                if not behind:
                    order.append(j)
    return [overloads[i] for i in order]


def _signed(schema):
    return tuple((a.name, a.declared) for a in _given(schema) if a.name not in _OF_OPTIONS)


def _is_bound(schema, method):
    """Whether PyTorch's Python binding has an overload.

    Scalar overloads are left out where the tensor overload takes numbers, and methods have no out_dtype.
    """
    name = schema.name.partition("::")[2]
    if schema.generated and not name.endswith("_copy"):
        return False
    if schema.overload_name == "Scalar" and any(s.numbers for s in schemas(name)):
        return False
    return not (method and any(a.name == "out_dtype" for a in schema.arguments))


@functools.cache
def signatures(name, method):
    """Return the signatures of a function or method, each a list of parameters with "*" among them.

    Return None where PyTorch has only one.
    """
    if method and (found := _by_hand().get(name)) is not None:
        return found
    bare = name.rstrip("_")
    if bare in _NOT_BY_SCHEMA:
        return None
    for known in (name, bare) if method else (name,):
        found = [s for s in schemas(known) if _is_bound(s, method)]
        outs = {_signed(s): s.outs for s in found if s.outs}
        overloads = [s for s in found if not s.outs and not (method and not any(map(_is_self, s.arguments)))]
        if len(overloads) > 1 or overloads and _has_old_order(bare):
            return [parameters(s, method, outs.get(_signed(s))) for s in _in_order(overloads)]
    return None


def _has_old_order(name):
    """Whether PyTorch also has a deprecated signature of a function, which its error message does not list."""
    return any(o.options.numbers_between for o in OPERATORS.get("torch", {}).get(name, ()))


@functools.cache
def _by_hand():
    found = {}
    for line in _BY_HAND.split("\n")[1:-1]:
        name, _, parameters = line[:-1].partition("(")
        found.setdefault(name, []).append([p for p in parameters.split(", ") if p])
    return found


def mismatch(name, method, args, kwargs, otherwise=None):
    """Return PyTorch's TypeError for arguments that match none of several signatures.

    Return None where only one signature accepts as many arguments, because its own error is more specific. args:
    without self for a method. otherwise: the signatures of a function that this module does not know.
    """
    known = signatures(name, method) or otherwise
    n = len(args) + len(kwargs)
    if not known or sum(_takes(s, n) for s in known) == 1:
        return None
    spoken = [f"({', '.join(s)})" for s in known]
    listed = f"expected {spoken[0]}"
    if len(spoken) > 1:
        listed = (
            "expected one of:" + "".join(f"\n * {s}{_reason(k, args, kwargs)}" for s, k in zip(spoken, known)) + "\n"
        )
    given = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()]) + ", " * (
        not args and bool(kwargs)
    )
    return TypeError(f"{name}() received an invalid combination of arguments - got ({given}), but {listed}")


def _reason(parameters, args, kwargs):
    """Return the line that PyTorch adds to a signature with as many entries as there are arguments, else "".

    As in PyTorch, the "*" counts as an entry.
    """
    if len(parameters) != len(args) + len(kwargs):
        return ""
    types, names = [p.rpartition(" ")[0] for p in parameters], [p.rpartition(" ")[2] for p in parameters]
    if unknown := [k for k in kwargs if k not in names[len(args) :]]:
        return f"\n      didn't match because some of the keywords were incorrect: {', '.join(unknown)}"
    given = [*args, *(kwargs[n] for n in names[len(args) :])]
    told = [f"{n}={_type_names(v)}" if i >= len(args) else _type_names(v) for i, (n, v) in enumerate(zip(names, given))]
    marked = [
        t if type_name(v) in _FITTING.get(wanted, (wanted,)) else f"!{t}!" for t, v, wanted in zip(told, given, types)
    ]
    return f"\n      didn't match because some of the arguments have invalid types: ({', '.join(marked)})"


_FITTING = {"float": ("float", "int")}


def _type_names(v):
    """Return the name of a value's class, for a tuple or list with those of its elements."""
    if not isinstance(v, (tuple, list)):
        return type_name(v)
    inner = ", ".join(map(type_name, v))
    return (
        f"{type_name(v)} of [{inner}]" if isinstance(v, list) else f"{type_name(v)} of ({inner}{',' * (len(v) == 1)})"
    )


def _takes(parameters, n):
    named = [p for p in parameters if p != "*"]
    return sum(" = " not in p for p in named) <= n <= len(named)
