"""Client for the process that runs gloo for a group (`_engine_process`).

It starts and ends the process, shares memory with it and sends it collectives.
"""

import ctypes
import functools
import importlib.metadata
import marshal
import mmap
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from ._errors import DistBackendError, DistNetworkError

__all__ = ["Engine", "EngineError", "EngineTimeout", "library", "memcpy"]
_COMMAND = 1 << 16
_libc = ctypes.CDLL(None)
_libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
memcpy = _libc.memcpy  # takes addresses; ctypes releases the GIL during the call


class EngineError(Exception):
    """A collective failed; the message is gloo's."""


class EngineTimeout(EngineError):
    """A collective did not finish in time."""


@functools.cache
def library():
    """Return the path of gloo's extension module in the xoscar package.

    Raise RuntimeError, with what to install, if the package is missing.
    """
    try:
        files = importlib.metadata.distribution("xoscar").files or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    found = [f for f in files if f.name.startswith("xoscar_pygloo.") and f.suffix == ".so"]
    if not found:
        raise RuntimeError(
            "torch.distributed's backend gloo needs the package xoscar, which carries it: "
            "pip install 'mindtorch-proxy[distributed]'"
        )
    return str(found[0].locate())


class _Memory:
    """A block of memory shared between this process and the gloo process."""

    __slots__ = ("number", "size", "map", "address")

    def __init__(self, number, size, fd):
        self.number, self.size, self.map = number, size, mmap.mmap(fd, size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))


class Engine:
    """The gloo process of one group.

    It runs one collective at a time; callers must hold ``lock``. The first collective starts the process and connects
    it.
    """

    def __init__(self, store, rank, size, timeout, host, interface):
        self.store, self.rank, self.size, self.timeout, self.host, self.interface = (
            store,
            rank,
            size,
            timeout,
            host,
            interface,
        )
        self.lock = threading.RLock()
        self.process, self.memory, self.free, self.count, self.connected = None, {}, {}, 0, False

    def start(self):
        """Start the gloo process."""
        path = library()
        control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reading, writing = os.pipe()
        script = str(Path(__file__).with_name("_engine_process.py"))
        main_thread = "1" if threading.current_thread() is threading.main_thread() else "0"
        command = [sys.executable, "-I", "-S", script, path, str(other.fileno()), str(reading), main_thread]
        self.process = subprocess.Popen(
            command, pass_fds=[other.fileno(), reading], stdin=subprocess.DEVNULL, start_new_session=True
        )
        other.close()
        os.close(reading)
        self.control, self.pipe = control, writing

    def connect(self, timeout):
        """Connect to the other ranks, and start the process first if needed."""
        if self.process is None:
            self.start()
        self.command("connect", self.rank, self.size, self.host, self.interface, 10 * 365 * 86400.0, timeout=timeout)
        self.connected = True

    def staging(self, size):
        """Return shared memory of at least ``size`` bytes. Give it back with ``release``."""
        room = 1 << max(12, (size - 1).bit_length())
        if self.free.get(room):
            return self.free[room].pop()
        if self.process is None:
            self.start()
        self.count += 1
        fd = os.memfd_create(f"torch.distributed {self.count}")
        try:
            os.ftruncate(fd, room)
            memory = self.memory[self.count] = _Memory(self.count, room, fd)
            self.command("memory", memory.number, room, fd=fd)
        finally:
            os.close(fd)
        return memory

    def release(self, memory):
        """Keep shared memory for reuse by later calls of ``staging``."""
        self.free.setdefault(memory.size, []).append(memory)

    def command(self, name, *arguments, fd=None, timeout=60.0, waiting=None):
        """Send a command to the process and wait until it is done.

        ``waiting()`` is called about every five seconds while waiting.
        """
        deadline = time.monotonic() + timeout
        message = marshal.dumps((name, *arguments))
        try:
            if fd is None:
                self.control.send(message)
            else:
                socket.send_fds(self.control, [message], [fd])
            while True:
                answer = self.answer(deadline, timeout, waiting)
                if answer[0] == "done":
                    return
                if answer[0] == "error":
                    raise EngineError(answer[1])
                self.control.send(marshal.dumps(self.ask_store(*answer, deadline=deadline, waiting=waiting)))
        except OSError as error:
            raise EngineError(f"the process in which gloo runs has ended ({error})") from None

    def answer(self, deadline, timeout, waiting):
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EngineTimeout(f"Timed out waiting {int(timeout * 1000)}ms")
            self.control.settimeout(left if waiting is None else min(left, 5.0))
            try:
                message = self.control.recv(_COMMAND)
            except TimeoutError:
                if waiting is not None:
                    waiting()
                continue
            if not message:
                raise EngineError("the process in which gloo runs has ended")
            return marshal.loads(message)

    def ask_store(self, what, key, value=None, *, deadline, waiting):
        """Answer a store request that gloo sends while it connects."""
        if what == "set":
            self.store.set(key, value)
            return None
        from datetime import timedelta

        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EngineTimeout(f"Timed out waiting for an address: none came ({key})")
            try:
                self.store.wait([key], timedelta(seconds=min(left, 5.0)))
                return bytes(self.store.get(key))
            except (DistNetworkError, DistBackendError) as error:
                raise EngineError(f"the store does not answer: {error}") from None
            except RuntimeError:  # the key is not set yet; each kind of store raises its own subclass
                if waiting is not None:
                    waiting()

    def end(self):
        """Kill the process. Collectives of other ranks then fail at once."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.kill()
        process.wait()
        self.control.close()
        os.close(self.pipe)
        self.memory.clear()
        self.free.clear()
        self.connected = False
