"""Operators defined in Python: their kernels by dispatch key, their derivatives, and how a call is dispatched."""

import inspect
import sys

import torch
from mindtorch_proxy.runtime.call.dispatch import hand_over
from mindtorch_proxy.runtime.call.overrides import handle_torch_function, has_torch_function
from torch._ops import OpOverload, OpOverloadPacket, has_namespace_operator
from mindtorch_proxy.runtime.arguments import fits
from mindtorch_proxy.runtime.schema import parse
from torch.utils._pytree import tree_flatten, tree_iter, tree_unflatten

OPERATORS: dict = {}  # "namespace::name.overload" -> Operator
KEYS = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "npu": "PrivateUse1", "meta": "Meta"}
_ANY = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


class Operator:
    """One overload: its kernels, fake implementation, derivative and other rules."""

    def __init__(self, schema, packet, tags=()):
        self.schema, self.tags = schema, tuple(tags)
        self.overload = OpOverload(packet, schema, self)
        self.kernels, self.fake, self.backward, self.setup_context, self.vmap = {}, None, None, None, None
        self.by_class = {}  # {tensor class or mode class: rule that replaces its __torch_dispatch__}
        self.no_alias = False  # results must not share memory with arguments
        self.autocast = {}  # device type -> dtype

    def __call__(self, *args, **kwargs):
        self.check(args, kwargs)
        tensors = _tensors(args, kwargs)
        if has_torch_function(tensors):
            return handle_torch_function(self.overload, tensors, *args, **kwargs)
        args, kwargs = self._cast(args, kwargs, tensors)
        if "Autograd" in self.kernels or "AutogradCPU" in self.kernels:
            return self.kernels.get("Autograd", self.kernels.get("AutogradCPU"))(*args, **kwargs)
        if self.implicit or not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return self.below_autograd(args, kwargs)
        return self._differentiable(args, kwargs)

    @property
    def implicit(self):
        """Whether the operator is composite, so that modes and autograd see the operators that it calls."""
        return "CompositeImplicitAutograd" in self.kernels

    def _cast(self, args, kwargs, tensors):
        if not self.autocast:
            return args, kwargs
        device = tensors[0].device.type if tensors else "cpu"
        dtype = self.autocast.get(device) if torch.is_autocast_enabled(device) else None
        if dtype is None:
            return args, kwargs
        from torch.utils._pytree import tree_map

        cast = lambda x: (
            x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype is not torch.float64 else x
        )  # noqa: E731
        return tree_map(cast, args), tree_map(cast, kwargs)

    def below_autograd(self, args, kwargs):
        """Run the modes and the argument classes with a __torch_dispatch__, then the kernel for the device.

        The version counter of mutated arguments is incremented.
        """
        if self.implicit:
            return self._run(args, kwargs)
        out = hand_over(self.overload, args, kwargs, self._run)
        if self.schema.is_mutable:
            values = self.schema.bound(args, kwargs)
            for a in self.schema.arguments:
                if a.is_write and isinstance(values.get(a.name), torch.Tensor):
                    values[a.name]._bump()
        return out

    def _run(self, args, kwargs):
        tensors = _tensors(args, kwargs)
        out = self.kernel(tensors)(*args, **kwargs)
        if self.no_alias:
            self._refuse_alias(tensors, out)
        return out

    def kernel(self, tensors):
        """Return the kernel for the device of the arguments."""
        device = next(
            (t.device.type for t in tensors if t.device.type != "cpu"), tensors[0].device.type if tensors else "cpu"
        )
        if device == "meta" and self.fake is not None and "Meta" not in self.kernels:
            return self.fake
        for key in (KEYS.get(device, device), *_ANY):
            if key in self.kernels:
                return self.kernels[key]
        if not self.kernels:
            raise NotImplementedError(
                "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), "
                f"or {self.name} has no kernel"
            )
        raise NotImplementedError(
            f"Could not run '{self.name}' with arguments from the '{KEYS.get(device, device)}' backend. "
            "This could be because the operator doesn't exist for this backend: "
            f"it has kernels for {sorted(self.kernels)}"
        )

    @property
    def name(self):
        return self.overload.name()

    def _refuse_alias(self, tensors, out):
        seen = {
            t.untyped_storage().data_ptr()
            for t in tensors
            if t.numel() and t.layout is torch.strided and t.device.type != "meta"
        }
        for t in _tensors((out,), {}):
            if t.numel() and t.layout is torch.strided and t.device.type != "meta":
                if t.untyped_storage().data_ptr() in seen:
                    module = sys.modules["torch._library.custom_ops"]
                    raise RuntimeError(
                        f"{self.name.partition('::')[2]} (with implementation in {module}): The output of this custom "
                        "operator (1) must not also be an input to this custom operator and (2) may not alias any "
                        "inputs to this custom operator or other returns. The most common way to trigger this error "
                        "is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                        "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom "
                        "operator to not return y."
                    )
                seen.add(t.untyped_storage().data_ptr())

    def check(self, args, kwargs):
        """Raise TorchScript's RuntimeError if the arguments do not match the schema."""
        schema = self.schema
        values = schema.bound(args, kwargs)
        declaration = f"Declaration: {schema}"
        name = schema.name
        if len(args) > len(schema.positional):
            raise RuntimeError(
                f"{name}() takes {len(schema.positional)} positional argument(s) but {len(args)} was/were given. "
                f" {declaration}"
            )
        if values is None:
            wrong = next(
                k for k in kwargs if k not in schema.by_name or k in [a.name for a in schema.positional[: len(args)]]
            )
            raise RuntimeError(f"Unknown keyword argument '{wrong}' for operator '{name}'. Schema: {schema}")
        for i, a in enumerate(schema.arguments):
            if a.name not in values:
                if not a.has_default_value():
                    raise RuntimeError(f"{name}() is missing value for argument '{a.name}'. {declaration}")
            elif not fits(a, values[a.name]):
                v = values[a.name]
                raise RuntimeError(
                    f"{name}() Expected a value of type '{a.type}' for argument '{a.name}' but instead found type "
                    f"'{type(v).__name__}'.\n"
                    f"Position: {i}\nValue: {v}\n{declaration}\nCast error details: Unable to cast {v} to {a.type}"
                )

    def _differentiable(self, args, kwargs):
        """Run the operator as an autograd.Function, to which the tensors in lists are arguments of their own."""
        op, overload = self, self.overload
        nested = any(a.list and a.is_tensor for a in self.schema.positional)
        flat, spec = tree_flatten(args) if nested else (args, None)
        # the structure of a backward's results, and a None for what is no argument
        wanted = tree_flatten((*args, None))[1] if nested else None

        class Formula(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *flat):
                args = tree_unflatten(flat, spec) if nested else flat
                result = op.below_autograd(args, kwargs)
                if op.setup_context is not None:
                    names = inspect.signature(op.setup_context).parameters
                    extra = {"keyword_only_inputs": kwargs} if "keyword_only_inputs" in names else {}
                    op.setup_context(ctx=ctx, inputs=op.complete(args), output=result, **extra)
                returned, Formula.results = tree_flatten(result)
                written = [
                    a for a, s in zip(args, op.schema.positional) if s.is_write and any(a is r for r in returned)
                ]
                if written:
                    ctx.mark_dirty(*written)
                return tuple(returned)

            @staticmethod
            def backward(ctx, *grads):
                if op.backward is None:
                    raise RuntimeError(
                        f"Trying to backward through {op.name} but no autograd formula was registered. "
                        "Please use register_autograd to add one."
                    )
                grads = tree_unflatten(grads, Formula.results)
                found = op.backward(ctx, *(grads if isinstance(grads, tuple) else (grads,)))
                found = found if isinstance(found, tuple) else (found,)
                if nested:
                    return _leaves(found, wanted)
                return (*found, *(None,) * (len(flat) - len(found)))[: len(flat)]

        Formula.__name__ = (
            f"GeneratedBackwardFor_{overload.namespace}_{overload.overloadpacket.__name__}_{overload._overloadname}"
        )
        Formula._backward_cls.__name__ = Formula._backward_cls.__qualname__ = Formula.__name__ + "Backward"
        return tree_unflatten(Formula.apply(*flat), Formula.results)

    def complete(self, args):
        """Return the positional arguments, completed with the defaults of the schema."""
        return (*args, *(a.default_value for a in self.schema.positional[len(args) :]))


def _leaves(found, wanted):
    """Return the leaves of a backward's results, in which a list of tensors has a list of gradients."""
    flat, given = tree_flatten((*found, None))
    if given != wanted:
        raise RuntimeError(
            "Expected the return from backward to be of the same structure as the inputs. "
            f"Got: {given} (return from backward), {wanted} (inputs)"
        )
    return tuple(flat[:-1])


def _tensors(args, kwargs):
    return [x for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor)]


class _Packet:
    """The function of a packet: calls the overload that accepts the arguments."""

    def __init__(self):
        self.operators = []

    def __call__(self, *args, **kwargs):
        if len(self.operators) > 1:
            for operator in self.operators:
                if operator.schema.accepts(args, kwargs):
                    return operator(*args, **kwargs)
        return self.operators[0](*args, **kwargs)


class Early:
    """What was registered for an operator before its definition."""

    def __init__(self):
        self.kernels, self.fake = {}, None


EARLY: dict = {}  # "namespace::name.overload" -> Early


def define(namespace, text, tags=()):
    """Define an operator; the name in its schema may include an overload."""
    schema = parse(text, namespace)
    name = schema.name.partition("::")[2]
    full = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
    if (
        full in OPERATORS
        or has_namespace_operator(namespace, name)
        and full.rpartition(".")[0] not in OPERATORS
        and not _packet_of(namespace, name)
    ):
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times."
        )
    packet = _packet_of(namespace, name)
    if packet is None:
        packet = OpOverloadPacket(namespace, name, (), _Packet())
        setattr(getattr(torch.ops, namespace), name, packet)
    operator = OPERATORS[full] = Operator(schema, packet, tags)
    early = EARLY.pop(full, operator)
    operator.kernels, operator.fake = (
        early.kernels,
        early.fake,
    )  # the same dict, from which a Library removes its kernels later
    packet._schemas[operator.overload._overloadname] = schema
    packet.__dict__[operator.overload._overloadname] = operator.overload
    packet._fn.operators.append(operator)
    return operator


def _packet_of(namespace, name):
    packet = getattr(torch.ops, namespace).__dict__.get(name)
    return packet if packet is not None and isinstance(packet._fn, _Packet) else None


def forget(full):
    """Remove an operator."""
    operator = OPERATORS.pop(full)
    packet = operator.overload.overloadpacket
    packet._fn.operators.remove(operator)
    del packet._schemas[operator.overload._overloadname], packet.__dict__[operator.overload._overloadname]
    if not packet._fn.operators:
        delattr(getattr(torch.ops, operator.overload.namespace), packet.__name__)
