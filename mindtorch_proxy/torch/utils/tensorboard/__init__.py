"""torch.utils.tensorboard: writes log files for TensorBoard, with the writer and formats of the package tensorboard."""

import tensorboard
from packaging.version import Version

if Version(getattr(tensorboard, "__version__", "0")) < Version("1.15"):
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")

from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: E402

from .writer import FileWriter, SummaryWriter  # noqa: E402

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
