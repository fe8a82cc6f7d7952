"""torch.quantization.quant_type: the older name of torch.ao.quantization.quant_type."""

from torch.ao.quantization.quant_type import QuantType, _get_quant_type_to_str  # noqa: F401
