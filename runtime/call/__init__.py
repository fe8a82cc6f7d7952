"""The stages of an operator call.

In order: codegen and public (the function that is called), bind and overrides (its arguments), promotion and geometry
(dtype, shape and strides of the result), dispatch (the kernel), inplace and out (where the result is written).
"""
