"""Queues between processes.

Tensors are sent as shared memory, since they are registered with the pickler of multiprocessing.
"""

import io
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler

__all__ = ["ConnectionWrapper", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """A connection that pickles objects for other processes."""

    def __init__(self, conn):
        self.conn = conn

    def send(self, obj):
        """Send an object."""
        data = io.BytesIO()
        ForkingPickler(data, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.send_bytes(data.getvalue())

    def recv(self):
        """Receive the next object."""
        return pickle.loads(self.recv_bytes())

    def __getattr__(self, name):
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")


class Queue(multiprocessing.queues.Queue):
    """The same as multiprocessing.Queue."""


class SimpleQueue(multiprocessing.queues.SimpleQueue):
    """The same as multiprocessing.SimpleQueue."""
