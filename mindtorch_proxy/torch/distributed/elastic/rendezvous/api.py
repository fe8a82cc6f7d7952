"""What a rendezvous is: each call of next_rendezvous gathers launchers and numbers them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


class RendezvousError(Exception):
    """A rendezvous failed."""


class RendezvousClosedError(RendezvousError):
    """The job has ended."""


class RendezvousTimeoutError(RendezvousError):
    """Not enough launchers came in time."""


class RendezvousConnectionError(RendezvousError):
    """The store is not reached."""


class RendezvousStateError(RendezvousError):
    """The store holds what it should not."""


class RendezvousGracefulExitError(RendezvousError):
    """This launcher is not needed any more."""


@dataclass
class RendezvousStoreInfo:
    """Where workers find the store."""

    master_addr: str
    master_port: int


@dataclass
class RendezvousInfo:
    """A gathering: this launcher's number in it, and the store that all share."""

    store: Any
    rank: int
    world_size: int
    bootstrap_store_info: RendezvousStoreInfo


class RendezvousHandler(ABC):
    """Gathers launchers."""

    @abstractmethod
    def get_backend(self):
        """Its name."""

    @property
    def use_agent_store(self):
        """Whether workers may use the launchers' store."""
        return True

    @abstractmethod
    def next_rendezvous(self):
        """A RendezvousInfo, when enough launchers have come."""

    @abstractmethod
    def is_closed(self):
        """Whether the job has ended."""

    @abstractmethod
    def set_closed(self):
        """End the job."""

    @abstractmethod
    def num_nodes_waiting(self):
        """The number of launchers that came too late, and wait for the next rendezvous."""

    @abstractmethod
    def get_run_id(self):
        """The job's name."""

    @abstractmethod
    def shutdown(self):
        """Let go of what it holds."""


class RendezvousParameters:
    """What handlers are made of; ``get`` and its like read further settings."""

    def __init__(self, backend, endpoint, run_id, min_nodes, max_nodes, local_addr=None, **kwargs):
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(f"The minimum number of rendezvous nodes ({min_nodes}) must be greater than zero.")
        if max_nodes < min_nodes:
            raise ValueError(
                f"The maximum number of rendezvous nodes ({max_nodes}) must be greater than or equal to the minimum "
                f"number ({min_nodes})."
            )
        self.backend, self.endpoint, self.run_id, self.min_nodes, self.max_nodes = (
            backend,
            endpoint,
            run_id,
            min_nodes,
            max_nodes,
        )
        self.local_addr, self.config = local_addr, kwargs

    def get(self, key, default=None):
        """A setting."""
        return self.config.get(key, default)

    def get_as_bool(self, key, default=None):
        """A setting that is true or false."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        if str(value).lower() in ("1", "true", "t", "yes", "y"):
            return True
        if str(value).lower() in ("0", "false", "f", "no", "n"):
            return False
        raise ValueError(f"The rendezvous configuration option '{key}' does not represent a valid boolean value.")

    def get_as_int(self, key, default=None):
        """A setting that is a number."""
        value = self.get(key, default)
        try:
            return value if value is None else int(value)
        except ValueError as error:
            raise ValueError(
                f"The rendezvous configuration option '{key}' does not represent a valid integer value."
            ) from error


class RendezvousHandlerRegistry:
    """Handlers by name."""

    def __init__(self):
        self._registry = {}

    def register(self, backend, creator):
        """Have ``creator(params)`` make the handlers of a name."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if self._registry.get(backend, creator) is not creator:
            raise ValueError(
                f"The rendezvous backend '{backend}' cannot be registered with '{creator}' as it is already registered."
            )
        self._registry[backend] = creator

    def create_handler(self, params):
        """The handler for parameters."""
        if params.backend not in self._registry:
            raise ValueError(
                f"The rendezvous backend '{params.backend}' is not registered. Did you forget to call "
                f"`RendezvousHandlerRegistry.register`? Known are: {', '.join(self._registry)}"
            )
        return self._registry[params.backend](params)


rendezvous_handler_registry = RendezvousHandlerRegistry()
