"""Whether algorithms must give the same each time, and what memory that nobody wrote holds then."""

import warnings

from . import dtypes as dt


class _Determinism:
    """torch.use_deterministic_algorithms and torch.utils.deterministic.fill_uninitialized_memory."""

    enabled = warn_only = False
    fill = True  # memory that nobody wrote, while enabled


DETERMINISM = _Determinism()


def alert_not_deterministic(name):
    """PyTorch's error, or warning, where an operator may give something else the next time."""
    if not DETERMINISM.enabled:
        return
    if not DETERMINISM.warn_only:
        raise RuntimeError(
            f"{name} does not have a deterministic implementation, "
            "but you set 'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this "
            "operation, or you can use the 'warn_only=True' option, if that's acceptable for your application. "
            "You can also file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
            "deterministic support for this operation."
        )
    warnings.warn(
        f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, "
        "warn_only=True)'. You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize "
        "adding deterministic support for this operation.",
        UserWarning,
        stacklevel=4,
    )


def unwritten(dtype):
    """The number that stands for memory that nobody wrote: NaN, the largest int, True."""
    if dtype.category >= dt.FLOAT:
        return float("nan")
    return True if dtype is dt.bool_ else dt.iinfo(dtype).max
