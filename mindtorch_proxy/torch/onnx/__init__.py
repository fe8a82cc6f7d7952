"""torch.onnx: export of models to the ONNX format, over the packages onnxscript and onnx."""

import enum
import importlib
import re
import threading
import warnings

from torch.onnx.errors import OnnxExporterError
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


_EXPORTING = threading.local()


def is_in_onnx_export():
    """Whether the exporter is running in this thread."""
    return getattr(_EXPORTING, "now", False)


def export(
    model,
    args=(),
    f=None,
    *,
    kwargs=None,
    verbose=None,
    input_names=None,
    output_names=None,
    opset_version=None,
    dynamo=True,
    external_data=True,
    dynamic_shapes=None,
    custom_translation_table=None,
    report=False,
    optimize=True,
    verify=False,
    profile=False,
    dump_exported_program=False,
    artifacts_dir=".",
    export_params=True,
    keep_initializers_as_inputs=False,
    dynamic_axes=None,
    training=TrainingMode.EVAL,
    operator_export_type=OperatorExportTypes.ONNX,
    do_constant_folding=True,
    custom_opsets=None,
    export_modules_as_functions=False,
    autograd_inlining=True,
):
    """Export a module with example arguments, or an ExportedProgram, to a model in the ONNX format.

    It needs the packages onnx and onnxscript; calling the result needs onnxruntime.

    Args:
        model: an nn.Module or a torch.export.ExportedProgram.
        args: the positional example arguments.
        f: the path of a file to which the model is saved as well, or a file object.
        kwargs: the keyword example arguments.
        verbose: False prints nothing; otherwise each step is told.
        input_names: names for the inputs, in order.
        output_names: names for the outputs, in order.
        opset_version: the version of ONNX's operators; 20 without it.
        external_data: whether weights are saved beside the model's file.
        dynamic_shapes: which dimensions stay symbols, as for torch.export.export; strings name them.
        custom_translation_table: {operator: function of onnxscript} that are used before any others.
        optimize: whether constants are folded and superfluous nodes removed.
        verify: whether the model's results are compared with the module's, and the differences printed.
        dump_exported_program: whether the ExportedProgram is saved to artifacts_dir.
        export_params: whether weights are saved in f.
        keep_initializers_as_inputs: whether weights are inputs of f as well.
        dynamic_axes: the older form of dynamic_shapes, {name of an input: {dimension: name}, or [dimension]}.
        training, operator_export_type, do_constant_folding, custom_opsets, export_modules_as_functions,
            autograd_inlining: of the legacy exporter; they have no effect.

    Returns:
        The ONNXProgram.

    Raises:
        ModuleNotFoundError: if onnxscript is not installed.
        NotImplementedError: for dynamo=False, report and profile.
        TorchExportError: if torch.export.export fails.
        ConversionError: if an operator has no ONNX function.
    """
    import torch

    if not dynamo and not isinstance(model, torch.export.ExportedProgram):
        raise NotImplementedError("torch.onnx.export(dynamo=False): the legacy exporter is missing; use dynamo=True")
    for name, given in (("report", report), ("profile", profile)):
        if given:
            raise NotImplementedError(f"torch.onnx.export({name}=True) is missing")
    importlib.import_module("onnxscript")  # so that this is the package that an error names first
    from ._internal.exporter import _core, _dynamic_shapes, _registration

    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    kwargs = dict(kwargs or {})
    if args and isinstance(args[-1], dict) and not kwargs:  # the older form of keyword arguments
        args, kwargs = args[:-1], args[-1]
    if isinstance(model, torch.nn.Module) and model.training:
        warnings.warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, as it may lead to "
            "different behavior during inference. Calling model.eval() before export is recommended.",
            stacklevel=2,
        )
    if dynamic_axes and dynamic_shapes is None and not isinstance(model, torch.export.ExportedProgram):
        warnings.warn(
            "# 'dynamic_axes' is not recommended when dynamo=True, and may lead to 'torch._dynamo.exc.UserError: "
            "Constraints violated.' Supply the 'dynamic_shapes' argument instead if export is unsuccessful.",
            stacklevel=2,
        )
        dynamic_shapes, args, kwargs = _dynamic_shapes.of_dynamic_axes(
            model, args, kwargs, dynamic_axes, input_names, set(output_names or ())
        )
    plain_shapes, named = _dynamic_shapes.without_names(dynamic_shapes)
    opset_version = _core.DEFAULT_OPSET if opset_version is None else opset_version
    registry = _registration.ONNXRegistry.from_torchlib(max(opset_version, _registration.OPSET))
    for target, function in (custom_translation_table or {}).items():
        registry.register_op(target, function)
    before, _EXPORTING.now = is_in_onnx_export(), True
    try:
        program = _core.export(
            model,
            args,
            kwargs,
            registry=registry,
            dynamic_shapes=plain_shapes,
            input_names=input_names,
            output_names=output_names,
            verify=verify,
            dump_exported_program=dump_exported_program,
            artifacts_dir=artifacts_dir,
            verbose=verbose,
            optimize=optimize,
            opset_version=opset_version,
        )
    finally:
        _EXPORTING.now = before
    if named:
        program.rename_axes(_dynamic_shapes.new_names(program.model.graph.inputs, dynamic_shapes))
    if hasattr(f, "write"):
        f.write(program.model_proto.SerializeToString())
    elif f is not None:
        program.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data,
        )
    return program


def __getattr__(name):
    """Import what is needed seldom on first use."""
    if name == "ONNXProgram":
        from ._internal.exporter._onnx_program import ONNXProgram

        return ONNXProgram
    raise AttributeError(f"module 'torch.onnx' has no attribute '{name}'")


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
