"""Data parallelism within one process."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import torch

from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]

T = TypeVar("T", bound=Module)


def _accelerators():
    """Return the number of accelerators that this process sees."""
    return torch.accelerator.device_count() if torch.accelerator.is_available() else 0


class DataParallel(Module, Generic[T]):
    """Split each batch over the accelerators; with at most one, just call the module."""

    def __init__(
        self,
        module: T,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: int | torch.device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        available = _accelerators()
        self.device_ids = list(range(available) if device_ids is None else device_ids) if available else []
        if not available:
            return
        if len(self.device_ids) > 1:
            raise NotImplementedError(f"DataParallel over several devices ({self.device_ids}) is not supported")
        self.dim = dim
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj = torch.device(torch.accelerator.current_accelerator().type, self.device_ids[0])
        module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            inputs, kwargs = torch.utils._pytree.tree_map_only(
                torch.Tensor, lambda t: t.to(self.src_device_obj), (inputs, kwargs)
            )
        return self.module(*inputs, **kwargs)

    def replicate(self, module, device_ids):
        """Return copies of the module on the devices."""
        return replicate(module, device_ids, not torch.is_grad_enabled())

    def scatter(self, inputs, kwargs, device_ids):
        """Split a batch into one part per device."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        """Call the copies and return their results."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs, output_device):
        """Concatenate the results on one device."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Call the module as DataParallel would; raise RuntimeError if there is no accelerator."""
    if not _accelerators():
        raise RuntimeError("device type could not be determined")
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
