"""Running several modules at once, each in its own thread."""

import sys
import threading

import torch
from torch._utils import ExceptionWrapper

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj):
    """Return any tensor of a nested structure, or None if there is none."""
    if isinstance(obj, torch.Tensor):
        return obj
    for part in obj if isinstance(obj, (list, tuple)) else obj.items() if isinstance(obj, dict) else ():
        found = get_a_var(part)
        if found is not None:
            return found
    return None


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Call each module with its inputs and keyword arguments, and return the results.

    The threads use the caller's gradient mode and CPU autocast state. An exception in a module is raised again in the
    caller. Different lengths of the arguments raise AssertionError.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_tup = ({},) * len(modules) if kwargs_tup is None else kwargs_tup
    if len(kwargs_tup) != len(modules):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of kwargs_tup {len(kwargs_tup)}"
        )
    if devices is not None and len(devices) != len(modules):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of devices {len(devices)}"
        )
    results = [None] * len(modules)
    grad, autocast, cast = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    def work(i):
        args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
        try:
            with torch.set_grad_enabled(grad), torch.autocast("cpu", cast, autocast):
                results[i] = modules[i](*args, **kwargs_tup[i])
        except Exception:
            results[i] = ExceptionWrapper(
                sys.exc_info(), where=f"in replica {i} on device {devices[i] if devices else None}"
            )

    if len(modules) == 1:
        work(0)
    else:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results
