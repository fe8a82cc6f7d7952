"""torch.onnx.operators: sizes as tensors, under the older names of torch's own functions."""

import torch

__all__: list[str] = []
shape_as_tensor, reshape_from_tensor_shape = torch._shape_as_tensor, torch._reshape_from_tensor
