"""torch.autograd.profiler: ranges run their body; there is no tracer behind them."""

import contextlib


class record_function(contextlib.ContextDecorator):
    """A named range. Names are kept; nothing is recorded outside a profiler."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


def __getattr__(name):
    if name in ("profile", "emit_nvtx", "emit_itt", "load_nvprof"):
        raise NotImplementedError(f"torch.autograd.profiler.{name} is not supported: MindSpore's kernels are not traced; see mindtorch_proxy.report()")
    raise AttributeError(f"module 'torch.autograd.profiler' has no attribute '{name}'")


__all__ = ["record_function"]
