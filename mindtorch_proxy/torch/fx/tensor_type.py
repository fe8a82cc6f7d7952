"""Types of tensors by their sizes, any of which may be left open."""

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """A tensor of these sizes: numbers, Dyn, or variables."""

    def __init__(self, dim):
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self):
        return self.__args__

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    __hash__ = None

    @staticmethod
    def __class_getitem__(*args):
        return TensorType(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    """Whatever it is."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, _DynType)

    def __hash__(self):
        return hash(_DynType)

    def __str__(self):
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


def _is_variable(t):
    return type(t).__name__ == "Var"


def _each(relation, a, b):
    """Whether a relation holds for each pair of sizes."""
    return isinstance(a, TensorType) and isinstance(b, TensorType) and len(a.__args__) == len(b.__args__) and all(map(relation, a.__args__, b.__args__))


def is_consistent(t1, t2):
    """Whether a value may have both types."""
    return t1 == t2 or t1 == Dyn or t2 == Dyn or _is_variable(t1) or _is_variable(t2) or _each(is_consistent, t1, t2)


def is_more_precise(t1, t2):
    """Whether what has the first type has the second, too."""
    return t1 == t2 or t2 == Dyn or _is_variable(t2) or _each(is_more_precise, t1, t2)
