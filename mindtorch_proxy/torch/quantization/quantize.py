"""torch.quantization.quantize: the older name of torch.ao.quantization.quantize."""

from torch.ao.quantization.quantize import (
    _convert,
    add_quant_dequant,
    convert,
    prepare,
    prepare_qat,
    propagate_qconfig_,
    quantize,
    quantize_dynamic,
    quantize_qat,
    swap_module,
)  # noqa: F401
