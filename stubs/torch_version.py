"""torch.torch_version: a version string that compares as a version with strings, tuples and versions."""

from typing import Any

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """The version as a string. "1.10.0" is above "1.9", and (1, 10) means "1.10".

    Where the other string is not a valid version, both are compared as strings.
    """

    def _version(self, other: Any):
        from packaging.version import Version

        if isinstance(other, Version):
            return other
        if isinstance(other, str):
            return Version(other)
        if hasattr(other, "__iter__"):
            return Version(".".join(str(part) for part in other))
        raise ValueError(f"Can't convert {other} to Version")

    def _compare(self, other: Any, method: str) -> Any:
        from packaging.version import InvalidVersion

        try:
            return getattr(self._version(str(self)), method)(self._version(other))
        except InvalidVersion:
            return getattr(super(), method)(other)


def _comparison(method: str):
    def compare(self, other: Any) -> Any:
        return self._compare(other, method)

    compare.__name__ = method
    return compare


for _method in ("__gt__", "__lt__", "__eq__", "__ge__", "__le__"):
    setattr(TorchVersion, _method, _comparison(_method))
TorchVersion.__hash__ = str.__hash__  # type: ignore[method-assign]
