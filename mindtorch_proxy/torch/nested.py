"""torch.nested: tensors of tensors of different sizes, of layout torch.strided; those of layout torch.jagged are refused."""

from mindtorch_proxy.runtime.ops.nested import as_nested_tensor, masked_select, narrow, nested_tensor, nested_tensor_from_jagged, to_padded_tensor

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
