"""torch.nested: tensors made of tensors of different sizes, with layout torch.strided or torch.jagged."""

from mindtorch_proxy.runtime.ops.nested import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)

from . import _internal  # noqa: F401

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
