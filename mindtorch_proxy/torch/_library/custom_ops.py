"""torch.library.custom_op: turns a function into an operator."""

import contextlib
import functools
import inspect

import torch

from .infer_schema import infer_schema
from .kernels import KEYS, define, forget


def split_name(qualname):
    """Split ``namespace::name`` into (namespace, name)."""
    namespace, sep, name = qualname.partition("::")
    if not sep or not name or "::" in name:
        raise ValueError(f"Expected `name` to be of the form `namespace::name` but got {qualname}")
    if "." in name:
        raise ValueError(
            "The torch.library.custom_op APIs do not handle overloads, i.e. operator names with '.' in them. "
            f"Please name your operator something like {namespace}::{name.replace('.', '_')}. Got: {qualname}"
        )
    return namespace, name


def dispatch_keys(types):
    """Return the dispatch keys of device types; None and "default" mean all devices."""
    if types is None:
        return ["CompositeExplicitAutograd"]
    types = (types,) if isinstance(types, str) else types
    return ["CompositeExplicitAutograd" if t == "default" else KEYS.get(t, t) for t in types]


OPDEFS: dict = {}  # "namespace::name" -> the CustomOpDef that has defined it last


def _defined_again(qualname, make):
    """Return a new operator, which replaces one of the same name that ``custom_op`` has defined.

    Cells of notebooks and modules that are imported again define theirs again. Who holds the earlier operator calls the
    new one.
    """
    if qualname not in OPDEFS:
        return make()
    before = OPDEFS[qualname]._operator
    forget(qualname)
    operator = make()
    before.__dict__ = operator.__dict__
    return operator


class CustomOpDef:
    """The operator that ``custom_op`` returns."""

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._tags = tags
        self._operator = _defined_again(self._qualname, lambda: define(namespace, name + schema, tags or ()))
        OPDEFS[self._qualname] = self
        self._operator.no_alias = True
        self._opoverload = self._operator.overload
        self._disabled = {}
        functools.update_wrapper(self, fn, updated=())

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Register the kernel for device types; None means all. Without fn, return a decorator."""

        def register(fn):
            for key in dispatch_keys(device_types):
                self._operator.kernels[key] = self._switched(device_types, fn)
            return fn

        return register if fn is None else register(fn)

    def _switched(self, device_types, fn):
        types = (device_types,) if isinstance(device_types, str) or device_types is None else tuple(device_types)

        @functools.wraps(fn)
        def kernel(*args, **kwargs):
            return (self._init_fn if any(self._disabled.get(t) for t in types) else fn)(*args, **kwargs)

        return kernel

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """Enable or disable the kernel of a device type within the block.

        If it is disabled, the function that custom_op was called with runs instead.
        """
        before = self._disabled.get(device_type, False)
        self._disabled[device_type] = not enabled
        try:
            yield
        finally:
            self._disabled[device_type] = before

    def register_fake(self, fn, /):
        """Register the fake implementation, which computes results without values from arguments without values."""
        self._operator.fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Register the derivative: ``backward(ctx, *grads)``.

        ``setup_context(ctx, inputs, output)`` saves what it needs.
        """
        if self._operator.schema.is_mutable:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self._opoverload} with schema "
                f"{self._operator.schema}. Please create a functional operator and register an autograd formula for "
                "that."
            )
        self._operator.backward, self._operator.setup_context = backward, setup_context

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Register a rule for a tensor class or a mode class: fn(mode or class, func, types, args, kwargs)."""
        if fn is None:
            return functools.partial(self.register_torch_dispatch, torch_dispatch_class)
        self._operator.by_class[torch_dispatch_class] = fn
        return fn

    def register_vmap(self, func=None):
        """Register the vmap rule: func(info, in_dims, *args, **kwargs) -> (result, out_dims)."""

        def register(func):
            needs_info = "info" in list(inspect.signature(func).parameters)[:1]
            if not needs_info:
                raise ValueError("register_vmap: the function's first argument is info")
            self._operator.vmap = func
            return func

        return register if func is None else register(func)

    def register_autocast(self, device_type, cast_inputs):
        """Make autocast cast floating-point arguments to the dtype cast_inputs on a device type."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}")
        self._operator.autocast[device_type] = cast_inputs


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Define an operator ``namespace::name`` from a function; it has no derivative until ``register_autograd``."""

    def make(fn):
        namespace, opname = split_name(name)
        definition = CustomOpDef(namespace, opname, schema or infer_schema(fn, mutates_args=mutates_args), fn, tags)
        definition.register_kernel(device_types)(fn)
        return definition

    return make if fn is None else make(fn)


def get_op(qualname):
    """Return the overload ``namespace::name`` or ``namespace::name.overload``."""
    namespace, name = qualname.split("::")
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
