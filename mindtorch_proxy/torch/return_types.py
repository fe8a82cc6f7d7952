"""torch.return_types: the named tuples that operators return."""

from mindtorch_proxy.runtime.call.return_types import return_type
from mindtorch_proxy.runtime.registry import operators


def __getattr__(name):
    cls = return_type(name)
    if cls is None:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    globals()[name] = cls
    return cls


def __dir__():
    return sorted({o.name for o in operators() if o.schema.result_names})
