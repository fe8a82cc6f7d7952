"""The names and colors of the kinds of memory use.

Memory use over time is not recorded, so there is no timeline.
"""

import enum


class Category(enum.Enum):
    """What a piece of memory is used for."""

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


_CATEGORY_TO_COLORS = {
    Category.PARAMETER: "darkgreen",
    Category.OPTIMIZER_STATE: "goldenrod",
    Category.INPUT: "black",
    Category.TEMPORARY: "mediumpurple",
    Category.ACTIVATION: "red",
    Category.GRADIENT: "mediumblue",
    Category.AUTOGRAD_DETAIL: "royalblue",
    None: "grey",
}
_CATEGORY_TO_INDEX = {kind: i for i, kind in enumerate(_CATEGORY_TO_COLORS)}


class MemoryProfileTimeline:
    """The sizes of the kinds of memory use over time. It cannot be created.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, memory_profile):
        raise NotImplementedError(
            "torch.profiler._memory_profiler.MemoryProfileTimeline: the profiler records no memory, of any dtype, "
            "on any device"
        )
