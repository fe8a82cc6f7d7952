"""Operators that an NPU has as one kernel, for torch_npu's functions.

On other devices their decompositions compute them.
"""

from mindtorch_proxy.runtime.registry import function

flash_attention = function("_C", "flash_attention")
swiglu = function("_C", "swiglu")
rotary_embedding = function("_C", "rotary_embedding")
