"""The result of an export: a model that can be saved, and run with tensors by onnxruntime."""

import contextlib
import gc
import os
import re
import tempfile
import textwrap
import warnings

import torch
from torch.utils import _pytree as pytree

# the packages onnx_ir and onnxscript are imported where they are needed: programs import ONNXProgram without them

LARGE = 1536 * 1024**2  # bytes of weights above which they are saved beside the model; a file holds 2 GB


def _session(model):
    """Return an onnxruntime session for a model: bytes, or the path of a file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])


def _operands(args, kwargs):
    """Return the tensors and numbers of a call in the order of the model's inputs."""
    flat = [a for a in pytree.tree_leaves((args, kwargs)) if a is not None]
    return [torch.view_as_real(a.resolve_conj()) if isinstance(a, torch.Tensor) and a.is_complex() else a for a in flat]


def _to_runtime(value):
    import numpy as np
    import onnxruntime

    from ._values import DTYPES, bits_of, is_foreign

    make = onnxruntime.OrtValue
    if not isinstance(value, torch.Tensor):
        dtype = None if isinstance(value, bool) else {int: np.int64, float: np.float32}.get(type(value))
        return make.ortvalue_from_numpy(np.array(value, dtype))
    if is_foreign(value.dtype):
        return make.ortvalue_from_numpy_with_onnx_type(bits_of(value), onnx_element_type=DTYPES[value.dtype])
    return make.ortvalue_from_numpy(value.detach().contiguous().numpy(force=True))


def _from_runtime(value):
    from ._values import DTYPES, is_foreign

    dtype = next(d for d, number in DTYPES.items() if number == value.element_type())
    if is_foreign(dtype):
        return torch.from_dlpack(value._get_c_value())
    return torch.from_numpy(value.numpy())


class ONNXProgram:
    """A model in the ONNX format, as torch.onnx.export returns it. Calling it runs the model by onnxruntime.

    Attributes:
        model: the onnx_ir.Model.
        exported_program: the ExportedProgram that it was made of, or None.
    """

    __module__ = "torch.onnx"

    def __init__(self, model, exported_program):
        self.model, self.exported_program = model, exported_program
        self._inference_session = self._tempdir = None

    def __repr__(self):
        model, program = (textwrap.indent(str(part), " " * 8) for part in (self.model, self.exported_program))
        return f"ONNXProgram(\n    model=\n{model}\n    ,\n    exported_program=\n{program}\n)\n"

    def __call__(self, *args, **kwargs):
        """Run the model with the arguments of the module; return its flattened outputs as a tuple of tensors."""
        import onnxruntime

        if self._inference_session is None:
            self.initialize_inference_session()
        options = onnxruntime.RunOptions()
        options.log_severity_level = 3
        inputs = {i.name: _to_runtime(v) for i, v in zip(self.model.graph.inputs, _operands(args, kwargs))}
        return tuple(map(_from_runtime, self._inference_session.run_with_ort_values(None, inputs, options)))

    def call_reference(self, *args, **kwargs):
        """Do the same as a call, by the reference implementation of the package onnx."""
        import onnx_ir
        from onnx.reference import ReferenceEvaluator

        from ._values import TorchTensor

        inputs = {
            i.name: TorchTensor(v).numpy() if isinstance(v, torch.Tensor) else onnx_ir.tensor(v).numpy()
            for i, v in zip(self.model.graph.inputs, _operands(args, kwargs))
        }
        return tuple(torch.from_numpy(r) for r in ReferenceEvaluator(self.model_proto).run(None, inputs))

    def compute_values(self, value_names, args=(), kwargs=None):
        """Return the values with these names inside the graph, for arguments of the module.

        Raises:
            ValueError: if the graph has no value of a name.
        """
        graph = self.model.graph
        known = {
            v.name: v for v in (*graph.inputs, *graph.initializers.values(), *(o for n in graph for o in n.outputs))
        }
        for name in value_names:
            if name not in known:
                raise ValueError(f"Value '{name}' not found in the model. Please provide a valid value name.")
        before = list(graph.outputs)
        self.release()
        with contextlib.ExitStack() as stack:
            stack.callback(self.release)
            stack.callback(lambda: (graph.outputs.clear(), graph.outputs.extend(before)))
            graph.outputs.clear()
            graph.outputs.extend(known[name] for name in value_names)
            return self(*args, **(kwargs or {}))

    @property
    def model_proto(self):
        """The model as an onnx.ModelProto."""
        import onnx_ir

        return onnx_ir.serde.serialize_model(self.model)

    def optimize(self):
        """Fold constants and remove what is not needed, in place, by onnxscript's optimizer."""
        from onnxscript._framework_apis import torch_2_9 as onnxscript_apis

        self.model = onnxscript_apis.optimize(self.model)

    def _weights_size(self):
        weights = self.model.graph.initializers.values()
        return sum(weight.const_value.nbytes for weight in weights if weight.const_value is not None)

    def save(self, destination, *, include_initializers=True, keep_initializers_as_inputs=False, external_data=None):
        """Save the model to a file.

        Args:
            destination: the path of the file.
            include_initializers: whether the weights are saved.
            keep_initializers_as_inputs: whether the weights are inputs too, so that a run can replace them.
            external_data: whether the weights go to a file beside it, of the same name with ".data". They do in any
                case where a file of the format cannot hold them.
        """
        import onnx_ir
        from onnxscript._framework_apis import torch_2_9 as onnxscript_apis

        graph = self.model.graph
        weights, inputs = dict(graph.initializers), list(graph.inputs)
        if not include_initializers:
            graph.initializers.clear()
        if keep_initializers_as_inputs:
            graph.inputs.extend(weights.values())
        try:
            if external_data or self._weights_size() > LARGE:
                onnxscript_apis.save_model_with_external_data(self.model, destination)
            else:
                onnx_ir.save(self.model, destination)
        finally:
            if not include_initializers:
                graph.initializers.update(weights)
            if keep_initializers_as_inputs:
                graph.inputs.clear()
                graph.inputs.extend(inputs)

    def apply_weights(self, state_dict):
        """Replace weights by tensors of a state dict; names that the model lacks are left out with a warning."""
        from ._values import TorchTensor

        for name, tensor in state_dict.items():
            if name in self.model.graph.initializers:
                self.model.graph.initializers[name].const_value = TorchTensor(tensor, name)
            else:
                warnings.warn(f"Weight '{name}' not found in the model. Skipped applying.", stacklevel=2)

    def initialize_inference_session(self, initializer=_session):
        """Make the session that calls use: initializer(model), with the model's bytes or the path of its file."""
        if self._weights_size() > LARGE:
            self._tempdir = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            path = os.path.join(self._tempdir.name, "model.onnx")
            self.save(path, external_data=True)
            self._inference_session = initializer(path)
        else:
            self._inference_session = initializer(self.model_proto.SerializeToString())

    def release(self):
        """Drop the session and what it holds."""
        self._inference_session = None
        gc.collect()
        if self._tempdir is not None:
            self._tempdir.cleanup()
            self._tempdir = None

    def rename_axes(self, rename_mapping):
        """Give dimensions other names: {name, or dimension of the model: new name}, also within expressions."""
        import onnx_ir

        names = {key if isinstance(key, str) else key.value: new for key, new in rename_mapping.items()}
        pattern = re.compile("|".join(rf"(?<!\w){re.escape(n)}(?!\w)" for n in sorted(names, key=len, reverse=True)))
        for value in _all_values(self.model):
            if names and value.shape is not None and any(not isinstance(d, int) for d in value.shape):
                value.shape = onnx_ir.Shape(
                    [
                        d if isinstance(d, int) or d.value is None else pattern.sub(lambda m: names[m[0]], d.value)
                        for d in value.shape
                    ]
                )


def _all_values(model):
    import onnx_ir

    yield from model.graph.inputs
    yield from model.graph.initializers.values()
    for part in (model.graph, *model.functions.values()):
        for node in onnx_ir.traversal.RecursiveGraphIterator(part):
            yield from node.outputs
