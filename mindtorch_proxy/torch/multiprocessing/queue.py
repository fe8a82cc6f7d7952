"""Queues between processes.

Tensors in them travel as shared memory, which the pickler of multiprocessing knows of here.
"""

import io
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler

__all__ = ["ConnectionWrapper", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """A connection whose objects are pickled for other processes."""

    def __init__(self, conn):
        self.conn = conn

    def send(self, obj):
        """Send an object."""
        data = io.BytesIO()
        ForkingPickler(data, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.send_bytes(data.getvalue())

    def recv(self):
        """The next object."""
        return pickle.loads(self.recv_bytes())

    def __getattr__(self, name):
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")


class Queue(multiprocessing.queues.Queue):
    """multiprocessing.Queue."""


class SimpleQueue(multiprocessing.queues.SimpleQueue):
    """multiprocessing.SimpleQueue."""
