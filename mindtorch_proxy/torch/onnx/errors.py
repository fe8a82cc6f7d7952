"""Errors and warnings of torch.onnx."""

from torch.onnx import OnnxExporterError

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """The category of the exporter's warnings."""


class UnsupportedOperatorError(OnnxExporterError):
    """Raised by the legacy exporter for an operator that it does not know."""


class SymbolicValueError(OnnxExporterError):
    """Raised by the legacy exporter for a value that it cannot describe."""
