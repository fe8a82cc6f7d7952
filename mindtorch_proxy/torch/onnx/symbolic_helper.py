"""torch.onnx.symbolic_helper: what writers of operators are declared with."""

import functools

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors):
    """Decorator: how the exporter reads the arguments of what writes an operator.

    Outside it the function is called as it is given.
    """

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(g, *args, **kwargs):
            return fn(g, *args, **kwargs)

        wrapper._arg_descriptors = arg_descriptors
        return wrapper

    return decorator


def quantized_args(*arg_q_descriptors, scale=None, zero_point=None, quantize_output=True):
    """Decorator: which arguments may be quantized. Outside the exporter the function is called as it is given."""

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(g, *args, **kwargs):
            return fn(g, *args, **kwargs)

        wrapper._scale, wrapper._zero_point = scale, zero_point
        return wrapper

    return decorator
