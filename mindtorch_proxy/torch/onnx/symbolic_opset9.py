"""torch.onnx.symbolic_opset9: the symbolic functions for ONNX opset 9; calling one raises NotImplementedError."""

import torch


def __getattr__(name):
    if name[:2] == "__" or not hasattr(torch.ops.aten, name):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def writer(g, *args, **kwargs):
        raise NotImplementedError(f"torch.onnx.symbolic_opset9.{name}: there is no ONNX exporter")

    writer.__name__ = writer.__qualname__ = name
    return writer
