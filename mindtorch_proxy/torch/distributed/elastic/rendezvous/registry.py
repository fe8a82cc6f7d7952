"""Creates rendezvous handlers by backend name."""

from . import RendezvousHandler, RendezvousParameters, rendezvous_handler_registry

__all__ = ["get_rendezvous_handler"]


def get_rendezvous_handler(params):
    """Create the handler for the parameters."""
    return rendezvous_handler_registry.create_handler(params)
