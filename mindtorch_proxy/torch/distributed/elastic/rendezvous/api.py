"""The rendezvous API: each call of next_rendezvous gathers launchers and assigns ranks to them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


class RendezvousError(Exception):
    """A rendezvous failed."""


class RendezvousClosedError(RendezvousError):
    """The rendezvous is closed because the job has ended."""


class RendezvousTimeoutError(RendezvousError):
    """Not enough launchers arrived in time."""


class RendezvousConnectionError(RendezvousError):
    """The store cannot be reached."""


class RendezvousStateError(RendezvousError):
    """The store has an invalid state."""


class RendezvousGracefulExitError(RendezvousError):
    """This launcher is no longer needed."""


@dataclass
class RendezvousStoreInfo:
    """The address of the store for workers."""

    master_addr: str
    master_port: int


@dataclass
class RendezvousInfo:
    """The result of a rendezvous: this launcher's rank, the number of launchers and their shared store."""

    store: Any
    rank: int
    world_size: int
    bootstrap_store_info: RendezvousStoreInfo


class RendezvousHandler(ABC):
    """Base class of rendezvous handlers."""

    @abstractmethod
    def get_backend(self):
        """Return the backend's name."""

    @property
    def use_agent_store(self):
        """Whether workers may use the launchers' store."""
        return True

    @abstractmethod
    def next_rendezvous(self):
        """Wait until enough launchers have arrived and return a RendezvousInfo."""

    @abstractmethod
    def is_closed(self):
        """Whether the job has ended."""

    @abstractmethod
    def set_closed(self):
        """Mark the job as ended."""

    @abstractmethod
    def num_nodes_waiting(self):
        """Return the number of launchers that arrived late and wait for the next rendezvous."""

    @abstractmethod
    def get_run_id(self):
        """Return the job's id."""

    @abstractmethod
    def shutdown(self):
        """Release the handler's resources."""


class RendezvousParameters:
    """The parameters of a handler; further settings are read with ``get`` and its variants."""

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
        """Return a setting, or the default."""
        return self.config.get(key, default)

    def get_as_bool(self, key, default=None):
        """Return a setting as a bool."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        if str(value).lower() in ("1", "true", "t", "yes", "y"):
            return True
        if str(value).lower() in ("0", "false", "f", "no", "n"):
            return False
        raise ValueError(f"The rendezvous configuration option '{key}' does not represent a valid boolean value.")

    def get_as_int(self, key, default=None):
        """Return a setting as an int."""
        value = self.get(key, default)
        try:
            return value if value is None else int(value)
        except ValueError as error:
            raise ValueError(
                f"The rendezvous configuration option '{key}' does not represent a valid integer value."
            ) from error


class RendezvousHandlerRegistry:
    """The handlers by backend name."""

    def __init__(self):
        self._registry = {}

    def register(self, backend, creator):
        """Register ``creator(params)`` as the constructor of a backend's handlers."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if self._registry.get(backend, creator) is not creator:
            raise ValueError(
                f"The rendezvous backend '{backend}' cannot be registered with '{creator}' as it is already registered."
            )
        self._registry[backend] = creator

    def create_handler(self, params):
        """Create the handler for the parameters."""
        if params.backend not in self._registry:
            raise ValueError(
                f"The rendezvous backend '{params.backend}' is not registered. Did you forget to call "
                f"`RendezvousHandlerRegistry.register`? Known are: {', '.join(self._registry)}"
            )
        return self._registry[params.backend](params)


rendezvous_handler_registry = RendezvousHandlerRegistry()
