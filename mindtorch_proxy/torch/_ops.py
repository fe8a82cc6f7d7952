"""torch.ops: operators by their dispatcher names, torch.ops.aten.NAME.OVERLOAD."""

import ctypes
import os
import sys
import types

from mindtorch_proxy.runtime.call.inplace import inplace
from mindtorch_proxy.runtime.registry import OPERATORS, function, method


class OpOverload:
    """One overload: torch.ops.aten.add.Tensor."""

    def __init__(self, packet, op, fn, overload=None):
        self._packet, self._op, self._fn = packet, op, fn
        self._overloadname = overload or (op if isinstance(op, str) else op.schema.overload or "default")
        self.__name__, self.__module__ = f"{packet.__name__}.{self._overloadname}", "torch._ops.aten"

    def __call__(self, *args, **kwargs):
        return self._fn(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='aten.{self._packet.__name__}', overload='{self._overloadname}')>"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __str__(self):
        return f"aten.{self.__name__}"

    @property
    def overloadpacket(self):
        return self._packet

    def name(self):
        return f"aten::{self._packet.__name__}" + ("" if self._overloadname == "default" else "." + self._overloadname)


class OpOverloadPacket:
    """All overloads of a name: torch.ops.aten.add."""

    def __init__(self, name, ops, fn):
        self.__name__, self._ops, self._fn = name, ops, fn

    def __call__(self, *args, **kwargs):
        return self._fn(*args, **kwargs)

    def overloads(self):
        return [o.schema.overload or "default" for o in self._ops]

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __getattr__(self, name):
        if name[:2] != "__":
            if not self._ops:  # a method: no schema tells its overloads apart
                return OpOverload(self, name, self._fn)
            for o in self._ops:
                if (o.schema.overload or "default") == name or name in ("default", "Tensor", "Scalar") and len(self._ops) == 1:
                    overload = self.__dict__[name] = OpOverload(self, o, getattr(self._fn, "overloads", {}).get(name, self._fn), name)
                    return overload
        raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{name}'")

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


def dispatched(packet, name, overload, proceed):
    """The overload that a dispatch mode is given: torch.ops' own where its arguments are those of the call, else one that runs the operator itself."""
    try:
        found = getattr(packet, overload) if packet is not None and packet.__name__ == name else None
    except AttributeError:
        found = None
    if found is not None and found._fn is not None and getattr(found._op, "schema", None) is proceed.op.schema:
        return found
    made = _dispatched.get((name, overload))
    if made is None:
        made = _dispatched[name, overload] = OpOverload(packet or OpOverloadPacket(name, (), None), overload, None)
        made.__name__ = f"{name}.{overload}"
    made._fn = lambda *args, **kwargs: _run(proceed.op, args, kwargs, name == proceed.op.name + "_")
    return made


_dispatched: dict = {}


def _run(op, args, kwargs, in_place):
    """A declared operator on the arguments that a dispatch mode was given."""
    values = [kwargs.get(a.name, a.default) for a in op.schema.args]
    places = [i for i, a in enumerate(op.schema.args) if not a.kwonly]
    for i, value in zip(places, args):
        values[i] = value
    return inplace(op, values[0], tuple(values)) if in_place else op.call(*values)


# names of the dispatcher for what has another name here
_ALIASES = {
    "alias": "_alias",
    "slice": "_slice",
    "sym_size": "size",
    "sym_stride": "stride",
    "sym_numel": "numel",
    "sym_storage_offset": "storage_offset",
    "_unsafe_view": "view",
    "_local_scalar_dense": "item",
    "_is_all_true": "all",
    "_is_any_true": "any",
    "lift_fresh_copy": "clone",
}


class _Namespace(types.ModuleType):
    def __getattr__(self, name):
        if self._ns == "aten" and name[:2] != "__":
            import torch

            for ns in ("torch", "nn.functional", "linalg", "fft", "special"):
                real = name[len(ns) + 1 :] if name.startswith(ns + "_") and ns != "torch" else name
                if real in OPERATORS.get(ns, {}):
                    packet = OpOverloadPacket(name, OPERATORS[ns][real], function(ns, real) or method(real))
                    setattr(self, name, packet)
                    return packet
            own = _ALIASES.get(name, name)
            fn = method(own) or torch.Tensor.__dict__.get(own) or getattr(torch, own, None)
            if callable(fn) and not isinstance(fn, type):
                packet = OpOverloadPacket(name, (), fn)
                setattr(self, name, packet)
                return packet
        raise AttributeError(f"'_OpNamespace' '{self._ns}' object has no attribute '{name}'")


class _Ops(types.ModuleType):
    __file__ = "_ops.py"

    def __init__(self, name):
        super().__init__(name)
        self.loaded_libraries = set()

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        ns = _Namespace("torch.ops." + name)
        ns._ns = name
        setattr(self, name, ns)
        return ns

    def load_library(self, path):
        """Loads a shared library. What was built for PyTorch asks the linker for libtorch, which is not there: OSError, as where it does not fit."""
        path = os.path.realpath(path)
        ctypes.CDLL(path)
        self.loaded_libraries.add(path)


ops = _Ops("torch.ops")
sys.modules["torch.ops"] = ops
