"""Execution of TorchScript code as Python code that calls operators by their dispatcher names."""

import ast
import builtins
import linecache
import math
import operator
import typing

import torch
from mindtorch_proxy.runtime import aten
from mindtorch_proxy.runtime.call.tracing import own_operators, run_own

from ._ir import enum_number, from_number

_ENUMS = ("ScalarType", "Layout", "MemoryFormat")


def _has_enum(schema):
    return any(a.declared.rstrip("?") in _ENUMS for a in schema.arguments)


def _converted(schema, args, kwargs):
    """Return the arguments with numbers replaced by dtypes, layouts and memory formats."""
    positional = [from_number(a.declared, v) for a, v in zip(schema.positional, args)]
    return (*positional, *args[len(positional) :]), {
        k: from_number(schema.by_name[k].declared, v) if k in schema.by_name else v for k, v in kwargs.items()
    }


def _with_enums(packet, schemas):
    """Return a function that calls the overload that matches once numbers are converted as it declares."""

    def call(*args, **kwargs):
        for schema in schemas:
            given, named = _converted(schema, args, kwargs)
            if schema.accepts(given, named):
                return packet(*given, **named)
        return packet(*args, **kwargs)

    return call


def _int(v):
    return int(v)


def _format(text, *args):
    return text.format(*args)


def _raise(message, cls=None):
    raise RuntimeError(message)


def _square_root(v):
    return math.sqrt(v) if v >= 0 or v != v else math.nan  # as C gives it, where Python raises


def _logarithm(v):
    return math.log(v) if v > 0 or v != v else math.nan if v else -math.inf


def _exponential(v):
    try:
        return math.exp(v)
    except OverflowError:
        return math.inf


# TorchScript's aten:: functions on values other than tensors
_ON_VALUES = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "div": operator.truediv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "__not__": operator.not_,
    "len": len,
    "__contains__": operator.contains,
    "sqrt": _square_root,
    "ceil": math.ceil,
    "floor": math.floor,
    "log": _logarithm,
    "exp": _exponential,
    "abs": abs,
    "min": min,
    "max": max,
    "ord": ord,
    "chr": chr,
    "copy": lambda v: v.copy(),
    "append": lambda v, e: v.append(e),
    "extend": lambda v, e: v.extend(e),
    "insert": lambda v, i, e: v.insert(i, e),
    "pop": lambda v, *a: v.pop(*a),
    "clear": lambda v: v.clear(),
    "reverse": lambda v: v.reverse(),
    "sort": lambda v, reverse=False: v.sort(reverse=reverse),
    "keys": lambda v: list(v.keys()),
    "values": lambda v: list(v.values()),
    "items": lambda v: list(v.items()),
    "get": lambda v, k, d=None: v.get(k, d),
    "update": lambda v, o: v.update(o),
    "index": lambda v, e: v.index(e),
    "count": lambda v, e: v.count(e),
    "lower": lambda v: v.lower(),
    "upper": lambda v: v.upper(),
    "join": lambda v, e: v.join(e),
    "split": lambda v, *a: v.split(*a),
    "strip": lambda v, *a: v.strip(*a),
    "startswith": lambda v, *a: v.startswith(*a),
    "endswith": lambda v, *a: v.endswith(*a),
    "replace": lambda v, *a: v.replace(*a),
    "sum": sum,
    "all": all,
    "any": any,
    "isinf": math.isinf,
    "isnan": math.isnan,
    "slice": lambda v, start=None, stop=None, step=1: v[start:stop:step],
    "select": lambda v, i: v[i],
}
_ON_ANYTHING = {
    "__getitem__": operator.getitem,
    "_set_item": operator.setitem,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "Int": _int,
    "Float": float,
    "Bool": bool,
    "IntImplicit": _int,
    "FloatImplicit": float,
    "ScalarImplicit": lambda t: t.item(),
    "item": lambda t: t.item(),
    "len": len,
    "size": lambda t, dim=None: list(t.shape) if dim is None else t.shape[dim],
    "stride": lambda t, dim=None: list(t.stride()) if dim is None else t.stride(dim),
    "dim": lambda t: t.dim(),
    "numel": lambda t: t.numel(),
    "format": _format,
    "list": list,
    "dict": dict,
    "warn": lambda message, stacklevel=2: __import__("warnings").warn(message, UserWarning, stacklevel=stacklevel + 1),
    "device": torch.device,
    "is_floating_point": lambda t: t.is_floating_point(),
    "is_contiguous": lambda t: t.is_contiguous(),
    "_unwrap_optional": lambda v: v if v is not None else _raise("Unwrapping null optional"),
    "__range_length": lambda lo, hi, step: len(range(lo, hi, step)),
    "manual_seed": torch.manual_seed,
    "tensor": lambda v, *, dtype=None, device=None, requires_grad=False: torch.tensor(
        v, dtype=from_number("ScalarType", dtype), device=device, requires_grad=requires_grad
    ),
}


def _holds_tensor(v):
    return isinstance(v, torch.Tensor) or isinstance(v, (list, tuple)) and any(isinstance(e, torch.Tensor) for e in v)


class _Aten:
    """The object named torch in TorchScript code."""

    def __init__(self):
        self._made = {}

    def __getattr__(self, name):
        if name in _ON_ANYTHING:
            made = _ON_ANYTHING[name]
        else:
            packet = getattr(torch.ops.aten, name, None)
            on_values = _ON_VALUES.get(name)
            if packet is None and on_values is None:
                raise AttributeError(f"TorchScript's aten::{name} is not supported")
            enums = [s for s in aten.schemas(name) if _has_enum(s) and not s.outs]
            call = _with_enums(packet, [s for s in aten.schemas(name) if not s.outs]) if enums else packet
            made = _either(call, on_values) if on_values else call
        setattr(self, name, made)
        return made


def _either(call, on_values):
    def run(*args, **kwargs):
        if call is not None and any(map(_holds_tensor, args)):
            return call(*args, **kwargs)
        return on_values(*args, **kwargs)

    return run


class _Prim:
    """The object ops.prim: primitives of TorchScript itself."""

    NumToTensor = staticmethod(lambda v: torch.tensor(v))
    min, max, abs = staticmethod(min), staticmethod(max), staticmethod(abs)
    dtype = staticmethod(lambda t: _dtype_number(t))
    device = staticmethod(lambda t: t.device)
    layout = staticmethod(lambda t: 0)
    is_cuda = staticmethod(lambda t: t.is_cuda)
    data = staticmethod(lambda t: t.data)
    requires_grad = staticmethod(lambda t: t.requires_grad)
    grad = staticmethod(lambda t: t.grad)
    unchecked_cast = staticmethod(lambda kind, v: v)
    unchecked_unwrap_optional = staticmethod(lambda v: v)
    RaiseException = staticmethod(_raise)
    Print = staticmethod(print)
    rangelist = staticmethod(lambda n: list(range(n)))
    shape = staticmethod(lambda t: list(t.shape))
    itemsize = staticmethod(lambda t: t.itemsize)
    TupleIndex = staticmethod(operator.getitem)


def _dtype_number(t):
    return enum_number(t.dtype)


class _Own:
    """The object ops.mindtorch: operators that PyTorch does not have."""

    def __getattr__(self, name):
        args = own_operators()[name.removesuffix("_")].schema.arguments
        return lambda *values: run_own(name, [from_number(a.base, v) for a, v in zip(args, values)])


class _Ops:
    """The object named ops in TorchScript code."""

    prim, mindtorch = _Prim, _Own()

    def __getattr__(self, name):
        return ATEN if name == "aten" else getattr(torch.ops, name)


ATEN = _Aten()


class _Plain(ast.NodeTransformer):
    """Removes types from code: annotations, annotate(T, x) and unchecked_cast(T, x)."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in ("annotate", "unchecked_cast") and len(node.args) == 2:
            return node.args[1]
        if name == "uninitialized":
            return ast.copy_location(ast.Constant(None), node)
        if name == "int" and len(node.args) == 1:
            return node
        return node

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns = None
        for a in node.args.args:
            a.annotation = None
        return node


_NAMES = {
    **{
        n: getattr(builtins, n)
        for n in "int float bool str complex len range getattr print isinstance ord chr abs min max".split()
    },
    **{n: getattr(typing, n) for n in "List Dict Optional Tuple Any Union".split()},
    "Tensor": torch.Tensor,
    "Device": torch.device,
    "inf": math.inf,
    "nan": math.nan,
    "Exception": RuntimeError,
    "AssertionError": AssertionError,
}


def function_of(node, name, constants, namespace):
    """Compile the syntax tree of a method to a Python function; ``namespace`` is the object named __torch__."""
    tree = ast.Module([_Plain().visit(node)], [])
    ast.fix_missing_locations(tree)
    names = {"__builtins__": {}, **_NAMES, "torch": ATEN, "ops": _Ops(), "CONSTANTS": constants, "__torch__": namespace}
    text, file = ast.unparse(tree), f"<torch.jit {name} {id(node):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(ast.parse(text), file, "exec"), names)  # noqa: S102
    return names[node.name]


def parsed(text):
    """Return the definitions in TorchScript source."""
    return ast.parse(text).body
