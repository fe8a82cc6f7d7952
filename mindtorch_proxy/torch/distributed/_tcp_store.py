"""The TCP store: one process serves the keys from a thread, and all processes connect to it.

The traffic is not encrypted, and anyone who can reach the port can read and write keys.
"""

import os
import selectors
import socket
import sys
import struct
import threading
import time
from datetime import timedelta

from ._errors import DistNetworkError, DistStoreError, QueueEmptyError
from ._store import DEFAULT_TIMEOUT, Store, as_bytes, as_key, check_keys, compare_and_set, number, same_length
from .constants import _duration

__all__ = ["TCPStore"]
_SIZE = struct.Struct("<I")
READY_KEY = b"init/"  # counts the connected workers
SLACK = 30.0  # seconds to wait for an answer that should come at once, before the server counts as lost


def pack(*parts):
    """Encode a message: its total length, then each part with its length."""
    body = b"".join(piece for part in parts for piece in (_SIZE.pack(len(part)), part))
    return _SIZE.pack(len(body)) + body


def unpack(body):
    """Decode the parts of a message, given without its total length."""
    parts, at = [], 0
    while at < len(body):
        (size,) = _SIZE.unpack_from(body, at)
        at += _SIZE.size
        if at + size > len(body):
            raise ValueError("a message is cut")
        parts.append(bytes(body[at : at + size]))
        at += size
    return parts


class _Peer:
    """A client connection of the server."""

    __slots__ = ("socket", "received", "waits", "pending")

    def __init__(self, connection):
        self.socket, self.received, self.waits, self.pending = connection, bytearray(), None, bytearray()


class Server:
    """Serves the keys in its own thread until it is closed."""

    def __init__(self, listener):
        self.listener, self.data, self.queues = listener, {}, {}
        self.port = listener.getsockname()[1]
        listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.wake, waker = os.pipe()
        self.selector.register(self.wake, selectors.EVENT_READ)
        self.peers, self.pid, self.waker = {}, os.getpid(), waker
        self.thread = threading.Thread(target=self.run, name="TCPStore server", daemon=True)
        self.thread.start()

    def close(self):
        """Stop the thread and close all connections."""
        if self.waker is None or self.pid != os.getpid():
            return
        waker, self.waker = self.waker, None
        os.write(waker, b"x")
        if threading.current_thread() is not self.thread:
            self.thread.join(5)
        os.close(waker)

    def run(self):
        """Run the server's event loop."""
        while True:
            for key, events in self.selector.select():
                if key.fileobj == self.wake:
                    return self.end()
                if key.fileobj is self.listener:
                    self.accept()
                elif (peer := self.peers.get(key.fd)) is not None:
                    self.serve(peer, events)

    def end(self):
        for peer in list(self.peers.values()):
            self.drop(peer)
        self.selector.close()
        self.listener.close()
        os.close(self.wake)

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except OSError:  # the client has already disconnected
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[connection.fileno()] = _Peer(connection)
        self.selector.register(connection, selectors.EVENT_READ)

    def drop(self, peer):
        self.peers.pop(peer.socket.fileno(), None)
        self.selector.unregister(peer.socket)
        peer.socket.close()
        peer.waits = None

    def serve(self, peer, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.flush(peer)
            if not events & selectors.EVENT_READ:
                return
            data = peer.socket.recv(1 << 20)
            if not data:
                return self.drop(peer)
            peer.received += data
            while len(peer.received) >= 4:
                (size,) = _SIZE.unpack_from(peer.received)
                if len(peer.received) < 4 + size:
                    break
                message = bytes(peer.received[4 : 4 + size])
                del peer.received[: 4 + size]
                self.answer(peer, unpack(message))
        except BlockingIOError:
            return
        except (
            OSError,
            ValueError,
            IndexError,
            struct.error,
        ):  # close a connection that fails or sends an invalid message
            if peer.socket.fileno() in self.peers:
                self.drop(peer)

    def send(self, peer, *parts):
        peer.pending += pack(*parts)
        self.flush(peer)

    def flush(self, peer):
        try:
            while peer.pending:
                del peer.pending[: peer.socket.send(peer.pending)]
        except BlockingIOError:
            pass
        self.selector.modify(peer.socket, selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.pending else 0))

    def answer(self, peer, parts):
        """Execute the command of a message.

        A command that has to wait is stored with its connection until its keys are set.
        """
        name, arguments = parts[0].decode(), parts[1:]
        if name in ("get", "wait", "pop"):
            peer.waits = (name, arguments)
            self.try_waiting(peer)
            return
        result = getattr(self, f"do_{name}")(*arguments)
        self.send(peer, *result)
        if name in ("set", "add", "cas", "append", "multi_set", "push"):
            for other in [p for p in self.peers.values() if p.waits is not None]:
                self.try_waiting(other)

    def try_waiting(self, peer):
        name, arguments = peer.waits
        if name == "pop":
            if not self.queues.get(arguments[0]):
                return
            result = [self.queues[arguments[0]].pop(0)]
        else:
            if not all(key in self.data for key in arguments):
                return
            result = [self.data[key] for key in arguments] if name == "get" else []
        peer.waits = None
        try:
            self.send(peer, b"", *result)
        except OSError:
            self.drop(peer)

    def do_set(self, key, value):
        self.data[key] = value
        return (b"",)

    def do_multi_set(self, *pairs):
        self.data.update(zip(pairs[::2], pairs[1::2]))
        return (b"",)

    def do_add(self, key, step):
        try:
            total = number(self.data.get(key, b"0")) + int(step)
        except ValueError as error:
            return (str(error).encode(),)
        self.data[key] = str(total).encode()
        return b"", self.data[key]

    def do_cas(self, key, expected, desired):
        return b"", compare_and_set(self.data, key, expected, desired)

    def do_check(self, *keys):
        return b"", b"1" if all(k in self.data for k in keys) else b""

    def do_delete(self, key):
        return b"", b"1" if self.data.pop(key, None) is not None else b""

    def do_append(self, key, value):
        self.data[key] = self.data.get(key, b"") + value
        return (b"",)

    def do_count(self):
        return b"", str(len(self.data)).encode()

    def do_keys(self):
        return b"", *self.data

    def do_push(self, key, value):
        self.queues.setdefault(key, []).append(value)
        return (b"",)

    def do_pop_now(self, key):
        return (b"", self.queues[key].pop(0)) if self.queues.get(key) else (b"", b"", b"empty")

    def do_queue_len(self, key):
        return b"", str(len(self.queues.get(key, ()))).encode()


_servers = {}  # port: server, for multi-tenant stores that share a server in one process
_servers_lock = threading.Lock()


def listen(host, port):
    """Return a socket that listens on all interfaces, with IPv6 and IPv4 if IPv6 is available."""
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        try:
            listener = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            continue
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listener.bind((address, port))
            listener.listen(2048)
            return listener
        except OSError as error:
            listener.close()
            failure = error
    raise DistNetworkError(
        f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, code: "
        f"-{failure.errno}, name: {errno_name(failure)}, message: {failure.strerror}"
    )


def errno_name(error):
    """Return the symbolic name of an error's errno, such as EADDRINUSE."""
    import errno

    return errno.errorcode.get(error.errno, "unknown")


class TCPStore(Store):
    """A store that one process (``is_master``) serves to all processes that connect to ``host_name:port``.

    With ``wait_for_workers``, the constructor of the master waits until ``world_size`` processes have connected.
    """

    def __init__(
        self,
        host_name,
        port,
        world_size=None,
        is_master=False,
        timeout=DEFAULT_TIMEOUT,
        wait_for_workers=True,
        multi_tenant=False,
        master_listen_fd=None,
        use_libuv=True,
    ):
        super().__init__()
        self.set_timeout(timeout)
        self._host, self._server, self._pool, self._pid = host_name, None, [], os.getpid()
        self._lock, self._world_size = threading.Lock(), world_size
        self._port = port
        self.libuvBackend = use_libuv
        if is_master:
            self._server = self._serve(port, multi_tenant, master_listen_fd)
            self._port = self._server.port
        self._release(self._connect())
        if wait_for_workers and world_size is not None and world_size >= 0:
            self._wait_for_workers(world_size)
        else:
            self._call("add", READY_KEY, b"1")

    @staticmethod
    def _serve(port, multi_tenant, fd):
        with _servers_lock:
            if multi_tenant and (server := _servers.get(port)) is not None and server.waker is not None:
                return server
            server = Server(socket.socket(fileno=fd) if fd is not None else listen(None, port))
            if multi_tenant:
                _servers[server.port] = server
            return server

    def _wait_for_workers(self, world_size):
        came = int(self._call("add", READY_KEY, b"1")[0])
        if self._server is None:
            return
        deadline = time.monotonic() + self._timeout.total_seconds()
        while came < world_size:
            if time.monotonic() > deadline:
                raise DistStoreError(
                    f"Timed out after {int(self._timeout.total_seconds()) + 1} seconds waiting for clients. "
                    f"{came}/{world_size} clients joined."
                )
            time.sleep(0.005)
            came = int(self._call("add", READY_KEY, b"0")[0])

    def __del__(self, ending=sys.is_finalizing):
        if ending() or getattr(self, "_pid", None) != os.getpid():  # the end of the process closes the connections
            return
        for connection in self._pool:
            connection.close()
        if self._server is not None and _servers.get(self._server.port) is not self._server:
            self._server.close()

    def __repr__(self):
        server = f"TCPServer(port={self._server.port})" if self._server is not None else "<nullptr>"
        return f"TCPStore(client=TCPClient({self._host}:{self._port}), server={server})"

    @property
    def host(self):
        """The server's host name, as given."""
        return self._host

    @property
    def port(self):
        """The server's port."""
        return self._port

    def _connect(self):
        deadline, pause = time.monotonic() + self._timeout.total_seconds(), 0.01
        while True:
            try:
                connection = socket.create_connection((self._host, self._port), max(0.1, deadline - time.monotonic()))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except OSError as error:
                if time.monotonic() + pause > deadline:
                    raise DistNetworkError(
                        f"The client socket has timed out after {int(self._timeout.total_seconds() * 1000)}ms while "
                        f"trying to connect to ({self._host}, {self._port}): {error}"
                    ) from None
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    def _acquire(self):
        """Return an idle connection, so that threads do not wait for each other."""
        with self._lock:
            if self._pid != os.getpid():  # after a fork, the parent's sockets are shared and must not be used
                self._pid, self._pool, self._server = os.getpid(), [], None
            if self._pool:
                return self._pool.pop()
        return self._connect()

    def _release(self, connection):
        with self._lock:
            self._pool.append(connection)

    def _call(self, name, *arguments, timeout=None):
        """Send a message and return the parts of the answer.

        If no answer arrives in time, close the connection and raise TimeoutError; without ``timeout``, raise
        DistNetworkError.
        """
        connection = self._acquire()
        try:
            connection.settimeout(SLACK if timeout is None else max(timeout, 0.001))
            connection.sendall(pack(name.encode(), *arguments))
            (size,) = _SIZE.unpack(self._receive(connection, 4))
            parts = unpack(self._receive(connection, size))
        except TimeoutError:
            connection.close()
            if timeout is None:
                raise DistNetworkError(f"The store at {self._host}:{self._port} does not answer") from None
            raise
        except OSError as error:
            connection.close()
            raise DistNetworkError(
                f"The connection to the store at {self._host}:{self._port} failed: {error}"
            ) from None
        except BaseException:
            connection.close()
            raise
        self._release(connection)
        if parts and parts[0]:
            raise ValueError(parts[0].decode())
        return parts[1:]

    @staticmethod
    def _receive(connection, size):
        data, view = bytearray(size), None
        view = memoryview(data)
        while view:
            n = connection.recv_into(view)
            if not n:
                raise ConnectionResetError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or "
                    "crash?"
                )
            view = view[n:]
        return data

    def _wait(self, name, keys, timeout):
        seconds = (self._timeout if timeout is None else _duration(timeout, "wait")).total_seconds()
        try:
            return self._call(name, *(k.encode() for k in keys), timeout=seconds)
        except TimeoutError:
            raise DistStoreError(
                f"wait timeout after {int(seconds * 1000)}ms, keys: {', '.join('/' + k for k in keys)}"
            ) from None

    def set(self, key, value):
        self._call("set", as_key(key).encode(), as_bytes(value))

    def get(self, key):
        return self._wait("get", [as_key(key)], None)[0]

    def add(self, key, value):
        return int(self._call("add", as_key(key).encode(), str(value).encode())[0])

    def check(self, keys):
        return bool(self._call("check", *(k.encode() for k in check_keys(keys)))[0])

    def wait(self, keys, timeout=None):
        self._wait("wait", check_keys(keys), timeout)

    def compare_set(self, key, expected_value, desired_value):
        return self._call("cas", as_key(key).encode(), as_bytes(expected_value), as_bytes(desired_value))[0]

    def delete_key(self, key):
        return bool(self._call("delete", as_key(key).encode())[0])

    def num_keys(self):
        return int(self._call("count")[0])

    def list_keys(self):
        return [k.decode() for k in self._call("keys")]

    def append(self, key, value):
        self._call("append", as_key(key).encode(), as_bytes(value))

    def multi_get(self, keys):
        return self._wait("get", check_keys(keys), None)

    def multi_set(self, keys, values):
        self._call("multi_set", *(x for k, v in same_length(keys, values) for x in (k.encode(), v)))

    def queue_push(self, key, value):
        self._call("push", as_key(key).encode(), as_bytes(value))

    def queue_pop(self, key, block=True):
        if block:
            return self._wait("pop", [key], None)[0]
        value, *empty = self._call("pop_now", as_key(key).encode())
        if empty:
            raise QueueEmptyError("queue is empty")
        return value

    def queue_len(self, key):
        return int(self._call("queue_len", as_key(key).encode())[0])

    def has_extended_api(self):
        return True

    def clone(self):
        return TCPStore(self._host, self._port, None, False, self._timeout, wait_for_workers=False)


TCPStore.__module__ = "torch._C._distributed_c10d"
