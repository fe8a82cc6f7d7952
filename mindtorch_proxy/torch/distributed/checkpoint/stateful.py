"""The protocol of objects with a state dict."""

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """An object with state_dict() and load_state_dict()."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
