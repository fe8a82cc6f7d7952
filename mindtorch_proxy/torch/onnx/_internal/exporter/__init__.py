"""From an exported program to a model in the ONNX format.

onnxscript has the functions that compute PyTorch's operators in ONNX (its torch_lib), onnx_ir the model in memory.
"""
