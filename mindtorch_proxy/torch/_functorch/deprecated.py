"""The functions of the deprecated functorch package, which warn about their replacements."""

import functools
import warnings

from . import apis, eager_transforms
from . import make_functional as _make_functional

__all__ = [
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
    "warn_deprecated",
]


def warn_deprecated(api, new_api):
    """Warn that a function is deprecated, and name its replacement."""
    warnings.warn(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{api}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= "
        f"2.3. Please use `{new_api}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration "
        "guide for more details https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
        stacklevel=3,
    )


def _deprecated(fn, new_api):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        warn_deprecated(fn.__name__, new_api)
        return fn(*args, **kwargs)

    wrapper.__module__ = __name__
    return wrapper


vmap = _deprecated(apis.vmap, "torch.vmap")
grad = _deprecated(eager_transforms.grad, "torch.func.grad")
grad_and_value = _deprecated(eager_transforms.grad_and_value, "torch.func.grad_and_value")
vjp = _deprecated(eager_transforms.vjp, "torch.func.vjp")
jvp = _deprecated(eager_transforms.jvp, "torch.func.jvp")
jacrev = _deprecated(eager_transforms.jacrev, "torch.func.jacrev")
jacfwd = _deprecated(eager_transforms.jacfwd, "torch.func.jacfwd")
hessian = _deprecated(eager_transforms.hessian, "torch.func.hessian")
functionalize = _deprecated(eager_transforms.functionalize, "torch.func.functionalize")
make_functional = _deprecated(_make_functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(_make_functional.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(_make_functional.combine_state_for_ensemble, "torch.func.stack_module_state")
