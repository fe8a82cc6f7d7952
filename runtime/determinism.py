"""Deterministic mode: errors of nondeterministic operators, and the fill value of uninitialised memory."""

import warnings

from . import dtypes as dt


class _Determinism:
    """State of torch.use_deterministic_algorithms and torch.utils.deterministic.fill_uninitialized_memory."""

    enabled = warn_only = False
    fill = True  # whether uninitialised memory is filled while enabled


DETERMINISM = _Determinism()


def alert_not_deterministic(name):
    """Raise PyTorch's error, or give its warning, for a nondeterministic operator in deterministic mode."""
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
    """Return the fill value of uninitialised memory in deterministic mode: NaN, the largest int, True."""
    if dtype.category >= dt.FLOAT:
        return float("nan")
    return True if dtype is dt.bool_ else dt.iinfo(dtype).max
