"""torch.utils._ordered_set: a set that keeps the order in which elements were added."""

from collections.abc import MutableSet

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet):
    """A set based on the keys of a dict; results of set operations start with the elements of this set, in order."""

    __slots__ = ("_dict",)

    def __init__(self, iterable=None):
        self._dict = dict.fromkeys(iterable) if iterable is not None else {}

    @staticmethod
    def _from_dict(dict_inp):
        made = OrderedSet()
        made._dict = dict_inp
        return made

    @classmethod
    def _from_iterable(cls, it):
        return cls(it)

    def __contains__(self, elem):
        return elem in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __len__(self):
        return len(self._dict)

    def __reversed__(self):
        return reversed(self._dict)

    def add(self, elem):
        self._dict[elem] = None

    def discard(self, elem):
        self._dict.pop(elem, None)

    def clear(self):
        self._dict.clear()

    def pop(self):
        """Remove and return the last element; KeyError if the set is empty."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self):
        return OrderedSet(self)

    def difference(self, *others):
        made = self.copy()
        made.difference_update(*others)
        return made

    def difference_update(self, *others):
        for other in others:
            self -= _as_set(other)

    def update(self, *others):
        for other in others:
            self |= _as_set(other)

    def intersection(self, *others):
        made = self.copy()
        made.intersection_update(*others)
        return made

    def intersection_update(self, *others):
        for other in others:
            self &= _as_set(other)

    def issubset(self, other):
        return self <= _as_set(other)

    def issuperset(self, other):
        return self >= _as_set(other)

    def symmetric_difference(self, other):
        return self ^ _as_set(other)

    def symmetric_difference_update(self, other):
        self ^= _as_set(other)

    def union(self, *others):
        made = self.copy()
        made.update(*others)
        return made

    def __eq__(self, other):
        return self._dict == other._dict if isinstance(other, OrderedSet) else super().__eq__(other)

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({list(self)})"

    def __getstate__(self):
        return list(self._dict)

    def __setstate__(self, state):
        self._dict = dict.fromkeys(state)


def _as_set(iterable):
    return iterable if isinstance(iterable, (set, frozenset, OrderedSet)) else OrderedSet(iterable)
