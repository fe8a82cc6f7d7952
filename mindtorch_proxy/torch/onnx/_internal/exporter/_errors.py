"""The errors of the exporter, one for each step."""

from ...errors import OnnxExporterError


class TorchExportError(OnnxExporterError):
    """Raised when torch.export.export fails for the model."""


class ConversionError(OnnxExporterError):
    """Raised when an exported program cannot be converted to ONNX."""


class DispatchError(ConversionError):
    """Raised when there is no ONNX function for an operator."""


class GraphConstructionError(ConversionError):
    """Raised when the ONNX function of an operator fails."""
