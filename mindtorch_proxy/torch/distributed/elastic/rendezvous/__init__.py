"""Rendezvous: how the launchers of several machines find each other."""

from .api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousError,
    RendezvousGracefulExitError,
    RendezvousHandler,
    RendezvousHandlerRegistry,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
    rendezvous_handler_registry,
)
from .store_rendezvous import create_c10d_handler, create_static_handler

rendezvous_handler_registry.register("static", create_static_handler)
rendezvous_handler_registry.register("c10d", create_c10d_handler)
__all__ = [n for n in dir() if n.startswith("Rendezvous")] + ["rendezvous_handler_registry"]
