"""Operators for functions of torch_npu that are a single kernel on an NPU.

On other devices they run as their decompositions.
"""

from mindtorch_proxy.runtime.registry import function

flash_attention = function("_C", "flash_attention")
swiglu = function("_C", "swiglu")
rotary_embedding = function("_C", "rotary_embedding")
