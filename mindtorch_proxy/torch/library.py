"""torch.library: define operators in Python, with a schema, kernels by device, and derivatives.

They are available as torch.ops.NAMESPACE.NAME.
"""

import contextlib

import torch
from mindtorch_proxy.runtime.call.dispatch import LIBRARY_KERNELS as _KERNELS
from mindtorch_proxy.runtime.context import activate as _activate
from torch._library import kernels as _kernels
from torch._library.custom_ops import CustomOpDef, custom_op, dispatch_keys as _dispatch_keys
from torch._library.infer_schema import infer_schema
from torch._ops import OpOverload, OpOverloadPacket

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


def _operator(op, early=False):
    """Return the operator for a name, an overload or a definition.

    With early, an operator that is not defined yet is allowed; what is registered for it is kept until then.
    """
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, OpOverloadPacket):
        op = op.default
    name = op.name() if isinstance(op, OpOverload) else op
    if not isinstance(name, str):
        raise ValueError(f"got unexpected type for op: {type(op)}")
    if "::" not in name:
        raise ValueError(f"Expected `name` to be of the form `namespace::name` but got {name}")
    found = _kernels.OPERATORS.get(name.removesuffix(".default"))
    if found is None:
        if name.startswith("aten::"):
            raise NotImplementedError(
                f"torch.library: {name} is PyTorch's own operator, whose kernels cannot be changed here"
            )
        if early:
            return _kernels.EARLY.setdefault(name.removesuffix(".default"), _kernels.Early())
        raise RuntimeError(f"operator {name} does not exist: define it first")
    return found


def fallthrough_kernel():
    """A marker for Library.impl: calls skip this key. It is never called itself."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """A collection of operator definitions and kernels in one namespace."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        if ns == "prim" or kind == "DEF" and ns == "aten":
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key, self._defined, self._set = ns, kind, dispatch_key, [], []
        self._overridden = []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define an operator by its schema ``name(arguments) -> results`` and return its name."""
        if self.kind == "IMPL":
            raise RuntimeError("def(): Cannot define schema in a library of kind IMPL")
        operator = _kernels.define(self.ns, schema, tags if isinstance(tags, (tuple, list)) else (tags,))
        self._defined.append(operator.name)
        return schema.partition("(")[0].strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Register the kernel of an operator for a dispatch key."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("Library.impl(with_keyset=True): there are no sets of dispatch keys here")
        name = op_name if isinstance(op_name, str) else op_name.name()
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if self.dispatch_key and dispatch_key and dispatch_key != self.dispatch_key:
            raise RuntimeError(
                f"impl({name}): the key {dispatch_key} is inconsistent with the dispatch key {self.dispatch_key} of "
                f"the library"
            )
        if self.ns == "aten":
            return self._override(name.rpartition("::")[2], fn, key, allow_override)
        operator = _operator(f"{self.ns}::{name.rpartition('::')[2]}", early=True)
        if fn is fallthrough_kernel:
            operator.kernels.pop(key, None)
            return
        if key in operator.kernels and not allow_override:
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding {name}'s "
                f"behavior for {key} dispatch key and {self.ns} namespace."
            )
        operator.kernels[key] = fn
        self._set.append((operator, key))

    def _override(self, name, fn, key, allow_override):
        """Replace the kernel of one of PyTorch's operators on one device type."""
        device = {v: k for k, v in _kernels.KEYS.items()}.get(key)
        if device is None:
            raise NotImplementedError(
                f"Library.impl: aten::{name} can have another kernel for a type of devices, not for {key}"
            )
        place = "aten::" + name.removesuffix(".default"), device
        if place in _KERNELS and not allow_override:
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding {name}'s "
                f"behavior for {key} dispatch key and {self.ns} namespace."
            )
        _KERNELS[place] = fn
        _activate(1, 1)
        self._overridden.append(place)

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        register_fake(f"{self.ns}::{op_name.rpartition('::')[2]}", fn, allow_override=allow_override)

    def _register_torch_dispatch_rule(self, op_name, torch_dispatch_class, fn):
        _operator(f"{self.ns}::{op_name.rpartition('::')[2]}").by_class[torch_dispatch_class] = fn

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Register a kernel for all operators of a dispatch key; raises NotImplementedError."""
        raise NotImplementedError(
            "Library.fallback: there is no dispatcher with kernels for all operators of a key here"
        )

    def _destroy(self):
        for operator, key in self._set:
            operator.kernels.pop(key, None)
        for name in self._defined:
            _kernels.forget(name.removesuffix(".default"))
        for place in self._overridden:
            _KERNELS.pop(place, None)  # the library may have overridden the same place twice
            _activate(-1, -1)
        self._defined, self._set, self._overridden = [], [], []

    def __del__(self):
        if self._overridden:
            self._destroy()


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def define(qualname, schema, *, lib=None, tags=(), alias_analysis=""):
    """Define ``namespace::name`` with the schema ``(arguments) -> results``."""
    if isinstance(qualname, Library):  # define(lib, schema): the older form
        library = qualname

        def decorate(f):
            library.impl(library.define(schema), f)
            return f

        return decorate
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, sep, name = qualname.partition("::")
    if not sep:
        raise ValueError(f"Expected `name` to be of the form `namespace::name` but got {qualname}")
    if not schema.lstrip().startswith("("):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    _kernels.define(lib.ns if lib else namespace, name + schema, tags if isinstance(tags, (tuple, list)) else (tags,))


def impl(qualname, types, func=None, *, lib=None):
    """Register the kernel for device types (or "default"); without ``func``, return a decorator."""
    if isinstance(qualname, Library):  # impl(lib, name, dispatch_key): the older form
        library, name, key = qualname, types, func or ""

        def decorate(f):
            library.impl(name, f, key)
            return f

        return decorate
    return register_kernel(qualname, types, func, lib=lib)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Register the kernel for device types; None means all. Without ``func``, return a decorator."""
    if func is None:
        return lambda f: register_kernel(op, device_types, f, lib=lib)
    for key in _dispatch_keys(device_types):
        _operator(op, early=True).kernels[key] = func
    return func


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Register the fake implementation, which computes the shapes and dtypes of the results without values."""
    if func is None:
        return lambda f: register_fake(op, f, lib=lib, allow_override=allow_override)
    operator = _operator(op, early=True)
    if operator.fake is not None and not allow_override:
        code = operator.fake.__code__
        raise RuntimeError(
            f"register_fake(...): the operator {op} already has a fake impl registered at "
            f"{code.co_filename}:{code.co_firstlineno}."
        )
    operator.fake = func
    return func


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """Call register_fake; this is its older name."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Register the derivative: ``backward(ctx, *grads)``, and ``setup_context(ctx, inputs, output)`` to save values."""
    operator = _operator(op)
    if operator.schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator.overload} with schema "
            f"{operator.schema}. Please create a functional operator and register an autograd formula for that."
        )
    operator.backward, operator.setup_context = backward, setup_context


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Register a rule for a tensor class or a mode class: func(mode or class, func, types, args, kwargs)."""
    if func is None:
        return lambda f: register_torch_dispatch(op, torch_dispatch_class, f, lib=lib)
    _operator(op).by_class[torch_dispatch_class] = func
    return func


def register_vmap(op, func=None, /, *, lib=None):
    """Register the vmap rule: func(info, in_dims, *args, **kwargs) -> (result, out_dims)."""
    if func is None:
        return lambda f: register_vmap(op, f, lib=lib)
    _operator(op).vmap = func
    return func


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Make autocast cast floating-point arguments to the dtype cast_inputs on a device type."""
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    _operator(op).autocast[device_type] = cast_inputs


class _FakeContext:
    """The context of a fake implementation."""

    def new_dynamic_size(self, *, min=0, max=None):
        """Return a new symbolic size that depends on values; raises NotImplementedError."""
        raise NotImplementedError(
            "FakeImplCtx.new_dynamic_size: sizes that depend on values need symbolic shapes, which are not here"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx():
    """Return the context of the running fake implementation."""
    return _FakeContext()


def get_kernel(op, dispatch_key):
    """Return the kernel of an operator for a dispatch key; raise RuntimeError if there is none."""
    operator, key = _operator(op), str(dispatch_key).rpartition(".")[2]
    if key not in operator.kernels:
        raise RuntimeError(f"{operator.name} has no kernel for {key}")
    return operator.kernels[key]


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Define an operator that calls Triton kernels; raises RuntimeError, as in PyTorch without Triton."""
    raise RuntimeError("triton_op: Triton is not installed")


def wrap_triton(triton_kernel, /):
    """Wrap a Triton kernel for use in triton_op; raises RuntimeError, as in PyTorch without Triton."""
    raise RuntimeError("wrap_triton: Triton is not installed")


_CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def opcheck(op, args, kwargs=None, *, test_utils=_CHECKS, raise_exception=True, atol=None, rtol=None):
    """Check an operator on the given arguments; return {check: "SUCCESS" or the error}.

    test_schema: the operator mutates and aliases only the arguments for which its schema says so.
    test_autograd_registration: an operator with gradients has a registered formula.
    test_faketensor: the fake implementation returns the shapes, dtypes and strides of the real results.
    test_aot_dispatch_*: the operator can be captured in a graph, with the same gradients.
    """
    from torch.testing._internal.optests.generate_tests import check

    test_utils = (test_utils,) if isinstance(test_utils, str) else test_utils
    wrong = set(test_utils) - {*_CHECKS, "test_aot_dispatch_static"}
    if wrong:
        raise ValueError(f"opcheck: unknown checks {sorted(wrong)}, expected some of {_CHECKS}")
    found = {}
    for name in test_utils:
        try:
            check(name, _operator(op) if not isinstance(op, OpOverload) else op, args, kwargs or {}, atol, rtol)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise torch.testing._internal.optests.generate_tests.OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error}"
                ) from error
            found[name] = error
    return found
