"""The public functions of operators: torch.f, Tensor.f and Tensor.f_, generated when they are first accessed.

A public function binds by Python's own rules and converts numbers. A call with direct classes and without modes goes
straight to the operator's call (pipeline.py), any other through overrides.py. Several schemas of one name share a
function that uses the first that fits.
"""

import inspect
import types
from typing import Optional

from ...tracebacks import shorten
from .. import dtypes as dt
from .. import registry
from ..arguments import NUMPY_NAMES, bind
from ..classes import direct
from ..codegen import Source
from ..context import PROCESS
from ..device import device, layout, memory_format
from ..generator import Generator
from ..tensor import Tensor
from .bind import (
    REQUIRED,
    as_dtype,
    as_float,
    as_int,
    as_ints,
    as_scalar,
    as_sizes,
    check_tensors,
    direct_list,
    expect,
    fail,
    no_overload,
    python_number,
    varargs,
    with_deprecated,
    with_numpy_names,
)
from .inplace import inplace
from .out import Out, led_dtype, out_dtype, with_out
from .overrides import NO_OUT, NOT_TAKEN, run_overridden
from .return_types import result_class


def make(ns, name):
    """Return the function of a namespace, or None.

    It is built from every operator of the name that has one, in the order of their declarations.
    """
    torch, own = registry.OPERATORS.get("torch", {}), registry.OPERATORS.get(ns, {})
    if ns == "Tensor":
        group = lambda name: [o for o in (*own.get(name, ()), *torch.get(name, ())) if o.is_method]  # noqa: E731
    else:
        group = lambda name: [o for o in own.get(name, ()) if o.is_function]  # noqa: E731
    if ops := group(name):
        return _build(ops, name, ns, "method" if ns == "Tensor" else "function")
    if name[-1:] != "_" or name[-2:] == "__":
        return None
    ops = [
        o
        for o in group(name[:-1])
        if o.is_inplace
        and (ns != "torch" or o.options.inplace_function is True or name in (o.options.inplace_function or ()))
    ]
    return _build(ops, name, ns, "inplace" if ns == "Tensor" else "inplace_function") if ops else None


def names(ns):
    """Return the names that a namespace can provide."""
    found = registry.provided(ns)
    spaces = (
        (registry.OPERATORS.get(ns, {}), registry.OPERATORS.get("torch", {}))
        if ns == "Tensor"
        else (registry.OPERATORS.get(ns, {}),)
    )
    for name, ops in (item for space in spaces for item in space.items()):
        if ns != "Tensor":
            found |= {name} if any(o.is_function for o in ops) else set()
        elif methods := [o for o in ops if o.is_method]:
            found |= {name, name + "_"} if any(o.is_inplace for o in methods) else {name}
    return found


registry.made_by(make, names)


def _module(ops, ns):
    return (
        "torch.functional"
        if ns == "torch" and ops[0].python
        else "torch"
        if ns in ("torch", "Tensor")
        else "torch." + ns
    )


def _build(ops, name, ns, kind):
    parts = [_write(o, name, kind) for o in ops]
    f = parts[0] if len(ops) == 1 else _overloaded(ops, parts, name, kind)
    for function in {f, *parts}:
        function.__name__ = name
        function.__module__ = _module(ops, ns)
    f.__qualname__ = ("Tensor." if ns == "Tensor" else "") + name
    f.__doc__ = "\n".join(o.schema.text for o in ops) + (
        "" if len(ops) > 1 or ops[0].fn is None else "\n\n" + (ops[0].fn.__doc__ or "")
    )
    return f


# ------------------------------------------------------------------------------------------------ one schema
_NAMES = {
    "as_dtype": as_dtype,
    "as_sizes": as_sizes,
    "dtype_class": dt.dtype,
    "NOT_TAKEN": NOT_TAKEN,
    "NO_OUT": NO_OUT,
    "PROCESS": PROCESS,
    "generator": Generator,
    "layout": layout,
    "memory_format": memory_format,
    "expect": expect,
    "as_float": as_float,
    "as_int": as_int,
    "as_ints": as_ints,
    "as_scalar": as_scalar,
    "check_int64": dt.check_int64,
    "check_scalar": dt.check_scalar,
    "check_tensors": check_tensors,
    "direct": direct,
    "device_class": device,
    "direct_list": direct_list,
    "direct_or_none": direct.with_none,
    "direct_or_number": direct.with_numbers,
    "fail": fail,
    "write_into": inplace,
    "numbers": direct.numbers,
    "led_dtype": led_dtype,
    "out_dtype": out_dtype,
    "overridden": run_overridden,
    "python_number": python_number,
    "varargs": varargs,
    "with_deprecated": with_deprecated,
    "with_numpy_names": with_numpy_names,
    "with_out": with_out,
}
_DIRECT = {
    "Tensor": "direct",
    "Tensor?": "direct_or_none",
    "Tensor|Scalar": "direct_or_number",
    "Tensor|Scalar?": "direct_or_number",
}
_CONVERSIONS = {  # base type -> (class that needs no conversion, or a set of them, conversion)
    "int": ("is not int", "as_int({})"),
    "Scalar": ("not in numbers", "as_scalar({})"),
    "float": ("is not float", "as_float({})"),
    "ScalarType": ("is not dtype_class", "as_dtype({})"),
}


class _Signature:
    """A schema's arguments in Python: names, parameters of the generated function, and those that inspect shows."""

    def __init__(self, op, kind):
        self.args, self.method = op.schema.arguments, kind in ("method", "inplace")
        self.python, self.single = (
            op.python and kind == "function",
            [r.declared for r in op.schema.returns] == ["Tensor"],
        )
        tensors = op.schema.tensor_args
        # torch.f(x, sizes): no star; torch.f(*tensors), x.f(*sizes): one
        starred = (
            op.options.varargs
            if self.method or not tensors or self.args[tensors[0]].name == op.options.varargs
            else None
        )
        self.names = [a.keyword if self.method or i or a.name != "self" else "input" for i, a in enumerate(self.args)]
        self.starred = next((i for i, a in enumerate(self.args) if a.name == starred), None)
        self.out = kind == "function" and op.takes_out
        self.more = bool(op.options.numbers_between)
        self.numpy_names = not op.python and any(a.name in NUMPY_NAMES for a in self.args[self.method :])

    def parameters(self, defaults):
        """Return the parameter list, and add the default values to `defaults` as d0, d1, ..."""
        found, keywords = [], False
        for i, (name, a) in enumerate(zip(self.names, self.args)):
            if i == self.starred:
                found += [f"*{name}_", f"{name}=REQUIRED"]
                keywords = True
                continue
            if a.kwarg_only and not keywords:
                found.append("*more" if self.more else "*")
                keywords = True
            if not a.required:
                defaults[f"d{i}"] = a.default
            # fail() reports it later if it is missing, since it may be given under NumPy's name
            late = self.numpy_names and not (self.method and i == 0) or keywords and self.starred is not None
            found.append(name + (f"=d{i}" if not a.required else "=REQUIRED" if late else ""))
        found += ([] if keywords else ["*"]) + ["out=None"] if self.out else []
        return ", ".join(found + ["**numpy_names"] * self.numpy_names)

    def inspected(self):
        P = inspect.Parameter
        found, keywords = [], False
        for i, (name, a) in enumerate(zip(self.names, self.args)):
            kind = (
                P.VAR_POSITIONAL
                if i == self.starred
                else P.KEYWORD_ONLY
                if keywords or a.kwarg_only
                else P.POSITIONAL_OR_KEYWORD
            )
            keywords = keywords or kind is not P.POSITIONAL_OR_KEYWORD
            default = P.empty if a.required or kind is P.VAR_POSITIONAL else a.default
            found.append(P(name, kind, default=default, annotation=_annotation(a) if self.python else P.empty))
        if self.out:
            found.append(
                P("out", P.KEYWORD_ONLY, default=None, annotation=Optional[Tensor] if self.python else P.empty)
            )
        try:
            return inspect.Signature(found, return_annotation=Tensor if self.python and self.single else P.empty)
        except ValueError:  # PyTorch has required arguments behind optional ones
            return inspect.Signature(
                [p.replace(default=P.empty) if p.kind is P.POSITIONAL_OR_KEYWORD else p for p in found]
            )


_ANNOTATIONS = {
    "Tensor": Tensor,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "Scalar": float,
    "ScalarType": int,
}


def _annotation(a):
    """Return the annotation of an argument in those PyTorch functions that are written in Python."""
    kind = _ANNOTATIONS.get(a.base.rstrip("?"))
    if kind is None:
        return inspect.Parameter.empty
    kind = types.GenericAlias(list, kind) if a.list else kind
    return Optional[kind] if a.optional else kind  # type: ignore[valid-type]


def _may_be_none(a, strict):
    """Whether None is allowed for a list that is empty by default, as in PyTorch's own argument parser."""
    return strict and not a.optional and not a.required and a.default == ()


_EXPECTED = {
    "bool": "bool",
    "str": "str",
    "Device": "device_class",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "generator",
}


def _conversion(name, a, i, strict):
    """Return the source lines that convert an argument that is not a tensor.

    strict: or that refuse it, as PyTorch's own argument parser does.
    """
    base = a.base.rstrip("?")
    if strict and base in _EXPECTED and not a.list:
        optional = f" and {name} is not None" if a.optional else ""
        return [f"if {name}.__class__ is not {_EXPECTED[base]}{optional}:", f"    expect(op, {i}, {name})"]
    if a.list:
        guard = f"if {name} is not None:" if a.optional or _may_be_none(a, strict) else "if True:"
        convert = "as_sizes({})" if strict and a.N is None else f"as_ints({{}}, {a.N!r})"
        lines = [guard, f"    {name} = {convert.format(name)}"] if base == "int" else []
        return [*lines, "else:", f"    {name} = d{i}"] if lines and _may_be_none(a, strict) else lines
    if base not in _CONVERSIONS:
        return []
    test, convert = _CONVERSIONS[base]
    optional = f" and {name} is not None" if a.optional else ""
    lines = [f"if {name}.__class__ {test}{optional}:", f"    {name} = {convert.format(name)}"]
    if base == "Scalar":
        # here too, so that what fits, such as an alpha of 1, costs no call
        lines += [f"if {name}.__class__ is int and not -(2**63) <= {name} < 2**64:", f"    check_scalar({name})"]
    elif base == "int" and not a.name.startswith("dim"):  # dimensions beyond int64 are out of range anyway
        lines += [f"if {name}.__class__ is int and not -(2**63) <= {name} < 2**63:", f"    check_int64({name})"]
    return lines


def _indirect(name, a):
    """Return the condition under which a tensor argument rules out the direct call."""
    if a.list:
        return f"not direct_list({name})"
    return f"{name}.__class__ not in {_DIRECT[a.declared]}" + (
        f" and {name} is not None" if a.declared == "Tensor|Scalar?" else ""
    )


def _write(op, name, kind):
    """Generate the Python function of one schema."""
    signature, is_inplace = _Signature(op, kind), kind.startswith("inplace")
    names, method = signature.names, signature.method
    result, defaults = result_class(op), {}
    source = Source(name, signature.parameters(defaults), **_NAMES, **defaults, op=op, REQUIRED=REQUIRED, result=result)
    given, star = f"({', '.join(names)},)" if names else "()", ""
    out = ", out" if signature.out else ""
    if signature.numpy_names:
        source.names["python_names"] = tuple(names)
        source.add(
            "if numpy_names:", f"    return with_numpy_names(public, op, python_names, {given}, numpy_names{out})"
        )
    if signature.more:
        kwonly = ", ".join(f"{n!r}: {n}" for n, a in zip(names, op.schema.arguments) if a.kwarg_only)
        out_given = ["    if out is not None:", "        named['out'] = out"] if signature.out else []
        first = ", ".join(n for n, a in zip(names, op.schema.arguments) if not a.kwarg_only)
        source.add(
            "if more:",
            f"    named = {{{kwonly}}}",
            *out_given,
            f"    return with_deprecated(public, op, {name!r}, {method}, ({first}, *more), named)",
        )
    if signature.starred is not None:
        n = names[signature.starred]
        star = f", star={n}_"
        source.add(f"{n} = varargs({n}_, {n}, {op.options.varargs!r}, op, {name!r})")
    source.add(*(["run = call"] if not is_inplace else []))
    indirect = [
        _indirect(n, a) if i or not method else f"{n}.__class__ not in direct"
        for i, (n, a) in enumerate(zip(names, op.schema.arguments))
        if a.is_tensor
    ]
    indirect += ["out.__class__ not in direct_or_none"] if signature.out else []
    source.add(f"if {' or '.join(['PROCESS.active', *indirect])}:")
    source.add(
        f"_r = overridden(public, op, {given}, {'out' if signature.out else 'NO_OUT'}, {kind!r}{star})",
        "if _r is not NOT_TAKEN:",
        "    return _r",
        f"check_tensors(op, {given}, {name!r}, {method})",
        *(
            f"{n} = python_number({n})"
            for n, a in zip(names, op.schema.arguments)
            if a.base == "Tensor|Scalar" and not a.list
        ),
        *(["run = op.call"] if not is_inplace else []),
        depth=2,
    )
    source.add("try:")
    for i, (n, a) in enumerate(zip(names, op.schema.arguments)):
        if not a.is_tensor and i != signature.starred:
            source.add(*_conversion(n, a, i, not op.python), depth=2)
    if signature.out and "layout" in names:
        source.add(
            "if out is not None:",
            "    dtype, device = out_dtype(dtype, out), getattr(out, 'device', None) if device is None else device",
            depth=2,
        )
    if is_inplace:
        written = op.options.in_place or op
        source.names["written"] = written
        source.add(
            f"return write_into(written, {names[0]}, ({', '.join(names[: len(written.schema.arguments)])},))", depth=2
        )
    elif signature.out and op.options.out.__class__ is Out and op.options.out.leads:
        source.add("if out is None:", f"    return run({', '.join(names)})", "dtype = led_dtype(dtype, out)", depth=2)
        source.add(f"return with_out(op, run({', '.join(names)}), out, {given})", depth=2)
    else:
        source.add(f"r = run({', '.join(names)})", depth=2)
        if result is not None:
            source.add("r = result(r)", depth=2)
        if signature.out:
            source.add("if out is not None:", f"    return with_out(op, r, out, {given})", depth=2)
        source.add("return r", depth=2)
    source.add("except Exception as error:", f"    fail(error, op, {given}, {name!r}, {method})", "    raise")
    if not is_inplace:
        source.names["call"] = op.make_call()
    f = source.function(f"torch.{name}")
    f.ops = (op,)
    source.names["public"] = f
    f.__signature__ = signature.inspected()
    return f


# ------------------------------------------------------------------------------------------------ several schemas
def _overloaded(ops, parts, name, kind):
    """Return the function for several schemas of one name, which uses the first that the arguments fit."""
    chosen, method = {}, kind in ("method", "inplace")

    def dispatch(*args, **kwargs):
        try:
            # the classes of the arguments nearly always determine which schema fits: it is cached for them, and called
            # with the arguments unchanged
            key = (
                (tuple(map(type, args)), tuple(kwargs), tuple(map(type, kwargs.values())))
                if kwargs
                else tuple(map(type, args))
            )
            p = chosen.get(key)
            if p is not None:
                return p(*args, **kwargs)
            out = kwargs.pop("out", None) if kind == "function" else None
            if PROCESS.active or any(map(_overrides, (*args, *kwargs.values()))):
                r = run_overridden(dispatch, ops, args, out, kind, kwargs)
                if r is not NOT_TAKEN:
                    return r
            for o, p in zip(ops, parts):
                values = bind(o.schema, args, kwargs, method)
                if values is not None:
                    if out is None and "out" not in kwargs and _settled(o, values, args, kwargs):
                        chosen[key] = p
                    return _call_part(o, p, values, out, kind)
            raise no_overload(name, ops, args, kwargs, kind)
        except Exception as error:
            shorten(error)
            raise

    for p in parts:
        p.__globals__["public"] = dispatch
    dispatch.ops = ops
    dispatch.overloads = dict(zip((o.schema.overload_name or "default" for o in ops), parts))
    return dispatch


def _overrides(a):
    return a.__class__ not in direct and (isinstance(a, Tensor) or hasattr(type(a), "__torch_function__"))


_SETTLED = frozenset((Tensor, int, float, bool, str, type(None), dt.dtype))


def _settled(o, values, args, kwargs):
    """Whether the classes of these arguments alone select this overload, and it can be called with them unchanged."""
    for v in (*args, *kwargs.values()):
        if (
            type(v) not in _SETTLED
            and type(v) not in direct
            and not (type(v) in (tuple, list) and v and type(v[0]) is int)
        ):
            return False
    if any(
        isinstance(v, Tensor) and not a.is_tensor or v is None and not a.optional
        for a, v in zip(o.schema.arguments, values)
    ):
        return False
    names, positional = {a.name for a in o.schema.arguments}, sum(not a.kwarg_only for a in o.schema.arguments)
    return all(k in names and k != "self" for k in kwargs) and (
        len(args) <= positional or o.options.varargs is not None
    )


def _call_part(o, p, values, out, kind):
    pos, kw = [], {}
    starred = o.options.varargs
    for i, (a, v) in enumerate(zip(o.schema.arguments, values)):
        if a.kwarg_only or starred and a.name != starred and i or a.name == starred and kind in ("method", "inplace"):
            kw[a.keyword] = v
        else:
            pos.append(v)
    if out is not None:  # last: some schemas name it themselves
        kw["out"] = out
    return p(*pos, **kw)
