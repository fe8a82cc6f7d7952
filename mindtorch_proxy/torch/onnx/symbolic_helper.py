"""torch.onnx.symbolic_helper: decorators for symbolic functions."""

import functools

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors):
    """Return a decorator that tells the exporter how to parse the arguments of a symbolic function.

    Since there is no exporter, the function is called unchanged.
    """

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(g, *args, **kwargs):
            return fn(g, *args, **kwargs)

        wrapper._arg_descriptors = arg_descriptors
        return wrapper

    return decorator


def quantized_args(*arg_q_descriptors, scale=None, zero_point=None, quantize_output=True):
    """Return a decorator that tells the exporter which arguments may be quantized; the function is called unchanged."""

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(g, *args, **kwargs):
            return fn(g, *args, **kwargs)

        wrapper._scale, wrapper._zero_point = scale, zero_point
        return wrapper

    return decorator
