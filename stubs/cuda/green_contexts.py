"""torch.cuda.green_contexts without CUDA."""

__all__ = ["GreenContext"]
SUPPORTED = False


class GreenContext:
    """A partition of a device's processors; none can be created."""

    @staticmethod
    def create(*, num_sms=None, workqueue_scope=None, workqueue_concurrency_limit=None, device_id=None):
        """Raise PyTorch's error."""
        raise RuntimeError("PyTorch was not built with Green Context support!")

    @staticmethod
    def max_workqueue_concurrency(device_id=None):
        """Raise PyTorch's error."""
        raise RuntimeError("PyTorch was not built with Green Context support!")
