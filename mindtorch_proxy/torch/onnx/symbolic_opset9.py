"""torch.onnx.symbolic_opset9: what writes PyTorch's operators as ONNX's of version 9: known by name, and not
supported.
"""

import torch


def __getattr__(name):
    if name[:2] == "__" or not hasattr(torch.ops.aten, name):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def writer(g, *args, **kwargs):
        raise NotImplementedError(f"torch.onnx.symbolic_opset9.{name}: there is no ONNX exporter")

    writer.__name__ = writer.__qualname__ = name
    return writer
