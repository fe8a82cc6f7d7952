"""torch.quantization.quantization_mappings: the older name of torch.ao.quantization.quantization_mappings."""

from torch.ao.quantization.quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_QAT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_static_quant_module_mappings,
    get_dynamic_quant_module_class,
    get_static_quant_module_class,
)  # noqa: F401
