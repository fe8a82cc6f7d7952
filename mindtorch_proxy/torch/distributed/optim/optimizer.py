"""An optimizer for parameters of other workers: it takes their gradients from torch.distributed.autograd, which this
build does not have.
"""

__all__ = ["DistributedOptimizer"]


class DistributedOptimizer:
    """Optimizers on the workers that own the parameters. None can be made.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, optimizer_class, params_rref, *args, **kwargs):
        raise NotImplementedError(
            "torch.distributed.optim.DistributedOptimizer: gradients across remote procedure calls are not supported "
            "(any dtype, any device)"
        )
