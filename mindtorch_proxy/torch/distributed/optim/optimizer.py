"""DistributedOptimizer for parameters of other workers.

It needs torch.distributed.autograd, which is not supported.
"""

__all__ = ["DistributedOptimizer"]


class DistributedOptimizer:
    """Optimizers on the workers that own the parameters. Not supported.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, optimizer_class, params_rref, *args, **kwargs):
        raise NotImplementedError(
            "torch.distributed.optim.DistributedOptimizer: gradients across remote procedure calls are not supported "
            "(any dtype, any device)"
        )
