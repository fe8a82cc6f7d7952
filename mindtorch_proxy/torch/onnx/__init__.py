"""torch.onnx: modes and queries only; models cannot be exported."""

import enum
import re

from torch.version import __version__ as producer_version

producer_name = "pytorch"
__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


class OnnxExporterError(RuntimeError):
    """The base class of errors of the exporter."""


class ONNXProgram:
    """A model in the ONNX format, as the exporter returns it. It cannot be created, since there is no exporter.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, model, exported_program):
        raise NotImplementedError("torch.onnx.ONNXProgram: there is no ONNX exporter")


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
    """Whether the exporter is running; always False."""
    return False


def export(*args, **kwargs):
    """Raise NotImplementedError: models cannot be exported."""
    raise NotImplementedError("torch.onnx.export: there is no ONNX exporter")


TensorProtoDataType = enum.IntEnum(
    "TensorProtoDataType",
    "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 "
    "BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ",
    start=0,
    module=__name__,
)
_symbolics: dict = {}  # {(operator, opset version): symbolic function}


def _checked(symbolic_name):
    if not re.fullmatch(r"\w+::\w+(\.\w+)?", symbolic_name):
        raise OnnxExporterError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name."
        )
    return symbolic_name


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Register the symbolic function of an operator for the exporter, which does not exist."""
    _symbolics[_checked(symbolic_name), opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Remove the symbolic function of an operator."""
    _symbolics.pop((_checked(symbolic_name), opset_version), None)
