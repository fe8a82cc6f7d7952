"""torch.onnx.operators: functions for sizes as tensors, older names of functions of torch."""

import torch

__all__: list[str] = []
shape_as_tensor, reshape_from_tensor_shape = torch._shape_as_tensor, torch._reshape_from_tensor
