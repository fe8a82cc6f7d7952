"""torch.utils.tensorboard: what is logged, as files for the package tensorboard, whose writer and formats it uses."""

import tensorboard
from packaging.version import Version

if Version(getattr(tensorboard, "__version__", "0")) < Version("1.15"):
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")

from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: E402

from .writer import FileWriter, SummaryWriter  # noqa: E402

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
