"""torch.nested: tensors of tensors of different sizes, of layout torch.strided or torch.jagged."""

from mindtorch_proxy.runtime.ops.nested import as_nested_tensor, masked_select, narrow, nested_tensor, nested_tensor_from_jagged, to_padded_tensor
from torch.serialization import add_safe_globals as _add_safe_globals

from . import _internal

_add_safe_globals([_internal.nested_tensor.NestedTensor, _internal.nested_tensor._rebuild_njt])

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
