"""Default timeouts."""

from datetime import timedelta

__all__ = ["default_pg_timeout", "default_pg_nccl_timeout"]
default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = None


def _duration(value, function=""):
    """Convert a timedelta, or a float (but not an int) in seconds, to a timedelta."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, float):
        return timedelta(seconds=value)
    raise TypeError(f"{function}(): incompatible function arguments: a datetime.timedelta is expected, not {value!r}")


class _Timeout:
    """A descriptor that stores a timeout and accepts what ``_duration`` accepts."""

    def __set_name__(self, owner, name):
        self._where = f"{name}_"

    def __get__(self, holder, owner=None):
        return self if holder is None else holder.__dict__[self._where]

    def __set__(self, holder, value):
        holder.__dict__[self._where] = _duration(value)
