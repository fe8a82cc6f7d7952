"""The decorator for functions that return their result asynchronously."""

import functools


def async_execution(fn):
    """Mark a function that returns a Future.

    The caller gets the Future's value once it is ready, without a thread of the callee waiting for it.
    """

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper._wrapped_async_rpc_function = fn
    return wrapper
