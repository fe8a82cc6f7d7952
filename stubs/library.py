"""Operators written in Python: schemas, kernels by device, autograd formulas, reachable as torch.ops.NAMESPACE.NAME."""

import functools
import inspect
import re
import typing

import torch

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "infer_schema", "register_autograd", "register_fake", "register_kernel"]
_OPS = {}
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "npu": "PrivateUse1", "meta": "Meta"}
_ANY = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


class _Operator:
    """One operator: its kernels by dispatch key, and how it is differentiated."""

    def __init__(self, namespace, name, schema):
        self.namespace, self.schema = namespace, schema
        self.__name__, _, self.overload = name.partition(".")
        self.kernels, self.fake, self.backward, self.setup_context = {}, None, None, None
        self.default = self
        self.__module__ = f"torch.ops.{namespace}"

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self.__name__}', overload='{self.overload or 'default'}')>"

    def name(self):
        return f"{self.namespace}::{self.__name__}" + (f".{self.overload}" if self.overload else "")

    def overloads(self):
        return [self.overload or "default"]

    def _tensors(self, args, kwargs):
        from .utils._pytree import tree_iter

        return [x for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor)]

    def _kernel(self, tensors):
        device = next((t.device.type for t in tensors if t.device.type != "cpu"), tensors[0].device.type if tensors else "cpu")
        if device == "meta" and self.fake is not None and "Meta" not in self.kernels:
            return self.fake, False
        for key in (_KEYS.get(device, device), *_ANY):
            if key in self.kernels:
                return self.kernels[key], key == "CompositeImplicitAutograd"
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{_KEYS.get(device, device)}' backend: it has kernels for {sorted(self.kernels)}"
        )

    def __call__(self, *args, **kwargs):
        tensors = self._tensors(args, kwargs)
        kernel, implicit = self._kernel(tensors)
        if "Autograd" in self.kernels:
            return self.kernels["Autograd"](*args, **kwargs)
        if implicit or not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return kernel(*args, **kwargs)
        return self._differentiable(kernel, args, kwargs)

    def _differentiable(self, kernel, args, kwargs):
        op = self

        class Formula(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                result = kernel(*args, **kwargs)
                if op.setup_context is not None:
                    names = inspect.signature(op.setup_context).parameters
                    extra = {"keyword_only_inputs": kwargs} if "keyword_only_inputs" in names else {}
                    op.setup_context(ctx=ctx, inputs=args, output=result, **extra)
                return result

            @staticmethod
            def backward(ctx, *grads):
                if op.backward is None:
                    raise RuntimeError(
                        f"Trying to backward through {op.name()} but no autograd formula was registered. Please use register_autograd to add one."
                    )
                return op.backward(ctx, *grads)

        Formula.__name__ = f"GeneratedBackwardFor_{self.namespace}_{self.__name__}"
        return Formula.apply(*args)


def _find(op):
    """The operator of a name, a definition or itself."""
    if isinstance(op, CustomOpDef):
        return op._op
    if isinstance(op, str):
        if op not in _OPS:
            raise RuntimeError(f"operator {op} does not exist: define it first")
        return _OPS[op]
    if not isinstance(op, _Operator):
        raise NotImplementedError(f"torch.library: {op!r} is not an operator defined in Python; PyTorch's own cannot be changed")
    return op


def _define(namespace, name, schema):
    qualname = f"{namespace}::{name}"
    if not re.fullmatch(r"[\w.]+", name):
        raise ValueError(f"{name!r} is no name of an operator")
    op = _OPS[qualname] = _Operator(namespace, name, schema)
    setattr(getattr(torch.ops, namespace), op.__name__, op)
    return op


def _split(qualname):
    namespace, sep, name = qualname.partition("::")
    if not sep:
        raise ValueError(f"Expected `name` to be of the form `namespace::name` but got {qualname}")
    return namespace, name


class Library:
    """Operators of one namespace."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",) or (kind == "DEF" and ns == "aten"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define an operator by its schema ``name(arguments) -> results``; returns the name."""
        name = schema.partition("(")[0].strip()
        _define(self.ns, name, schema[len(name) :].strip())
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Set the kernel for a dispatch key."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else _find(op_name).name()
        _find(f"{self.ns}::{name.rpartition('::')[2]}").kernels[dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"] = fn

    def _register_fake(self, op_name, fn, **kwargs):
        _find(f"{self.ns}::{op_name.rpartition('::')[2]}").fake = fn

    def _destroy(self):
        for name in [n for n in _OPS if n.startswith(f"{self.ns}::")]:
            delattr(getattr(torch.ops, self.ns), _OPS.pop(name).__name__)


def define(qualname, schema, *, lib=None, tags=()):
    """Define ``namespace::name`` with the schema ``(arguments) -> results``."""
    namespace, name = _split(qualname)
    _define(lib.ns if lib else namespace, name, schema)


def _dispatch_keys(types):
    types = (types,) if isinstance(types, str) else types
    return ["CompositeExplicitAutograd" if t == "default" else _KEYS.get(t, t) for t in types]


def impl(qualname, types, func=None, *, lib=None):
    """Set the kernel for types of devices (or "default"); a decorator without ``func``."""
    if isinstance(qualname, Library):  # impl(lib, name, dispatch_key): the older form
        library, name, key = qualname, types, func or ""
        return lambda f: (library.impl(name, f, key), f)[1]
    if func is None:
        return lambda f: impl(qualname, types, f, lib=lib)
    for key in _dispatch_keys(types):
        _find(qualname).kernels[key] = func
    return func


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Set the kernel for types of devices; None means all."""
    if func is None:
        return lambda f: register_kernel(op, device_types, f, lib=lib)
    for key in _dispatch_keys("default" if device_types is None else device_types):
        _find(op).kernels[key] = func
    return func


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Set what gives the shapes and dtypes of the results, for meta tensors."""
    if func is None:
        return lambda f: register_fake(op, f)
    _find(op).fake = func
    return func


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Set the derivative: ``backward(ctx, *grads)``, and ``setup_context(ctx, inputs, output)`` that saves what it needs."""
    op = _find(op)
    op.backward, op.setup_context = backward, setup_context


class CustomOpDef:
    """An operator that ``custom_op`` made."""

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._op = self._opoverload = _define(namespace, name, schema)
        functools.update_wrapper(self, fn, updated=())

    _qualname = property(lambda self: f"{self._namespace}::{self._name}")

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        bound = inspect.signature(self._init_fn).bind(*args, **kwargs)
        bound.apply_defaults()
        return self._op(*bound.args, **bound.kwargs)

    def register_kernel(self, device_types, fn=None, /):
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        return register_fake(self, fn)

    def register_autograd(self, backward, /, *, setup_context=None):
        register_autograd(self, backward, setup_context=setup_context)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make a function an operator ``namespace::name``: opaque to autograd until ``register_autograd``."""

    def make(fn):
        namespace, opname = _split(name)
        definition = CustomOpDef(namespace, opname, schema or infer_schema(fn, mutates_args=mutates_args), fn)
        register_kernel(definition, device_types, fn)
        return definition

    return make if fn is None else make(fn)


_TYPES = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", torch.dtype: "ScalarType", torch.device: "Device"}


def _schema_type(annotation, what):
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _TYPES:
        return _TYPES[annotation]
    if type(None) in args and len(args) == 2:
        return _schema_type(next(a for a in args if a is not type(None)), what) + "?"
    if set(args) == {int, float, bool} or annotation == typing.Union[int, float, bool]:
        return "Scalar"
    if origin in (list, tuple) or getattr(origin, "__name__", "") == "Sequence":
        if origin is tuple:
            return "(" + ", ".join(_schema_type(a, what) for a in args) + ")"
        return _schema_type(args[0], what) + "[]"
    raise ValueError(
        f"infer_schema(func): {what} has unsupported type {annotation}. The valid types are: "
        f"{[getattr(t, '__name__', t) for t in _TYPES]}, lists and optionals of them."
    )


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema that a function's annotations say."""
    signature, hints = inspect.signature(prototype_function), typing.get_type_hints(prototype_function)
    parts, starred = [], False
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise ValueError("infer_schema(func): We do not support positional-only, varargs, or varkwargs.")
        if name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation.")
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        text = _schema_type(hints[name], f"Parameter {name}")
        if mutates_args == "unknown" and text.startswith("Tensor") or name in mutates_args:
            text = text.replace("Tensor", f"Tensor(a{i}!)", 1)
        default = ""
        if p.default is not p.empty:
            value = p.default
            default = "=" + (f'"{value}"' if isinstance(value, str) else str(value).removeprefix("torch."))
        parts.append(f"{text} {name}{default}")
    if mutates_args != "unknown" and (unknown := set(mutates_args) - set(signature.parameters)):
        raise ValueError(f"infer_schema(func): mutates_args should only contain arguments of the function; got {unknown}")
    if "return" not in hints:
        raise ValueError("infer_schema(func): No return type annotation was provided. Please add one.")
    result = "()" if hints["return"] in (None, type(None)) else _schema_type(hints["return"], "Return")
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"
