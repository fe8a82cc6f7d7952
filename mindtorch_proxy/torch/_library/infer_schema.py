"""Infers the schema of an operator from the annotations of a function."""

import inspect
import typing

import torch

_TYPES = {
    torch.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    torch.dtype: "ScalarType",
    torch.device: "Device",
    torch.types.Number: "Scalar",
}


def _schema_type(annotation, what, signature):
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _TYPES:
        return _TYPES[annotation]
    if type(None) in args and len(args) == 2:
        return _schema_type(next(a for a in args if a is not type(None)), what, signature) + "?"
    if set(args) - {type(None)} == {int, float, bool}:
        return "Scalar?" if type(None) in args else "Scalar"
    if origin in (list, tuple) or getattr(origin, "__name__", "") == "Sequence":
        if origin is tuple and what == "Return":
            return "(" + ", ".join(_schema_type(a, what, signature) for a in args) + ")"
        return _schema_type(args[0], what, signature) + "[]"
    raise ValueError(
        f"infer_schema(func): {what} has unsupported type {annotation}. The valid types are: "
        f"{[getattr(t, '__name__', t) for t in _TYPES]}, lists and optionals of them. "
        f"Got func with signature {signature})"
    )


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """Return the schema ``(arguments) -> results`` of an annotated function.

    mutates_args: the names of the arguments that it mutates, or "unknown".
    """
    signature, hints = inspect.signature(prototype_function), typing.get_type_hints(prototype_function)

    def error(what):
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    parts, starred = [], False
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise error("We do not support positional-only, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        if name not in hints:
            raise error(f"Parameter {name} must have a type annotation.")
        text = _schema_type(hints[name], f"Parameter {name}", signature)
        if (
            mutates_args == "unknown"
            and text.startswith("Tensor")
            or mutates_args != "unknown"
            and name in mutates_args
        ):
            if not text.startswith("Tensor"):
                raise error(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
            text = text.replace("Tensor", f"Tensor(a{i}!)", 1)
        parts.append(f"{text} {name}{_default(p.default, name, error) if p.default is not p.empty else ''}")
    if mutates_args != "unknown" and (unknown := set(mutates_args) - set(signature.parameters)):
        raise error(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if "return" not in hints:
        raise error("No return type annotation was provided. Please add one.")
    result = "()" if hints["return"] in (None, type(None)) else _schema_type(hints["return"], "Return", signature)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def _default(value, name, error):
    if value is None or isinstance(value, (bool, int, float)):
        return f"={value}"
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, (torch.dtype, torch.device)):
        return f"={str(value).removeprefix('torch.')}"
    raise error(
        f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we "
        f"can prioritize this."
    )
