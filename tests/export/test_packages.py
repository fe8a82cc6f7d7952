"""torch.onnx without the packages of ONNX."""

WITHOUT = """
import sys
for name in ("onnx", "onnx_ir", "onnxscript", "onnxruntime"):
    sys.modules[name] = None
import torch
from torch.onnx import ONNXProgram, OnnxExporterError, errors
try:
    torch.onnx.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
except ModuleNotFoundError as error:
    print(ONNXProgram.__module__, error)
"""


def test_without_the_packages_the_names_are_there(python):
    told = python("-m", "mindtorch_proxy", "-c", WITHOUT)
    assert told == "torch.onnx import of onnxscript halted; None in sys.modules"
