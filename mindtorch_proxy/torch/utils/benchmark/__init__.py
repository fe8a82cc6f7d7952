"""torch.utils.benchmark: time statements."""

from torch.utils.benchmark.utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from torch.utils.benchmark.utils.compare import Colorize, Compare
from torch.utils.benchmark.utils.timer import Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
