"""The exporter: an exported program, its decomposition for ONNX, and the translation node by node."""

import datetime
import operator
import os
import textwrap
import traceback
from pathlib import Path

import onnx_ir as ir
import onnxscript
import torch
from onnxscript._framework_apis import torch_2_9 as onnxscript_apis
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from . import _errors
from ._functions import FUNCTIONS
from ._onnx_program import ONNXProgram
from ._recorder import Recorder
from ._registration import OPSET, ONNXRegistry, target_of
from ._values import DTYPES, TorchTensor, Value, describe

DEFAULT_OPSET = 20
_CHECKS = set(
    map(
        target_of,
        """aten::sym_constrain_range_for_size aten::sym_constrain_range aten::_assert_async aten::_assert_async.msg
        aten::_assert_scalar aten::_assert_tensor_metadata""".split(),
    )
)


# ------------------------------------------------------------------------------------------------ preparation
def _prepare_exported_program_for_export(exported_program, *, registry):
    """Return the program in operators that have an ONNX function, as far as decompositions lead there.

    Checks of sizes and values are left out: ONNX has no such operators.
    """
    table = {
        target: function
        for target, function in torch.export.default_decompositions().items()
        if not registry.is_registered(target)
    }
    for target, function in torch._decomp.decomposition_table.items():
        if isinstance(target, torch._ops.OpOverload) and not registry.is_registered(target):
            table.setdefault(target, function)
    program = exported_program.run_decompositions(table)
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in list(module.graph.nodes):
                if node.op == "call_function" and node.target in _CHECKS:
                    module.graph.erase_node(node)
            module.recompile()
    return program


# ------------------------------------------------------------------------------------------------ type promotion
_OWN_TYPES = {"condition", "mask"}  # parameters whose dtype does not count
_NUMBERS = {torch.SymInt: 1, torch.SymFloat: 1.0, torch.SymBool: True}  # examples of what symbolic numbers are
# what adds and multiplies elements computes bools and small integers in the dtype of the result
_SUMS = set(
    map(target_of, "aten::sum aten::sum.dim_IntList aten::prod aten::prod.dim_int aten::cumsum aten::cumprod".split())
)


def _promotes(target):
    if target in _SUMS:
        return True
    if not isinstance(target, torch._ops.OpOverload):
        return False
    return torch.Tag.pointwise in target.tags or target in (torch.ops.aten.cat.default, torch.ops.aten.stack.default)


def _flat(args):
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from _flat(arg)
        else:
            yield arg


def _common_dtype(node):
    """Return the dtype to which an elementwise operator brings its tensors before it computes, or None.

    PyTorch's operators take operands of different dtypes, ONNX's take one.
    """
    if node.target in _SUMS:
        return node.meta["val"].dtype
    named = zip((a.name for a in node.target._schema.arguments), node.args)
    operands = []
    for arg in _flat(arg for name, arg in named if name not in _OWN_TYPES):
        example = arg.meta.get("val") if isinstance(arg, torch.fx.Node) else arg
        example = _NUMBERS.get(type(example), example)
        if isinstance(example, (torch.Tensor, bool, int, float, complex)):
            operands.append(example)
    if not any(isinstance(t, torch.Tensor) for t in operands):
        return None
    dtype = elementwise_dtypes(*operands, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)[1]
    result = node.meta.get("val")
    if isinstance(result, torch.Tensor) and result.dtype.is_floating_point and not dtype.is_floating_point:
        return None if dtype.is_complex else result.dtype  # of integers an elementwise operator computes floats
    return None if dtype.is_complex else dtype


# ------------------------------------------------------------------------------------------------ translation
class _Graph:
    """The translation of one graph of fx into an ONNX graph: values by the names of fx's nodes."""

    def __init__(self, module, model, registry, graph):
        self.module, self.model, self.registry, self.graph = module, model, registry, graph
        self.opset = onnxscript.values.Opset("", registry.opset_version)
        self.values, self.constants = {}, {}

    def translate(self):
        """Translate all nodes.

        Raises:
            ConversionError: naming the node that cannot be translated.
        """
        for node in self.module.graph.nodes:
            try:
                getattr(self, node.op)(node)
            except Exception as error:
                raise _errors.ConversionError(
                    f"Error when translating node {node.format_node()}. See the stack trace for more information."
                ) from error
        return self

    def placeholder(self, node):
        """Make the value of an input."""
        value = Value(self.opset, node.name)
        describe(value, node.meta["val"])
        self.values[node.name] = value
        self.graph.inputs.append(value)

    def get_attr(self, node):
        """Make a weight of a tensor that the graph holds itself."""
        tensor = node.meta.get("val")
        held = self.module
        for part in node.target.split("."):
            held = getattr(held, part)
        if isinstance(held, torch.fx.GraphModule):
            raise NotImplementedError(
                f"torch.onnx.export: the graph '{node.target}' inside the graph (torch.cond, scan)"
            )
        value = Value(self.opset, node.name)
        describe(value, held if tensor is None else tensor)
        value.const_value = TorchTensor(held, node.name)
        self.model.graph.initializers[node.name] = self.values[node.name] = value

    def output(self, node):
        """Leave the outputs to the program's signature."""

    def call_function(self, node):
        """Call the ONNX function of an operator."""
        if node.target is operator.getitem and isinstance(self.values[node.args[0].name], tuple):
            value = self.values[node.args[0].name][node.args[1]]
            value.name = node.name
            self.values[node.name] = value
            return
        function = self.registry.find(node)
        if function is None:
            raise _errors.DispatchError(f"No ONNX function found for {node.target!r}")
        recorder = Recorder(self.opset, self.constants)
        with onnxscript.evaluator.default_as(recorder):
            args, kwargs = self._arguments(node)
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                raise _errors.GraphConstructionError(
                    f"Error when calling function '{function}' with args '{args}' and kwargs '{kwargs}'"
                ) from error
            if not isinstance(result, (ir.Value, tuple, list)):  # a function may return a number that it knows
                result = self.opset.Constant(value=ir.tensor(result))
        self._keep(node, tuple(result) if isinstance(result, list) else result, recorder)

    def _arguments(self, node):
        """Return the arguments of a call for its ONNX function."""
        dtype = _common_dtype(node) if _promotes(node.target) else None
        names = [a.name for a in node.target._schema.arguments] if dtype is not None else ()
        args = []
        for i, arg in enumerate(node.args):
            own = i < len(names) and names[i] in _OWN_TYPES
            args.append(self._argument(arg, None if own else dtype))
        kwargs = {name: self._argument(arg, None) for name, arg in node.kwargs.items()}
        if kwargs.get("dtype", 0) is None:
            kwargs["dtype"] = -1  # how torch_lib's functions are told that there is none
        return args, kwargs

    def _argument(self, arg, dtype):
        if isinstance(arg, torch.fx.Node):
            value, example = self.values[arg.name], arg.meta.get("val")
            number = type(example) in _NUMBERS  # a tensor in ONNX
            cast = dtype is not None and (number or isinstance(example, torch.Tensor) and example.dtype is not dtype)
            if not cast:
                return value
            value = self.opset.Cast(value, to=DTYPES[dtype])
            value.dtype, value.shape = DTYPES[dtype], self.values[arg.name].shape
            return value
        if isinstance(arg, (list, tuple)):
            return [self._argument(a, dtype) for a in arg]
        if isinstance(arg, torch.dtype):
            return DTYPES[arg]
        return str(arg) if isinstance(arg, (torch.device, torch.layout, torch.memory_format)) else arg

    def _keep(self, node, result, recorder):
        """Name the results and nodes of a call, and append the nodes to the graph."""
        several = isinstance(result, tuple)
        examples = node.meta["val"] if several else (node.meta["val"],)
        if several and not isinstance(examples, (list, tuple)):
            examples = (examples,)
        for i, value in enumerate(result if several else (result,)):
            value.name = f"{node.name}__{i}" if several else node.name
            if i < len(examples):
                describe(value, examples[i])
            if (producer := value.producer()) is not None:
                producer.name = f"node_{value.name}"
        self.values[node.name] = result
        for made in recorder.nodes:
            made.metadata_props.update(_origin(node))
        for identifier, function in recorder.functions.items():
            if identifier not in self.model.functions:
                self.model.functions[identifier] = ir.serde.deserialize_function(function.to_function_proto())
        self.graph.extend(recorder.nodes)


def _origin(node):
    """Return what a node of the model says about where it comes from."""
    stack = node.meta.get("nn_module_stack") or {}
    scopes = [(name, kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}")
              for name, kind in stack.values()]  # fmt: skip
    scopes.append((node.name, str(node.target)))
    return {
        "namespace": "/".join(f"{name}: {kind}" for name, kind in scopes),
        "pkg.torch.onnx.class_hierarchy": repr([kind for _, kind in scopes]),
        "pkg.torch.onnx.name_scopes": repr([name for name, _ in scopes]),
        "pkg.torch.onnx.fx_node": str(node.format_node()),
        "pkg.torch.onnx.stack_trace": node.meta.get("stack_trace") or "",
    }


def exported_program_to_ir(exported_program, registry):
    """Return the onnx_ir.Model of a program whose operators all have ONNX functions."""
    model = ir.Model(
        ir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name="main_graph"),
        ir_version=10,
        producer_name="pytorch",
        producer_version=torch.__version__,
    )
    values = _Graph(exported_program.graph_module, model, registry, model.graph).translate().values
    signature, graph = exported_program.graph_signature, model.graph
    graph.inputs.clear()
    weights = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    for spec in signature.input_specs:
        if isinstance(spec.arg, ConstantArgument):
            continue
        value = values[spec.arg.name]
        value.metadata_props["pkg.torch.export.graph_signature.InputSpec.kind"] = spec.kind.name
        value.metadata_props["pkg.torch.export.graph_signature.InputSpec.persistent"] = str(spec.persistent)
        if spec.kind is InputKind.USER_INPUT:
            graph.inputs.append(value)
        else:
            value.metadata_props["pkg.torch.onnx.original_node_name"] = value.name
            value.name = weights.get(value.name, value.name)
            graph.initializers[value.name] = value
    for spec in signature.output_specs:
        if isinstance(spec.arg, ConstantArgument):
            continue
        found = values[spec.arg.name]
        for value in found if isinstance(found, tuple) else (found,):
            value.metadata_props["pkg.torch.export.graph_signature.OutputSpec.kind"] = spec.kind.name
            if spec.kind is OutputKind.USER_OUTPUT:
                graph.outputs.append(value)
    _fill_weights(graph, exported_program)
    _name_opsets(model)
    return model


def _fill_weights(graph, program):
    """Give the weights their values: parameters, buffers, and tensors that the program lifted out of the graph."""
    for name, tensor in (*program.named_parameters(), *program.named_buffers(), *program.constants.items()):
        weight = graph.initializers.get(name)
        if weight is not None and isinstance(tensor, torch.Tensor):
            tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
            weight.const_value = TorchTensor(tensor, name)
            describe(weight, tensor)


def _name_opsets(model):
    """Name the opset of each domain that is used, in the model and its functions."""
    for part in (model.graph, *model.functions.values()):
        for node in ir.traversal.RecursiveGraphIterator(part):
            version = model.graph.opset_imports[""] if node.domain == "" else node.version or 1
            part.opset_imports.setdefault(node.domain, version)
        for domain, version in part.opset_imports.items():
            model.opset_imports.setdefault(domain, version)


# ------------------------------------------------------------------------------------------------ the steps
_STEPS = {
    "capture": (
        "Failed to export the model with torch.export (step 1 of 3 of exporting the model to ONNX). Change the model "
        "so that torch.export.export succeeds."
    ),
    "decomposition": "Failed to decompose the graph for ONNX (step 2 of 3 of exporting the model to ONNX).",
    "translation": (
        "Failed to convert the exported program to an ONNX model (step 3 of 3 of exporting the model to ONNX). Where "
        "an ONNX function is missing, custom_translation_table can bring it."
    ),
}


def _chain(error):
    """Return the errors that led to an error, one in a line, as text for the end of a message."""
    lines = []
    while error is not None:
        lines.append(f"{type(error)}: {str(error).splitlines()[0] if str(error) else ''}")
        error = error.__cause__ or error.__context__
    return "\n\n## Exception summary\n\n" + "\n⬆️\n".join(lines)


class _Steps:
    """Runs the steps of an export and prints, unless told not to, how far it is."""

    def __init__(self, verbose):
        self.verbose = verbose

    def say(self, text):
        """Print a line."""
        if self.verbose is not False:
            print("[torch.onnx]", text)

    def run(self, text, call, error=None, step=None):
        """Run one step; where it fails and `error` is given, raise that."""
        self.say(text)
        try:
            result = call()
        except Exception as cause:
            self.say(f"{text} ❌")
            if error is None:
                raise
            raise error(_STEPS[step] + _chain(cause)) from cause
        self.say(f"{text} ✅")
        return result


def _title(model):
    text = repr(model)
    first = text.splitlines()[0] if text else type(model).__name__
    return first + "[...])" if first.endswith("(") and text != first else first


def _capture(steps, model, args, kwargs, dynamic_shapes):
    return steps.run(
        f"Obtain model graph for `{_title(model)}` with `torch.export.export(..., strict=False)`...",
        lambda: torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False),
        _errors.TorchExportError,
        "capture",
    )


def export(
    model,
    args=(),
    kwargs=None,
    *,
    registry=None,
    dynamic_shapes=None,
    input_names=None,
    output_names=None,
    verify=False,
    dump_exported_program=False,
    artifacts_dir=".",
    verbose=None,
    optimize=True,
    opset_version=None,
):
    """Return the ONNXProgram of a module with example arguments, or of an ExportedProgram.

    Raises:
        TorchExportError: if torch.export.export fails.
        ConversionError: if a decomposition fails, or an operator has no ONNX function.
    """
    steps, registry = _Steps(verbose), registry or ONNXRegistry.from_torchlib()
    for target, function in FUNCTIONS.items():
        registry.functions.setdefault(target, function)
    program = model
    if not isinstance(model, torch.export.ExportedProgram):
        program = _capture(steps, model, args, kwargs, dynamic_shapes)
    if dump_exported_program:
        os.makedirs(artifacts_dir, exist_ok=True)
        path = Path(artifacts_dir, f"onnx_export_{datetime.datetime.now():%Y-%m-%d_%H-%M-%S-%f}.pt2")
        torch.export.save(program, path)
        steps.say(f"ExportedProgram has been saved to '{path}'.")
    decomposed = steps.run(
        "Run decompositions...",
        lambda: _prepare_exported_program_for_export(program, registry=registry),
        _errors.ConversionError,
        "decomposition",
    )
    translated = steps.run(
        "Translate the graph into ONNX...",
        lambda: exported_program_to_ir(decomposed, registry),
        _errors.ConversionError,
        "translation",
    )
    found = ONNXProgram(translated, decomposed)
    if opset_version is not None:
        found.model = onnxscript_apis.convert_version(found.model, opset_version)
    if optimize:
        steps.run("Optimize the ONNX graph...", found.optimize)
    _rename("Input", found.model.graph.inputs, input_names)
    _rename("Output", found.model.graph.outputs, output_names)
    if verify:
        _verify(steps, found, args, kwargs)
    return found


def _rename(what, values, names):
    names = list(names or ())
    if len(set(names)) < len(names):
        raise ValueError(f"{what} names cannot be duplicated: {[n for i, n in enumerate(names) if n in names[:i]]}")
    for value, name in zip(values, names):
        value.metadata_props["pkg.torch.onnx.original_node_name"] = str(value.name)
        value.name = name


def _verify(steps, program, args, kwargs):
    """Compare the program's results on onnxruntime with the module's, and print the greatest differences."""
    from ._verification import verify_onnx_program

    try:
        for info in steps.run("Execute the model with ONNX Runtime...", lambda: verify_onnx_program(program)):
            steps.say(f"Verified {info.name}: max abs diff {info.max_abs_diff}, max rel diff {info.max_rel_diff}")
    except Exception:  # as PyTorch's exporter, which returns the program all the same
        steps.say(textwrap.indent(traceback.format_exc(), "  "))
