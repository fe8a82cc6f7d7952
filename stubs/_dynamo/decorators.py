"""torch._dynamo.decorators: what files of jagged nested tensors name of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _DimRange:
    """The sizes that a dimension may have in a compiled function; here a note that files carry on."""

    dim: int
    min: int
    max: int
