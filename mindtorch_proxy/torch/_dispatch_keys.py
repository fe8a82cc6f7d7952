"""PyTorch's dispatch keys: their names and numbers, sets of them, and queries about operators and tensors.

There is no dispatcher with kernel tables here; keys only name devices and layers.
"""

import enum

_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_FIRST = {
    "": 48,
    "Quantized": 65,
    "Sparse": 82,
    "SparseCsr": 99,
    "NestedTensor": 116,
    "Autograd": 133,
}  # the numbers of "StartOf...Backends"
_OTHERS = {
    "Undefined": 0,
    "Dense": 1,
    "Quantized": 5,
    "Sparse": 8,
    "SparseCsr": 9,
    "NestedTensor": 10,
    "BackendSelect": 11,
    "Python": 13,
    "FuncTorchDynamicLayerBackMode": 14,
    "Functionalize": 15,
    "Conjugate": 16,
    "Negative": 17,
    "ZeroTensor": 18,
    "ADInplaceOrView": 19,
    "AutogradOther": 20,
    "AutogradFunctionality": 21,
    "AutogradNestedTensor": 22,
    "AutocastCPU": 24,
    "AutocastXPU": 27,
    "AutocastIPU": 28,
    "AutocastHPU": 29,
    "AutocastMPS": 31,
    "AutocastCUDA": 32,
    "AutocastPrivateUse1": 33,
    "FuncTorchBatched": 34,
    "FuncTorchVmapMode": 36,
    "FuncTorchGradWrapper": 39,
    "PythonTLSSnapshot": 41,
    "FuncTorchDynamicLayerFrontMode": 42,
    "PreDispatch": 45,
    "PythonDispatcher": 46,
    "Autograd": 150,
    "CompositeImplicitAutograd": 151,
    "FuncTorchBatchedDecomposition": 152,
    "CompositeImplicitAutogradNestedTensor": 153,
    "CompositeExplicitAutograd": 154,
    "CompositeExplicitAutogradNonFunctional": 155,
}
_NUMBERS = {
    **_OTHERS,
    **{kind + name: first + 1 + i for kind, first in _FIRST.items() for i, name in enumerate(_BACKENDS)},
}

DispatchKey = enum.IntEnum("DispatchKey", _NUMBERS, module="torch._C")
DispatchKey.__doc__ = "A layer of PyTorch's dispatcher, or a device in it."
DispatchKey.__str__ = lambda self: f"DispatchKey.{self.name}"
DispatchKey.__repr__ = lambda self: f"<DispatchKey.{self.name}: {self.value}>"
_DEVICES = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "xpu": "XPU",
    "mps": "MPS",
    "npu": "PrivateUse1",
    "meta": "Meta",
    "hpu": "HPU",
    "mtia": "MTIA",
    "xla": "XLA",
}


def _layer(key):
    """Return the priority of a key for sorting: the number of its layer, then its number among the layer's devices."""
    for kind, first in _FIRST.items():
        if first < key <= first + len(_BACKENDS):
            return _OTHERS[{"": "Dense", "Autograd": "AutogradFunctionality"}.get(kind, kind)], int(key)
    return int(key), 0


class DispatchKeySet:
    """An immutable set of dispatch keys."""

    __module__ = "torch._C"

    def __init__(self, key):
        self._keys = frozenset((key,)) - {DispatchKey.Undefined} if isinstance(key, DispatchKey) else frozenset(key)

    def has(self, key):
        """Whether the set contains a key."""
        return key in self._keys

    def add(self, key):
        """Return a new set with a key added."""
        return DispatchKeySet(self._keys | {key})

    def remove(self, key):
        """Return a new set with a key removed."""
        return DispatchKeySet(self._keys - {key})

    def highestPriorityTypeId(self):
        """Return the key with the highest priority."""
        return max(self._keys, default=DispatchKey.Undefined, key=_layer)

    def __or__(self, other):
        return DispatchKeySet(self._keys | other._keys)

    def __and__(self, other):
        return DispatchKeySet(self._keys & other._keys)

    def __sub__(self, other):
        return DispatchKeySet(self._keys - other._keys)

    def __iter__(self):
        return iter(sorted(self._keys))

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(k.name for k in sorted(self._keys, key=_layer))})"


def _dispatch_key_for_device(device_type):
    """Return the name of the dispatch key of a device type."""
    if device_type not in _DEVICES:
        raise RuntimeError(
            f"Expected one of {', '.join(_DEVICES)} device type at start of device string: {device_type}"
        )
    return _DEVICES[device_type]


def _dispatch_key_name(key):
    return key.name


def _dispatch_key_parse(name):
    """Return the dispatch key with a name."""
    try:
        return DispatchKey[name]
    except KeyError:
        raise RuntimeError(f"could not parse dispatch key: {name}") from None


def _dispatch_keys(tensor):
    """Return the dispatch keys of a tensor."""
    name = _DEVICES[tensor.device.type]
    kinds = "" if tensor.layout.__str__() == "torch.strided" else "Sparse"
    recorded = () if tensor.is_inference() else ("ADInplaceOrView", "Autograd" + name)
    names = [kinds + name, *recorded, *(["Autocast" + name] if "Autocast" + name in _NUMBERS else ())]
    return DispatchKeySet(DispatchKey[n] for n in names)


def _dispatch_key_set(tensor):
    """Return the dispatch keys of a tensor as a string, with the Python keys for a class with __torch_dispatch__."""
    import torch

    keys = _dispatch_keys(tensor)
    return str(
        keys.add(DispatchKey.Python).add(DispatchKey.PythonTLSSnapshot)
        if torch._C._dispatch_isTensorSubclassLike(tensor)
        else keys
    )


def _overload(name):
    """Return the overload with the name ``namespace::name.overload``."""
    import torch

    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    except AttributeError:
        raise RuntimeError(f"operator {name} does not exist") from None


def _dispatch_has_kernel(name):
    """Whether an operator exists and can be called."""
    try:
        return _overload(name)._fn is not None
    except RuntimeError:
        return False


def _dispatch_has_kernel_for_dispatch_key(name, key):
    """Whether an operator has a kernel for a key."""
    return _overload(name).has_kernel_for_dispatch_key(key)


def _dispatch_find_schema_or_throw(name, overload):
    """Return the schema of an overload; raise RuntimeError if there is none."""
    return _overload(f"{name}.{overload}" if overload else name)._schema
