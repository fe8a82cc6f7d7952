"""torch.onnx: models cannot be exported; the modes and questions exist."""

import enum

__all__ = ["OnnxExporterError", "OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export"]


class OnnxExporterError(RuntimeError):
    """An error of the exporter."""


class TrainingMode(enum.IntEnum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """How operators are exported."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export():
    """Whether the exporter runs: never."""
    return False


def export(*args, **kwargs):
    """Raises: models cannot be exported."""
    raise NotImplementedError("torch.onnx.export: there is no ONNX exporter")
