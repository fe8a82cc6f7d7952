"""torch.return_types: the named tuples that operators return."""

from mindtorch_proxy.runtime.op import REGISTRY, return_type


def __getattr__(name):
    cls = return_type(name)
    if cls is None:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    globals()[name] = cls
    return cls


def __dir__():
    return sorted({o.name for ns in REGISTRY.values() for ops in ns.values() for o in ops if o.schema.result_names})
