"""Pruning: a parameter is replaced by its original times a mask, recomputed before each forward."""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """Base of the methods that choose what is pruned; subclasses define compute_mask.

    PRUNING_TYPE is "unstructured", "structured" or "global".
    """

    _tensor_name: str
    PRUNING_TYPE = "unstructured"

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """Return the mask of a tensor, restricted to what default_mask keeps."""

    def apply_mask(self, module):
        """Return the original parameter multiplied by its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune a parameter in addition to earlier pruning, and return the method."""
        before = [
            (k, hook)
            for k, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(before) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                "Use a PruningContainer."
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name + "_orig") if before else getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        if before:
            key, hook = before[0]
            del module._forward_pre_hooks[key]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method, mask = (
                container,
                getattr(module, name + "_mask").to(importance_scores if importance_scores is not None else original),
            )
        else:
            mask = torch.ones_like(importance_scores if importance_scores is not None else original)
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        try:
            scores = importance_scores if importance_scores is not None else original
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not before:
                module.register_parameter(name, original)
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """Return the tensor with the pruned elements set to zero.

        importance_scores must have the shape of the tensor; otherwise AssertionError is raised.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, default_mask=torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module):
        """Make the pruning permanent: the masked value becomes the parameter."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = value.data
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods for one parameter, each applied to what the earlier ones kept."""

    def __init__(self, *args):
        self._pruning_methods: tuple = ()
        if not isinstance(args[0] if args else None, Iterable):
            for method in args:
                if not hasattr(self, "_tensor_name"):
                    self._tensor_name = method._tensor_name
                self.add_pruning_method(method)
        else:
            for method in args[0]:
                self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method for the same parameter.

        An object that is not a pruning method raises TypeError, and a method for another parameter raises ValueError.
        """
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        method, kept = self._pruning_methods[-1], default_mask == 1
        mask = default_mask.clone().to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            where = kept
        elif method.PRUNING_TYPE == "structured":  # the channels that are not completely pruned
            dim = getattr(method, "dim", -1) % t.dim()
            left = kept.sum(dim=tuple(d for d in range(t.dim()) if d != dim)) != 0
            where = tuple(left if d == dim else slice(None) for d in range(t.dim()))
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[where] = method.compute_mask(t[where], default_mask=mask[where]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """A method that adds a mask of ones but prunes nothing."""

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)

    def compute_mask(self, t, default_mask):
        return default_mask


def _validate_pruning_amount_init(amount):
    """Raise TypeError or ValueError unless ``amount`` is valid.

    It must be a fraction (float in [0, 1]) or a number of units (non-negative int).
    """
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (
        isinstance(amount, numbers.Integral)
        and amount < 0
        or not isinstance(amount, numbers.Integral)
        and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size):
    """Raise ValueError if ``amount`` is a number of units above the number that exist."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount, tensor_size):
    """Return how many of ``tensor_size`` units a valid ``amount`` stands for."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_structured_pruning(t):
    """Raise ValueError if ``t`` has fewer than two dimensions, and so no channels."""
    if t.dim() < 2:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
            f"with {t.dim()} dims"
        )


def _validate_pruning_dim(t, dim):
    """Raise IndexError unless ``t`` has the dimension ``dim``."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


class _Amount(BasePruningMethod):
    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        """Return how many of `size` units are pruned."""
        _validate_pruning_amount(self.amount, size)
        return int(_compute_nparams_toprune(self.amount, size))


class RandomUnstructured(_Amount):
    """Prune random elements: a number of them (int) or a fraction (float)."""

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)

    def compute_mask(self, t, default_mask):
        mask, n = default_mask.clone(memory_format=torch.contiguous_format), self._count(t.nelement())
        if n:
            mask.view(-1)[torch.topk(torch.rand_like(t).view(-1), k=n).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prune the elements with the smallest magnitude: a number of them (int) or a fraction (float)."""

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)

    def compute_mask(self, t, default_mask):
        mask, n = default_mask.clone(memory_format=torch.contiguous_format), self._count(t.nelement())
        if n:
            mask.view(-1)[torch.topk(torch.abs(t).view(-1), k=n, largest=False).indices] = 0
        return mask


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def scores(self, t):
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        n = self._count(size)
        if not n:
            return default_mask
        keep = torch.topk(self.scores(t), k=size - n, largest=True).indices
        mask = torch.zeros_like(t)
        mask[tuple(keep if d == self.dim % t.dim() else slice(None) for d in range(t.dim()))] = 1
        return mask * default_mask.to(mask.dtype)


class RandomStructured(_Structured):
    """Prune random channels along a dimension."""

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)

    def scores(self, t):
        return torch.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prune the channels along a dimension with the smallest norm of order n."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)

    def scores(self, t):
        return torch.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])


class CustomFromMask(BasePruningMethod):
    """Prune with a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    """Add a mask of ones to a parameter without pruning it, and return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune random elements of a parameter and return the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of a parameter with the smallest magnitude and return the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune random channels of a parameter and return the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the channels of a parameter with the smallest norm of order n and return the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune a parameter with a given mask and return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune the parameters given as (module, name) pairs by one ranking of all their elements."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    parameters, given = list(parameters), importance_scores or {}
    scores = [given.get((module, name), getattr(module, name)) for module, name in parameters]
    masks = [getattr(module, name + "_mask", torch.ones_like(getattr(module, name))) for module, name in parameters]
    method = PruningContainer()
    method._tensor_name = "temp"
    chosen = pruning_method(**kwargs)
    chosen._tensor_name = "temp"
    if chosen.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {chosen.PRUNING_TYPE}"
        )
    method.add_pruning_method(chosen)
    final = method.compute_mask(torch.cat([s.reshape(-1) for s in scores]), torch.cat([m.reshape(-1) for m in masks]))
    at = 0
    for module, name in parameters:
        n = getattr(module, name).numel()
        custom_from_mask(module, name, mask=final[at : at + n].view_as(getattr(module, name)))
        at += n


def _hook(module, name):
    return next(
        (
            (k, h)
            for k, h in module._forward_pre_hooks.items()
            if isinstance(h, BasePruningMethod) and h._tensor_name == name
        ),
        None,
    )


def remove(module, name):
    """Make the pruning of a parameter permanent and return the module.

    A parameter that is not pruned raises ValueError.
    """
    found = _hook(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module):
    """Whether any parameter of the module or of its submodules is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
