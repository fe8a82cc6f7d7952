"""torch._dynamo.decorators: the part that pickled jagged nested tensors refer to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _DimRange:
    """The range of a dimension's size in a compiled function; here only data that pickle files contain."""

    dim: int
    min: int
    max: int
