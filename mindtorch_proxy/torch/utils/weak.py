"""Weak references that compare by identity, because == of tensors is elementwise."""

import collections.abc
import copy
import weakref

import torch

__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]
WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to other references to the same object."""

    __slots__ = ["_id"]

    def __init__(self, key, callback=None):
        self._id = id(key)
        super().__init__(key, callback)

    def __call__(self):
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        a, b = self(), other()
        return a is b if a is not None and b is not None else self is other


class WeakIdKeyDictionary(collections.abc.MutableMapping):
    """A mapping that does not keep its keys alive and compares them by identity."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        self.update(dict)

    def _ref(self, key):
        data = weakref.ref(self)

        def remove(ref):
            if (owner := data()) is not None:
                owner.data.pop(ref, None)

        return self.ref_type(key, remove)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self._ref(key)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # the object does not support weak references
            return False

    def __iter__(self):
        for ref in list(self.data):
            if (key := ref()) is not None:
                yield key

    def __len__(self):
        return len(self.data)

    def keyrefs(self):
        """Return the weak references to the keys; some may be dead when they are called."""
        return list(self.data)

    def get(self, key, default=None):
        """Return the value of a key, or ``default``; TypeError for a key that does not support weak references."""
        return self.data.get(self.ref_type(key), default)

    def popitem(self):
        """Remove and return the newest pair; KeyError if there is none."""
        while True:
            ref, value = self.data.popitem()
            if (key := ref()) is not None:
                return key, value

    def update(self, dict=None, **kwargs):
        """Add the pairs of a mapping or of a sequence of pairs; None adds nothing."""
        super().update(() if dict is None else dict, **kwargs)

    def copy(self):
        """Return a new dictionary with weak references to the same keys."""
        return type(self)(self, ref_type=self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo):
        """Return a new dictionary with the same keys and deep copies of the values."""
        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = copy.deepcopy(value, memo)
        return new

    def __or__(self, other):
        return self._merged(self, other, other)

    def __ror__(self, other):
        return self._merged(other, self, other)

    def __ior__(self, other):
        self.update(other)
        return self

    def _merged(self, first, second, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        new = type(self)(first, ref_type=self.ref_type)
        new.update(second)
        return new

    def __eq__(self, other):
        """Whether the keys are the same objects, with equal values."""
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor):
        if not isinstance(tensor, torch.Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
