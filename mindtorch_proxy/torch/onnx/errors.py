"""Errors and warnings of torch.onnx."""

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """The base class of errors of the exporter."""

    __module__ = "torch.onnx"


class OnnxExporterWarning(UserWarning):
    """The category of the exporter's warnings."""


class UnsupportedOperatorError(OnnxExporterError):
    """Raised by the legacy exporter for an operator that it does not know."""


class SymbolicValueError(OnnxExporterError):
    """Raised by the legacy exporter for a value that it cannot describe."""
