"""What torch.compile would make of modules and functions."""

import torch


class OptimizedModule(torch.nn.Module):
    """A compiled module around ``_orig_mod``. torch.compile returns modules unchanged here, so none is made."""

    def __init__(self, mod, dynamo_ctx):
        raise NotImplementedError("OptimizedModule: there is no compiler")


def innermost_fn(fn):
    """What was wrapped by ``disable``, however often."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn
