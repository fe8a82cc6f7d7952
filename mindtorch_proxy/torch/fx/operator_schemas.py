"""Signatures of operators, and normalization of call arguments."""

import enum
import inspect
import numbers
import types
import typing
from typing import Any, List, NamedTuple, Optional  # noqa: UP035  (a signature's types are written so)

import torch
from torch._jit_internal import boolean_dispatched
from torch.jit._builtins import _find_builtin

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple
    kwargs: dict


_PYTHON_TYPES = {
    "Tensor": torch.Tensor,
    "Device": torch.device,
    "Generator": torch.Generator,
    "number": numbers.Number,
    "Storage": torch.UntypedStorage,
    "Layout": torch.layout,
    "t": typing.TypeVar("t"),
    **{t.__name__: t for t in (int, float, complex, bool, str)},
    "None": type(None),
    "NoneType": type(None),
}


def _torchscript_type_to_python_type(ts_type):
    """Return the Python type for a type of a schema."""
    if isinstance(ts_type, type):
        return ts_type
    text = str(ts_type)
    if text.startswith("Optional["):
        return Optional[_torchscript_type_to_python_type(text[9:-1])]  # noqa: UP045
    if text.startswith("List["):
        return List[_torchscript_type_to_python_type(text[5:-1])]  # noqa: UP006
    return _PYTHON_TYPES.get(text, Any)


def _torchscript_schema_to_signature(schema):
    """Return the signature of an overload, with the argument self renamed to input."""
    kinds, parameters = inspect.Parameter, []
    for a in schema.arguments:
        name = "input" if a.name == "self" else a.name
        default = a.default_value if a.has_default_value() else kinds.empty
        kind = kinds.KEYWORD_ONLY if a.kwarg_only else kinds.POSITIONAL_OR_KEYWORD
        if name == "from":  # a Python keyword
            kind = kinds.POSITIONAL_ONLY
            parameters = [p.replace(kind=kind) for p in parameters]
        parameters.append(kinds(name, kind, default=default, annotation=_torchscript_type_to_python_type(a.type)))
    returns = [_torchscript_type_to_python_type(a.type) for a in schema.returns]
    result = None if not returns else returns[0] if len(returns) == 1 else tuple(returns)
    required = [p for p in parameters if p.default is kinds.empty or p.kind is kinds.KEYWORD_ONLY]
    if len(required) != len(
        parameters
    ):  # a default may precede an argument without one, so the signature is not validated
        return inspect.Signature(parameters, return_annotation=result, __validate_parameters__=False)
    return inspect.Signature(parameters, return_annotation=result)


def _nonzero_signatures():
    tensor = inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=torch.Tensor)
    flag = inspect.Parameter("as_tuple", inspect.Parameter.KEYWORD_ONLY, annotation=bool)
    return [inspect.Signature([tensor]), inspect.Signature([tensor, flag])]


def _schemas_of(op):
    if isinstance(op, torch._ops.OpOverload):
        return [op._schema]
    if isinstance(op, torch._ops.OpOverloadPacket):
        return [getattr(op, name)._schema for name in op.overloads()]
    name = _find_builtin(op)
    return None if name is None else torch._C._jit_get_schemas_for_operator(name)


def get_signature_for_torch_op(op, return_schemas=False):
    """Return the signatures of a function's overloads, or None if it is not an operator.

    return_schemas: return the schemas too.
    """
    if op is torch.nonzero:
        return (_nonzero_signatures(), None) if return_schemas else _nonzero_signatures()
    schemas = _schemas_of(op)
    if schemas is None:
        return (None, None) if return_schemas else None
    signatures = [_torchscript_schema_to_signature(s) for s in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _bound(signature, args, kwargs):
    """Return the bound arguments, or None if the call does not match the signature."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None


def check_for_mutable_operation(target, args, kwargs):
    """Raise RuntimeError if a call writes to its arguments."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures or not schemas:
        return
    found = [schema for signature, schema in zip(signatures, schemas) if _bound(signature, args, kwargs) is not None]
    if found and all(schema.is_mutable for schema in found):
        raise RuntimeError(
            f"Tried to trace mutable operation {found[0]}. FX records functional code: what writes to its operands, "
            f"or to `out`, has no place in it"
        )


def create_type_hint(x):
    """Return list[T] or tuple[T, ...] for a list or tuple of types.

    T is the common base among them, or Any. A single type is returned unchanged.
    """
    if not isinstance(x, (list, tuple)):
        return x

    def of(element):
        return list[element] if isinstance(x, list) else tuple[element, ...]

    if not x:
        return of(Any)
    base = x[0]
    for t in x:
        if not (inspect.isclass(t) and inspect.isclass(base)):
            return of(Any)
        if issubclass(base, t):
            base = t
        elif not issubclass(t, base):
            return of(Any)
    return of(base)


def _of_classes(signature_type, argument_type):
    """Whether a value of a class may be passed where another class is declared."""
    if signature_type is int and argument_type in (torch.dtype, torch.layout, torch.memory_format):
        return True  # schemas represent these as integers
    if signature_type is numbers.Number and argument_type in (int, float, complex, bool):
        return True
    both = inspect.isclass(signature_type) and inspect.isclass(argument_type)
    plain = not isinstance(signature_type, types.GenericAlias) and not isinstance(argument_type, types.GenericAlias)
    return both and plain and issubclass(argument_type, signature_type)


def type_matches(signature_type, argument_type):
    """Whether a value of one type matches the declaration of another."""
    origin = typing.get_origin(signature_type)
    if signature_type is argument_type or signature_type == argument_type or signature_type is Any:
        return True
    if origin is typing.Union:
        return any(type_matches(t, argument_type) for t in typing.get_args(signature_type))
    if origin is list:
        element, given = typing.get_args(signature_type)[0], typing.get_args(argument_type)
        if typing.get_origin(argument_type) in (list, tuple):
            return all(t is ... or type_matches(element, t) for t in given)
        return element is int and argument_type is int  # a single int is accepted for a list of ints
    return origin is None and _of_classes(signature_type, argument_type)


def _fitting(target, signatures, args, kwargs, arg_types, kwarg_types):
    """Return the only signature that a call matches, by argument names and by types if given."""
    found = [s for s in signatures if _bound(s, args, kwargs) is not None]
    if len(found) > 1 and (arg_types is not None or kwarg_types is not None):
        typed = []
        for s in found:
            given = s.bind(*(arg_types or ()), **(kwarg_types or {})).arguments
            if all(type_matches(s.parameters[name].annotation, t) for name, t in given.items()):
                typed.append(s)
        return typed[0] if typed else None
    if len(found) > 1:
        listed = "\n".join(map(str, found))
        raise RuntimeError(
            f"Tried to normalize arguments to {torch.typename(target)} but the schema match was ambiguous! Please "
            f"provide argument types. Available schemas:\n{listed}"
        )
    return found[0] if found else None


def _in_form(signature, args, kwargs, only_kwargs):
    """Return the arguments with defaults filled in, or None if the signature is variadic.

    Arguments are positional as far as the call passes them positionally.
    """
    kinds = inspect.Parameter
    if any(p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for p in signature.parameters.values()):
        return None
    if list(signature.parameters)[:2] != ["input", "from"] and any(
        p.kind is kinds.POSITIONAL_ONLY for p in signature.parameters.values()
    ):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional, named = [], {}
    for i, (name, p) in enumerate(signature.parameters.items()):
        if only_kwargs or i >= len(args) and p.kind is not kinds.POSITIONAL_ONLY:
            named[name] = bound.arguments[name]
        else:
            positional.append(bound.arguments[name])
    return ArgsKwargsPair(tuple(positional), named)


def _python_signature(target, args, kwargs):
    """Return the signature of a Python function, or None if there is none or the call does not match it."""
    if isinstance(target, types.BuiltinFunctionType) or isinstance(target, type) and issubclass(target, enum.Enum):
        return None
    try:
        signature = _signature_of(target)
    except (ValueError, TypeError):
        return None
    return signature if signature is not None and _bound(signature, args, kwargs) is not None else None


def _signature_of(target):
    """Return the signature of a Python function.

    For a function dispatched on a flag, both variants must have the same one.
    """
    if target in boolean_dispatched:
        first, second = (
            inspect.signature(inspect.unwrap(boolean_dispatched[target][k])) for k in ("if_true", "if_false")
        )
        same = [(n, p.default) for n, p in first.parameters.items()] == [
            (n, p.default) for n, p in second.parameters.items()
        ]
        return first if same else None
    return inspect.signature(inspect.unwrap(target))


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """Return an ArgsKwargsPair with defaults filled in, or None if no single signature matches."""
    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    fitting = _fitting(target, signatures, args, kwargs, arg_types, kwarg_types) if signatures else None
    if (
        fitting is None
        and callable(target)
        and not isinstance(target, (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor)))
    ):
        fitting = _python_signature(target, args, kwargs)
    return fitting and _in_form(fitting, args, kwargs, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """Do the same for the call of a torch.nn submodule; return None for other classes."""
    try:
        submodule = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments to module target {target} but root did not contain that target!"
        ) from error
    if getattr(torch.nn, type(submodule).__name__, None) is not type(submodule):
        return None
    signature = inspect.signature(inspect.unwrap(submodule.forward))
    return _in_form(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
