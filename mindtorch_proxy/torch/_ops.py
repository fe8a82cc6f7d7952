"""torch.ops: operators by their dispatcher names, torch.ops.NAMESPACE.NAME.OVERLOAD."""

import ctypes
import functools
import importlib
import inspect
import itertools
import math
import os
import sys
import types

from mindtorch_proxy.runtime import aten
from mindtorch_proxy.runtime.call.dispatch import CLASSES, hand_over, intercepted, tensors_of
from mindtorch_proxy.runtime.call.inplace import inplace
from mindtorch_proxy.runtime.call.overload import name_of, values_of
from mindtorch_proxy.runtime.call.overrides import BY_HAND, handle_torch_function, has_torch_function
from mindtorch_proxy.runtime.classes import dispatching
from mindtorch_proxy.runtime.ops.aten import pulled_back
from mindtorch_proxy.runtime.registry import OPERATORS, function, method
from mindtorch_proxy.runtime.schema import FunctionSchema
from mindtorch_proxy.runtime.tensor import Tensor, is_dense


def _missing(name, args, kwargs):
    """Return the error for an operator that PyTorch has and that is not supported here."""
    of = ", ".join(sorted({f"{t.dtype} on {t.device}" for t in tensors_of((*args, *kwargs.values()))})) or "no tensor"
    return NotImplementedError(f"{name} is not supported (arguments: {of})")


_PLAIN = frozenset({Tensor, int, float, bool, str, type(None)})


def _stand_ins(args):
    """Yield the arguments, also in lists, that have a __torch_function__ but are not tensors, such as fx proxies."""
    for a in args:
        cls = a.__class__
        if cls is list or cls is tuple:
            yield from _stand_ins(a)
        elif cls not in _PLAIN and hasattr(cls, "__torch_function__") and not isinstance(a, Tensor):
            yield a


def _run(operator, name, args, kwargs):
    """Run an operator, or the __torch_function__ of arguments that are not tensors but have one."""
    found = tuple(_stand_ins((*args, *kwargs.values())))
    if found:
        return handle_torch_function(operator, found, *args, **kwargs)
    if operator._fn is None:
        raise _missing(name, args, kwargs)
    return operator._fn(*args, **kwargs)


class OperatorBase:
    """The base class of OpOverload and HigherOrderOperator: a callable operator with a name."""

    def __call__(self, *args, **kwargs):
        raise NotImplementedError

    def name(self):
        """Return the name of the operator; subclasses implement it."""
        raise NotImplementedError


class OpOverload(OperatorBase):
    """One overload of an operator, such as torch.ops.aten.add.Tensor.

    A call supports autograd, autocast, modes and tensor subclasses, as torch.add does.
    """

    def __init__(self, packet, schema, fn):
        self._overloadpacket, self._schema, self._fn = packet, schema, fn
        self._overloadname = schema.overload_name or "default"
        self._name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        self.namespace = schema.name.partition("::")[0]
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__module__ = f"torch._ops.{self.namespace}"
        self.__qualname__ = self._name

    def __call__(self, /, *args, **kwargs):
        if self.namespace == "aten" and (error := self._schema.misfit(args, kwargs)) is not None:
            raise RuntimeError(error)
        args = self._overloadpacket._listed(args)
        return _run(self, self._name, args, self._completed(args, kwargs))

    def _completed(self, args, kwargs):
        """Return the keyword arguments, completed with PyTorch's defaults where ours differ."""
        if not self._completing or len(args) >= len(self._schema.positional):
            return kwargs
        given = {a.name for a in self._schema.positional[: len(args)]} | kwargs.keys()
        return kwargs | {name: value for name, value in self._completing.items() if name not in given}

    @functools.cached_property
    def _completing(self):
        """Return {argument: PyTorch's default}, for arguments whose default is missing or different in our function."""
        try:
            parameters = inspect.signature(self._fn).parameters
        except (TypeError, ValueError):  # no function, or one without a signature
            return {}
        plain = {
            a.name: a.default_value
            for a in self._schema.arguments
            if a.has_default_value() and a.default_value.__class__ in (bool, int, float, str)
        }
        own = {n: parameters[n].default for n in plain if n in parameters}
        return {
            n: plain[n]
            for n, v in own.items()
            if v is inspect.Parameter.empty or v.__class__ is plain[n].__class__ and v != plain[n]
        }

    @property
    def _op(self):
        return self._fn

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._overloadpacket.__name__}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _find, (self.namespace, self._overloadpacket.__name__, self._overloadname)

    @property
    def overloadpacket(self):
        return self._overloadpacket

    @property
    def op(self):
        return self._overloadpacket._qualified_op_name

    @property
    def tags(self):
        import torch

        return [getattr(torch.Tag, name) for name in sorted(self._schema.tags) if hasattr(torch.Tag, name)]

    @property
    def is_view(self):
        return any(a.alias_info is not None and not a.is_write for a in self._schema.arguments)

    def name(self):
        """Return ``namespace::name.overload``."""
        return self._name

    def has_kernel_for_dispatch_key(self, key):
        """Whether the operator is composite in PyTorch, for CompositeImplicitAutograd; else whether it is supported."""
        return (
            self._schema.implicit
            if str(key).rpartition(".")[2] == "CompositeImplicitAutograd"
            else self._fn is not None
        )

    def decompose(self, *args, **kwargs):
        """Run the operator if it is CompositeImplicitAutograd in PyTorch, else return NotImplemented."""
        return self._fn(*args, **kwargs) if self._schema.implicit else NotImplemented


_NONE_FITS = "Overloaded torch operator invoked from Python failed to match any schema:"


class OpOverloadPacket:
    """All overloads of an operator, such as torch.ops.aten.add."""

    def __init__(self, namespace, name, schemas, fn):
        self._namespace, self.__name__, self._schemas, self._fn = (
            namespace,
            name,
            {s.overload_name or "default": s for s in schemas},
            fn,
        )
        self._qualified_op_name, self.__module__ = f"{namespace}::{name}", f"torch._ops.{namespace}"

    def __call__(self, /, *args, **kwargs):
        errors = list(itertools.takewhile(bool, (o._schema.misfit(args, kwargs) for o in self._own)))
        if errors and len(errors) == len(self._own):
            raise RuntimeError(errors[0] if len(errors) == 1 else "\n\n".join([_NONE_FITS, *errors]))
        args = self._listed(args)
        if any(overload._completing for overload in self._own):
            accepting = (o for o in self._own if not o._schema.outs and o._schema.accepts(args, kwargs))
            kwargs = next(accepting, self._own[0])._completed(args, kwargs)
        return _run(self, self._qualified_op_name, args, kwargs)

    def _listed(self, args):
        """Return the arguments with a tensor that was passed for a Tensor?[] unbound into a list.

        PyTorch reads such a tensor as a sequence.
        """
        for i in self._list_positions:
            if i < len(args) and isinstance(args[i], Tensor):
                args = (*args[:i], list(args[i].unbind()), *args[i + 1 :])
        return args

    @functools.cached_property
    def _list_positions(self):
        wanted = ({i for i, a in enumerate(s.positional) if a.declared == "Tensor?[]"} for s in self._schemas.values())
        return tuple(sorted(set.intersection(*wanted))) if self._schemas else ()

    @functools.cached_property
    def _own(self):
        return [getattr(self, name) for name in self._schemas] if self._namespace == "aten" else []

    @property
    def op(self):
        """Return what runs the matching overload: the packet itself."""
        return self

    def overloads(self):
        """Return the names of the overloads."""
        return list(self._schemas)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _packet, (self._namespace, self.__name__)

    def __hash__(self):
        return hash(self._qualified_op_name)

    def __eq__(self, other):
        return self is other

    def __getattr__(self, name):
        schema = self.__dict__.get("_schemas", {}).get(name)
        if schema is None:
            raise AttributeError(
                f"The underlying op of '{self._namespace}.{self.__name__}' has no overload name '{name}'"
            )
        overload = self.__dict__[name] = OpOverload(self, schema, self._fn)
        return overload

    def __iter__(self):
        return iter(self._schemas)

    def __dir__(self):
        return [*object.__dir__(self), *self._schemas]

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"


def has_namespace_operator(namespace, name):
    """Whether torch.ops.NAMESPACE.NAME exists."""
    return hasattr(getattr(ops, namespace), name)


def _packet(namespace, name):
    return getattr(getattr(ops, namespace), name)


def _find(namespace, name, overload):
    return getattr(_packet(namespace, name), overload)


# ---------------------------------------------------------------------------------------- from calls to overloads
def called(name, args, call):
    """Return (overload, args, kwargs) for a call below autograd, as PyTorch passes it to __torch_dispatch__."""
    if isinstance(call.op, OpOverload):
        return call.op, *call.given
    found = call.resolve(args)
    if found is None:
        return _undeclared(name, call), *_as_given(call.op, args)
    schema, given, named = found
    packet = getattr(ops.aten, schema.name[6:])
    overload = getattr(packet, schema.overload_name or "default")
    if overload._fn is None:
        overload._fn = _runs(call.op, schema, call.suffix)
    return overload, given, named


def _runs(op, schema, suffix):
    """Return a function that calls a declared operator which has no public function."""

    def run(*args, **kwargs):
        values = values_of(op, schema, args, kwargs)
        return inplace(op, values[0], tuple(values)) if suffix else op.call(*values)

    return run


_made: dict = {}


def _undeclared(name, call):
    """Return the overload torch.ops.mindtorch.NAME for an operator of ours that PyTorch does not have."""
    overload = _made.get((name, call.op))
    if overload is None:
        _, operator, variant = name.split(".")
        text = call.op.schema.text
        text = f"{operator}{'' if variant == 'default' else '.' + variant}{text[text.index('(') :]}"
        schema = FunctionSchema(text.replace("Tensor|Scalar", "Tensor"), namespace="mindtorch")
        packet = OpOverloadPacket("mindtorch", operator, (schema,), _runs_values(call.op, call.suffix))
        setattr(ops.mindtorch, operator, packet)
        overload = _made[name, call.op] = getattr(packet, schema.overload_name or "default")
    return overload


def _runs_values(op, suffix):
    def run(*args, **kwargs):
        values = [kwargs.get(a.name, a.default) for a in op.schema.arguments]
        for i, value in zip([i for i, a in enumerate(op.schema.arguments) if not a.kwarg_only], args):
            values[i] = value
        return inplace(op, values[0], tuple(values)) if suffix else op.call(*values)

    return run


def _as_given(op, args):
    """Return (args, kwargs), with keyword-only arguments in kwargs unless they have their default."""
    declared = op.schema.arguments
    named = {a.name: v for a, v in zip(declared, args) if a.kwarg_only and v is not a.default}
    return tuple(v for a, v in zip(declared, args) if not a.kwarg_only), named


def _ask_classes(name, args, call):
    """Call the __torch_dispatch__ of the arguments' classes, subclasses first, until one handles the call."""
    overload, given, named = called(name, args, call)
    classes = dispatching_classes((*given, *named.values()))
    for cls in classes:
        result = rule(overload, cls, cls.__torch_dispatch__)(overload, tuple(classes), given, named)
        if result is not NotImplemented:
            return checked(overload, result, cls)
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{overload}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n\n"
        + "".join(f"  - tensor subclass {cls}\n" for cls in classes)
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def checked(overload, result, owner):
    """Return the result of a __torch_dispatch__; raise PyTorch's error if it is NotImplemented."""
    if result is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for 'torch._ops.{overload}'; all __torch_dispatch__ handlers returned "
            f"NotImplemented:\n\n  - mode object {owner}\n\n"
            "For more information, try re-running with TORCH_LOGS=not_implemented"
        )
    return result


def rule(overload, owner, otherwise):
    """Return the function that handles an operator for a class or a mode.

    It is the one registered with torch.library.register_torch_dispatch, or else `otherwise`.
    """
    registered = getattr(overload._fn, "by_class", None)
    fn = registered and registered.get(owner if isinstance(owner, type) else type(owner))
    return functools.partial(fn, owner) if fn else otherwise


def dispatching_classes(args):
    """Return the classes of the arguments that have a __torch_dispatch__, subclasses first."""
    found = []
    for t in tensors_of(args):
        cls = type(t)
        if cls in dispatching and cls not in found:
            at = next((i for i, other in enumerate(found) if issubclass(cls, other)), len(found))
            found.insert(at, cls)
    return found


CLASSES.handler = _ask_classes


def _convolution(
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    benchmark,
    deterministic,
    cudnn_enabled,
    allow_tf32=True,
):
    """Run aten::_convolution as aten::convolution; the arguments for cuDNN have no effect."""
    return ops.aten.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


# {name in the dispatcher: function}, where torch has no function of that name or one with other arguments
_UNDER_OTHER_NAMES = {}


def _dispatched(name):
    def enter(fn):
        _UNDER_OTHER_NAMES[name] = fn
        return fn

    return enter


def _loss(name, *parameters):
    """Return a loss of torch.nn.functional with the dispatcher's signature, where reduction is a number.

    parameters: the schema's arguments between the input and reduction.
    """

    def run(self, *args, **kwargs):
        given = (
            {"reduction": 1} | dict(zip((*parameters, "reduction", "ignore_index", "label_smoothing"), args)) | kwargs
        )
        given["reduction"] = ("none", "mean", "sum")[given["reduction"]]
        return function("nn.functional", name)(self, **given)

    return run


_dispatched("cross_entropy_loss")(_loss("cross_entropy", "target", "weight"))
_dispatched("nll_loss_nd")(_loss("nll_loss", "target", "weight"))
_dispatched("l1_loss")(_loss("l1_loss", "target"))
_dispatched("multi_margin_loss")(_loss("multi_margin_loss", "target", "p", "margin", "weight"))
_dispatched("multilabel_margin_loss")(_loss("multilabel_margin_loss", "target"))


@_dispatched("stft")
def _stft(self, n_fft, hop_length=None, win_length=None, window=None, *args, **kwargs):
    """Run aten::stft; the overload without `center` is not centered."""
    names = ["center", "pad_mode", "normalized", "onesided", "return_complex", "align_to_window"]
    centred = len(args) > 1 and isinstance(args[1], str) or {"center", "pad_mode"} & kwargs.keys()
    given = dict(zip(names if centred else names[2:], args)) | kwargs
    return function("torch", "stft")(self, n_fft, hop_length, win_length, window, **{"center": bool(centred)} | given)


def _fractional_pool(n):
    def run(self, kernel_size, output_size, random_samples):
        import torch.nn.functional as F

        return getattr(F, f"fractional_max_pool{n}d_with_indices")(
            self, kernel_size, output_size, _random_samples=random_samples
        )

    return run


def _of_geometry(name):
    """Return a function for size or stride that returns a list, as the dispatcher's operator does.

    With a dim, it returns what the method returns: one number.
    """

    def run(self, *dim, **named):
        found = getattr(self, name)(*dim, **named)
        return found if dim or named else list(found)

    return run


@_dispatched("cdist")
def _cdist(x1, x2, p=2.0, compute_mode=None):
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    return function("torch", "cdist")(x1, x2, p, modes[compute_mode or 0])


@_dispatched("nuclear_norm")
def _nuclear_norm(self, *args, **kwargs):
    if args and isinstance(args[0], bool):  # the overload without dimensions
        args, kwargs = (), {"keepdim": args[0]}
    return function("torch", "nuclear_norm")(self, *args, **kwargs)


@_dispatched("tensordot")
def _tensordot(self, other, dims_self, dims_other):
    return function("torch", "tensordot")(self, other, (dims_self, dims_other))


def _embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last=False,
    padding_idx=-1,
):
    """Run aten::_embedding_bag, for which a padding_idx of -1 means none."""
    padding = None if padding_idx == -1 else padding_idx
    return function("torch", "embedding_bag")(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last, padding
    )


def _on_a_copy(name):
    """Return a function for aten::NAME of an operator that is only declared in place: it runs NAME_ on a copy.

    Without gradients, modes and classes with a __torch_dispatch__ see one call of aten::NAME.
    """

    def run(*args, **kwargs):
        import torch

        def compute(args, kwargs):
            return getattr(ops.aten, name + "_")(args[0].clone(), *args[1:], **kwargs)

        schema = next((s for s in aten.schemas(name) if not s.outs and s.accepts(args, kwargs)), None)
        if schema is None:
            raise _missing(f"aten::{name}", args, kwargs)
        flat = (*args, *kwargs.values())
        if not intercepted(flat) or torch.is_grad_enabled() and any(t.requires_grad for t in tensors_of(flat)):
            return compute(args, kwargs)
        return hand_over(_find("aten", name, schema.overload_name or "default"), args, kwargs, compute)

    return run


def _agrees(op, name):
    """Whether PyTorch has a schema of this name with all required arguments of our operator.

    Only checked for names that end in _backward.
    """
    schemas = aten.schemas(name) if name.endswith("_backward") else ()
    return not schemas or any(
        set(s.by_name).issuperset(a.name for a in op.schema.arguments if a.required) for s in schemas
    )


def _backward_of(name):
    """Return a function for NAME_backward that computes a vector-Jacobian product of NAME, or None.

    This works where NAME_backward takes the gradient of the result and the arguments of NAME, and returns one tensor.
    """
    base = name.removesuffix("_backward")
    forward = next((s for s in aten.schemas(base) if not s.outs), None)
    schema = next((s for s in aten.schemas(name) if not s.outs), None)
    fn = _callable(base) if forward is not None and schema is not None else None
    if fn is None or len(schema.returns) > 1 or schema.arguments[0].declared != "Tensor":
        return None
    if not {*(a.name for a in schema.arguments[1:]), "output_size"}.issuperset(a.name for a in forward.arguments):
        return None

    @_asking(name)
    def run(*args, **kwargs):
        given = schema.bound(args, kwargs)
        gradient = given[schema.arguments[0].name]
        given.setdefault("output_size", list(gradient.shape[2:]))
        x, *others = (a for a in forward.arguments if a.name in given)
        rest, named = (
            [given[a.name] for a in others if not a.kwarg_only],
            {a.name: given[a.name] for a in others if a.kwarg_only},
        )
        return pulled_back(lambda x: fn(x, *rest, **named), (given[x.name],), gradient)[0]

    return run


_UNDER_OTHER_NAMES |= {
    **{f"fractional_max_pool{n}d": _fractional_pool(n) for n in (2, 3)},
    "_embedding_bag": _embedding_bag,
    "_embedding_bag_forward_only": _embedding_bag,
    "_convolution": _convolution,
    "_pin_memory": lambda self, device=None: self.pin_memory(),
    **{prefix + name: _of_geometry(name) for prefix in ("", "sym_") for name in ("size", "stride")},
    "is_non_overlapping_and_dense": lambda self: is_dense(self.shape, self.stride()),
    "_unsafe_index": lambda self, indices: ops.aten.index(self, indices),
    **{
        name: _on_a_copy(name)
        for name in ("cauchy", "copy", "exponential", "geometric", "log_normal", "random", "resize", "uniform", "zero")
    },
    "hardtanh_": lambda self, min_val=-1, max_val=1: ops.aten.clamp_(self, min_val, max_val),
}


def _callable(name):
    """Return the function that implements a name of PyTorch's dispatcher, or None."""
    import torch

    if name in _UNDER_OTHER_NAMES:
        return _UNDER_OTHER_NAMES[name]
    if name in OPERATORS.get("aten", {}):
        return function("aten", name)
    for ns in ("linalg", "fft", "special"):
        if name.startswith(ns + "_") and name[len(ns) + 1 :] in OPERATORS.get(ns, {}):
            return function(ns, name[len(ns) + 1 :])
    for ns in ("torch", "Tensor", "_C._nn", "_C", "nn.functional"):
        if (
            name in OPERATORS.get(ns, {})
            and _agrees(OPERATORS[ns][name][0], name)
            and (fn := function(ns, name) or method(name)) is not None
        ):
            return _completed(name, fn) if ns[:2] == "_C" else fn
    if name in BY_HAND and callable(torch.Tensor.__dict__.get(name)):  # a subclass may override the method
        return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)
    fn = method(name) or torch.Tensor.__dict__.get(name) or getattr(torch, name, None)
    if not callable(fn) or isinstance(fn, type):
        fn = _declared_as(name)
    return _backward_of(name) if fn is None and name.endswith("_backward") else fn


def _asking(name):
    """Return a decorator that makes a function overridable with __torch_function__, as the operator `name`.

    It is for operators that torch has no public function of.
    """

    def asking(run):
        def public(*args, **kwargs):
            tensors = tuple(tensors_of((*args, *kwargs.values())))
            if has_torch_function(tensors):
                return handle_torch_function(getattr(ops.aten, name), tensors, *args, **kwargs)
            return run(*args, **kwargs)

        return public

    return asking


@functools.cache
def _declarations():
    """Return {PyTorch's name: operator} for operators declared under another name and for internal operators."""
    found = [op for names in OPERATORS.values() for ops in names.values() for op in ops if op.fn is None]
    named = [(name_of(op)[0], op) for op in found]
    return {name: op for name, op in named if name != op.name or op.namespace == "torch" and not op.is_function}


def _declared_as(name):
    """Return a function for an operator that PyTorch's dispatcher knows under `name`, or None.

    An in-place name that is not declared runs the functional operator and copies the result.
    """
    op = _declarations().get(name)
    if op is None and name[-1:] == "_" and (fn := _callable(name[:-1])) is not None:
        return lambda self, *args, **kwargs: self.copy_(fn(self, *args, **kwargs))
    if op is None:
        return None

    @_asking(name)
    def run(*args, **kwargs):
        for schema in aten.schemas(name):
            if not schema.outs and schema.accepts(args, kwargs):
                return op.call(*values_of(op, schema, args, kwargs))
        raise _missing(f"aten::{name}", args, kwargs)

    return run


def _completed(name, fn):
    """Return a function that calls fn, which has no defaults, with the defaults of PyTorch's schema."""
    takes = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(fn).parameters.values())

    def run(*args, **kwargs):
        given = {k: v for k, v in kwargs.items() if k != "out"}
        for schema in aten.schemas(name):
            if not schema.outs and schema.accepts(args, given):
                leading = {a.name: a.default_value for a in schema.positional[:takes]} | schema.bound(args, given)
                if leading.get("stride") == []:  # of pooling: the default is the kernel size
                    leading["stride"] = leading["kernel_size"]
                names = [a.name for a in schema.positional[:takes]]
                return fn(
                    *(leading[n] for n in names), *args[takes:], **{k: v for k, v in kwargs.items() if k not in names}
                )
        return fn(*args, **kwargs)

    return run


# namespaces whose operators a module of torch defines
_OF_MODULES = {
    **dict.fromkeys(("c10d", "_c10d_functional", "_c10d_functional_autograd"), "torch.distributed._operators"),
    "c10d_functional": "torch.distributed._functional_collectives",
}


class _OpNamespace(types.ModuleType):
    def __getattr__(self, name):
        if self._ns == "aten":
            schemas = aten.schemas(name)
            if schemas:
                packet = OpOverloadPacket("aten", name, schemas, _callable(name))
                setattr(self, name, packet)
                return packet
        elif self._ns in _OF_MODULES and _OF_MODULES[self._ns] not in sys.modules:
            importlib.import_module(_OF_MODULES[self._ns])
            return getattr(self, name)
        raise AttributeError(f"'_OpNamespace' '{self._ns}' object has no attribute '{name}'")


class _Ops(types.ModuleType):
    __file__ = "_ops.py"

    def __init__(self, name):
        super().__init__(name)
        self.loaded_libraries = set()

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        ns = _OpNamespace("torch.ops." + name)
        ns._ns = name
        setattr(self, name, ns)
        return ns

    def load_library(self, path):
        """Load a shared library.

        A library that was built for PyTorch is linked against libtorch, which does not exist here: this raises OSError.
        """
        path = os.path.realpath(path)
        ctypes.CDLL(path)
        self.loaded_libraries.add(path)


ops = _Ops("torch.ops")
sys.modules["torch.ops"] = ops


def __getattr__(name):
    if name == "HigherOrderOperator":  # imported late, because its module imports torch
        return importlib.import_module("torch._higher_order").HigherOrderOperator
    raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")
