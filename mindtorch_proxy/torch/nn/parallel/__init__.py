"""Running a module on several devices or in several processes."""

from importlib import import_module

from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "replicate",
    "scatter",
    "parallel_apply",
    "gather",
    "data_parallel",
    "DataParallel",
    "DistributedDataParallel",
]


def __dir__():
    return sorted({*globals(), *__all__, "distributed"})


def __getattr__(name):
    if name in ("DistributedDataParallel", "distributed"):  # imports torch.distributed lazily
        module = import_module(f"{__name__}.distributed")
        globals()["DistributedDataParallel"] = module.DistributedDataParallel
        return globals()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
