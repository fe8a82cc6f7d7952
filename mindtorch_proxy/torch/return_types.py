"""torch.return_types: the named tuples that operators return."""

from mindtorch_proxy.runtime.call.return_types import return_types


def __getattr__(name):
    if name == "__all__":
        return __dir__()
    found = return_types()
    found["all_return_types"] = [found[n] for n in sorted(found)]
    if name not in found:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    globals()[name] = found[name]
    return found[name]


def __dir__():
    return sorted({*return_types(), "all_return_types"})
