"""How a function says that its result comes later."""

import functools


def async_execution(fn):
    """Mark a function that returns a Future: the caller gets its value when it is there, and no thread of the callee
    waits for it.
    """

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper._wrapped_async_rpc_function = fn
    return wrapper
