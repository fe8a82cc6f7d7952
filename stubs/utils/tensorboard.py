"""torch.utils.tensorboard: PyTorch's writer is built on the package tensorboard; tensorboardX has the same interface."""

try:
    from tensorboardX import SummaryWriter
except ImportError as e:
    raise ImportError("torch.utils.tensorboard needs the package tensorboardX: pip install tensorboardX") from e

__all__ = ["SummaryWriter"]
