"""torch._dynamo.source: where the values of a trace come from."""


class Source:
    """Where a value comes from: an expression such as ``L['x'].size()[0]``."""

    def __init__(self, name):
        self._name = name

    name = property(lambda self: self._name, doc="The expression.")

    def __repr__(self):
        return f"{type(self).__name__}({self._name!r})"

    def __eq__(self, other):
        return isinstance(other, Source) and self._name == other._name

    def __hash__(self):
        return hash(self._name)


class ConstantSource(Source):
    """A source that is a plain name."""
