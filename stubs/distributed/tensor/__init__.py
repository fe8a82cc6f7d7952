"""torch.distributed.tensor in a build without torch.distributed: the class that nothing is an instance of."""

import torch

__all__ = ["DTensor"]


class DTensor(torch.Tensor):
    """A tensor in pieces on several processes; none can be made."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("DTensor: torch.distributed is not supported, on any device or dtype")

    @staticmethod
    def from_local(*args, **kwargs):
        """Raises: there is no process group."""
        return DTensor()
