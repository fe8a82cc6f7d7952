"""Point-to-point messages between ranks.

Each pair of ranks and direction has its own TCP connection, opened on first use. Messages arrive in order; tags
distinguish them.
"""

import ctypes
import queue
import socket
import struct
import threading
from collections import defaultdict, deque

from ._errors import DistBackendError, DistError

__all__ = ["Mailbox", "Receive"]
_HEAD = struct.Struct("<QQ")  # tag, number of bytes
_HELLO = struct.Struct("<I")  # the sender's rank


class Receive:
    """A posted receive: the memory to fill, and the callback to call when the message has arrived."""

    def __init__(self, source, tag, address, size, done):
        self.source, self.tag, self.address, self.size, self.done = source, tag, address, size, done
        self.taken = False

    def matches(self, source, tag):
        return self.tag == tag and self.source in (source, None)


def _fill(connection, view):
    while view:
        n = connection.recv_into(view)
        if not n:
            raise ConnectionResetError
        view = view[n:]


def _memory(address, size):
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


class Mailbox:
    """Sends and receives the messages of one rank of a group."""

    def __init__(self, store, rank, size, host):
        self.store, self.rank, self.size = store, rank, size
        self.lock = threading.Lock()
        self.posted, self.unexpected, self.lost = [], defaultdict(deque), {}
        self.outgoing, self.connections, self.closed = {}, [], False
        self.listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=size
        )
        store.set(f"p2p/{rank}", f"{host} {self.listener.getsockname()[1]}")
        threading.Thread(target=self._accept, name="torch.distributed accept", daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # closed
                return
            self.connections.append(connection)
            threading.Thread(
                target=self._receive, args=(connection,), name="torch.distributed recv", daemon=True
            ).start()

    def _receive(self, connection):
        source = None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            hello = bytearray(_HELLO.size)
            _fill(connection, memoryview(hello))
            (source,) = _HELLO.unpack(hello)
            head = bytearray(_HEAD.size)
            while True:
                _fill(connection, memoryview(head))
                tag, size = _HEAD.unpack(head)
                self._message(connection, source, tag, size)
        except OSError as error:
            connection.close()
            if source is not None:
                self._lose(source, error)

    def _message(self, connection, source, tag, size):
        with self.lock:
            receive = next((r for r in self.posted if r.matches(source, tag)), None)
            if receive is not None:
                self.posted.remove(receive)
        if receive is not None and size <= receive.size:
            try:
                _fill(connection, _memory(receive.address, size))
            except OSError as error:
                receive.done(source, self._gone(source, error))
                raise
            receive.done(source, None)
            return
        data = bytearray(size)
        _fill(connection, memoryview(data))
        if receive is None:
            with self.lock:  # a receive may have been posted since
                receive = next((r for r in self.posted if r.matches(source, tag)), None)
                if receive is None:
                    self.unexpected[tag].append((source, data))
                    return
                self.posted.remove(receive)
        self._deliver(receive, source, data)

    def _deliver(self, receive, source, data):
        if len(data) > receive.size:
            text = (
                f"rank {self.rank} received {len(data)} bytes from rank {source} (tag {receive.tag}), "
                f"but its tensor has {receive.size}"
            )
            receive.done(source, DistBackendError(text))
            return
        view = _memory(receive.address, len(data)) if data else b""
        if data:
            view[:] = data
        receive.done(source, None)

    def _gone(self, source, error):
        return DistBackendError(
            f"recv on rank {self.rank}: Connection closed by peer: rank {source} has ended, "
            f"or left the group ({type(error).__name__})"
        )

    def _lose(self, source, error):
        with self.lock:
            self.lost[source] = error
            alone = len(self.lost) == self.size - 1
            failed = [r for r in self.posted if r.source == source or r.source is None and alone]
            self.posted = [r for r in self.posted if r not in failed]
        for receive in failed:
            receive.done(source, self._gone(source, error))

    def receive(self, receive):
        """Post a receive; its ``done(source, error)`` is called by the thread that completes it."""
        with self.lock:
            waiting = self.unexpected.get(receive.tag, ())
            found = next((m for m in waiting if receive.source in (m[0], None)), None)
            if found is None:
                lost = self.lost.get(receive.source)
                if lost is None:
                    self.posted.append(receive)
                    return
            else:
                waiting.remove(found)
        if found is None:
            receive.done(receive.source, self._gone(receive.source, lost))
        else:
            self._deliver(receive, *found)

    def withdraw(self, receive):
        """Cancel a posted receive; return False if its message has already arrived."""
        with self.lock:
            if receive in self.posted:
                self.posted.remove(receive)
                return True
            return False

    def send(self, target, tag, address, size, done):
        """Queue memory to be sent; ``done(error)`` is called when it has been handed to the network.

        Messages to the same rank are sent in order.
        """
        with self.lock:
            if self.closed:
                raise DistBackendError("the process group has been destroyed")
            lane = self.outgoing.get(target)
            if lane is None:
                lane = self.outgoing[target] = queue.SimpleQueue()
                threading.Thread(
                    target=self._send, args=(target, lane), name="torch.distributed send", daemon=True
                ).start()
        lane.put((tag, address, size, done))

    def _send(self, target, lane):
        connection = failure = None
        while (message := lane.get()) is not None:
            tag, address, size, done = message
            try:
                if failure is not None:
                    raise failure
                if connection is None:
                    host, port = self.store.get(f"p2p/{target}").decode().rsplit(" ", 1)
                    connection = socket.create_connection((host, int(port)))
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.connections.append(connection)
                    connection.sendall(_HELLO.pack(self.rank))
                connection.sendall(_HEAD.pack(tag, size))
                if size:
                    connection.sendall(_memory(address, size))
            except (OSError, DistError) as error:
                failure = error
                done(DistBackendError(f"send from rank {self.rank} to rank {target} failed: {error}"))
            else:
                done(None)
        if connection is not None:
            connection.close()

    def close(self):
        """Close all connections once pending messages are sent."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            lanes = list(self.outgoing.values())
        for lane in lanes:
            lane.put(None)
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes up the accept thread
        self.listener.close()
