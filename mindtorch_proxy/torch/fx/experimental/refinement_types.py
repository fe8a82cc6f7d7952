"""What type inference holds to be equal."""


class Equality:
    """Two types, or sizes, that are the same."""

    def __init__(self, lhs, rhs):
        self.lhs, self.rhs = lhs, rhs

    def __repr__(self):
        return f"{self.lhs} = {self.rhs}"

    __str__ = __repr__

    def __eq__(self, other):
        return isinstance(other, Equality) and self.lhs == other.lhs and self.rhs == other.rhs

    __hash__ = None
