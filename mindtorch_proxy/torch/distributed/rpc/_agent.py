"""The RPC agent of a worker.

It listens for requests of other workers, serves them with a pool of threads, and tracks pending calls. Connections are
multiprocessing's. Both ends authenticate with a key that rank 0 puts into the store; the traffic that follows is not
encrypted.
"""

import heapq
import itertools
import json
import multiprocessing.connection as mpc
import os
import pickle
import re
import secrets
import socket
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.jit._builtins import _find_builtin

from .._address import interface_address, local_address
from . import _rref, _wire
from ._workers import WorkerInfo, current
from .constants import UNSET_RPC_TIMEOUT

__all__ = ["Agent"]
_NAME = re.compile(r"[A-Za-z0-9_:-]{1,127}")


def _thread(target, *args):
    threading.Thread(target=target, args=args, name="torch.distributed.rpc", daemon=True).start()


class _RemoteError:
    """An exception raised on another worker: its type, and a text with the remote traceback."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text

    def exception(self):
        """Return the exception to raise on this worker."""
        try:
            return self.kind(self.text)
        except Exception as e:
            return RuntimeError(
                f"Failed to create original exception type. Error msg was {e} Original exception on remote side was "
                f"{self.text}"
            )


def _result(info, function, *args, **kwargs):
    """Return a function's result on this worker, or a _RemoteError if it raises.

    The error is also printed to standard error.
    """
    try:
        return function(*args, **kwargs)
    except Exception as e:
        text = f"On {info}:\n{e!r}\n{''.join(traceback.format_exception(e))}"
        print(text, file=sys.stderr)
        return _RemoteError(type(e), text)


def _outcome(future):
    """Return the value of a completed future, or a _RemoteError.

    The text of an error already names its worker.
    """
    try:
        return future.value()
    except Exception as e:
        return _RemoteError(type(e), str(e))


def _settle(future, value):
    """Complete a future with a value, or with the error in a _RemoteError."""
    if isinstance(value, _RemoteError):
        future._finish(None, value.exception())
    else:
        future.set_result(value)


class _Answer(torch.Future):
    """The future of a pending call.

    Its callbacks run in the pool, because they may wait for answers that arrive over the same connection.
    """

    pool = None

    def _call_back(self):
        if self.pool is None or not self._callbacks:
            super()._call_back()
        else:
            self.pool.submit(super()._call_back)


class _Link:
    """A connection on which messages are sent one at a time."""

    def __init__(self, s):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection, self._lock = mpc.Connection(s.detach()), threading.Lock()

    def prove(self, key, first):
        """Authenticate both ends with the key; return whether that succeeded."""
        steps = [mpc.answer_challenge, mpc.deliver_challenge]
        try:
            for step in steps if first else reversed(steps):
                step(self._connection, key)
        except (mpc.AuthenticationError, EOFError, OSError):
            self._connection.close()
            return False
        return True

    def send(self, message, buffers):
        """Send a message and its buffers."""
        with self._lock:
            self._connection.send_bytes(pickle.dumps((message, [b.nbytes for b in buffers])))
            for b in buffers:
                if b.nbytes:
                    self._connection.send_bytes(b)

    def receive(self):
        """Return the next message and its buffers; raise EOFError or OSError if the connection has ended."""
        message, sizes = pickle.loads(self._connection.recv_bytes())
        buffers = [bytearray(n) for n in sizes]
        for b in buffers:
            if b:
                self._connection.recv_bytes_into(b)
        return message, buffers

    def close(self):
        """Close the connection, which also wakes up a thread that waits in ``receive``."""
        with socket.socket(fileno=os.dup(self._connection.fileno())) as s:
            s.shutdown(socket.SHUT_RDWR)


class _Loopback:
    """The connection of a worker to itself; messages are copied as if they came from another worker."""

    def __init__(self, take):
        self._take = take

    def send(self, message, buffers):
        self._take(message, [bytearray(b) for b in buffers], self)

    def close(self):
        """Do nothing, because there is no connection."""


class Agent:
    """The RPC agent of this process."""

    def __init__(self, store, name, rank, world_size, options):
        if not _NAME.fullmatch(name):
            raise RuntimeError(
                f"Worker name must match ^[A-Za-z0-9-_:]*$ and be shorter than 128 characters, got {name!r}"
            )
        if not 0 <= rank < world_size:
            raise RuntimeError(f"rank must be at least 0 and less than {world_size}, got {rank}")
        self.info, self.timeout, self.references = WorkerInfo(name, rank), options.rpc_timeout, _rref.References(rank)
        self._lock, self._ids, self._barriers = threading.Lock(), itertools.count(), {}
        self._links, self._pending = {rank: _Loopback(self._take)}, {}
        self._quiet, self._running, self._served = threading.Condition(self._lock), 0, 0
        self._deadlines, self._sooner, self._closed = [], threading.Condition(), False
        self._pool = ThreadPoolExecutor(options.num_worker_threads, "torch.distributed.rpc")
        self._store = store  # keep a reference, because the last user of a FileStore removes its file
        self._meet(store, world_size)

    def start(self):
        """Start to accept messages.

        Must be called after this agent is set as the current one, because called functions look it up.
        """
        for target in (self._accept, self._expire, self._tell_ends):
            _thread(target)

    def _meet(self, store, world_size):
        """Publish the address of this worker in the store, and read the addresses of the others."""
        interface = os.environ.get("GLOO_SOCKET_IFNAME")
        host = interface_address(interface.split(",")[0]) if interface else local_address(store)
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=world_size
        )
        if self.info.id == 0:
            store.set("key", secrets.token_hex(32))
        store.set(f"worker/{self.info.id}", json.dumps([self.info.name, host, self._listener.getsockname()[1]]))
        self._key = store.get("key")
        self.workers, self._places = [], []
        for i in range(world_size):
            name, *place = json.loads(store.get(f"worker/{i}"))
            for other in self.workers:
                if other.name == name:
                    raise RuntimeError(f"RPC worker name {name} is not unique. Workers {other.id} and {i} share it")
            self.workers.append(WorkerInfo(name, i))
            self._places.append(tuple(place))

    def worker(self, to):
        """Return the WorkerInfo for a name, a number, or a WorkerInfo.

        Raise RuntimeError if there is no such worker, and ValueError for other types.
        """
        if isinstance(to, WorkerInfo):
            return to
        if not isinstance(to, (str, int)):
            raise ValueError(f"Cannot get WorkerInfo from name {to}")
        for info in self.workers:
            if to in (info.name, info.id):
                return info
        raise RuntimeError(
            f"name:{self.info.name},rank:{self.info.id} could not find destination "
            f"{'name' if isinstance(to, str) else 'id'} {to}"
        )

    # incoming messages

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            _thread(self._welcome, _Link(connection))

    def _welcome(self, link):
        if link.prove(self._key, False):
            self._read(link)

    def _read(self, link, peer=None):
        """Handle messages until the connection ends; calls that still wait for the peer then fail."""
        while True:
            try:
                message, buffers = link.receive()
            except (EOFError, OSError):
                break
            self._take(message, buffers, link)
        if peer is None:
            return
        with self._lock:
            self._links.pop(peer.id, None)
            waiting = [number for number, (_, to) in self._pending.items() if to == peer]
        for number in waiting:
            self._fail(number, f"the connection from {self.info} to {peer} has ended")

    def _waiting(self, number):
        """Remove a pending call and return its future, or None if it has already ended."""
        with self._lock:
            future, _ = self._pending.pop(number, (None, None))
            self._quiet.notify_all()
        return future

    def _fail(self, number, text):
        if (future := self._waiting(number)) is not None:
            future._finish(None, RuntimeError(text))

    def _take(self, message, buffers, link):
        """Handle a message.

        References are updated here, in the order of the messages; functions run in the pool.
        """
        kind, number, source, details, data = message
        if kind == "reply":
            if (future := self._waiting(number)) is not None:
                _settle(future, _result(self.info, _wire.loads, data, buffers))
        elif kind == "fork":
            self.references.fork(**details)
        elif kind == "end":
            self.references.end(**details)
        else:
            answer = self._answer(link, number, self.workers[source])
            if kind == "barrier":
                self._arrive(answer, **details)
            elif kind == "fetch":
                self._fetch(answer, **details)
            else:
                self._serve(answer, data, buffers, **details)

    def _answer(self, link, number, to):
        """Return a function that sends a value or a _RemoteError to the caller."""

        def answer(value):
            try:
                data, buffers = _wire.dumps(value, to)
            except Exception as e:
                data, buffers = _wire.dumps(_RemoteError(RuntimeError, f"{type(e).__name__}: {e}"), to)
            try:
                link.send(("reply", number, self.info.id, {}, data), buffers)
            except OSError:  # the caller is gone
                pass

        return answer

    def _serve(self, answer, data, buffers, reference=None, fork=None):
        """Run a function in the pool.

        With a reference, its value stays here, and the caller gets an answer as soon as the call is accepted.
        """
        with self._lock:
            self._running += 1
            self._served += 1
        if reference is not None:
            owned = self.references.own(reference, fork)
            answer(None)

            def answer(value):
                _settle(owned.future, value)

        self._pool.submit(self._run, answer, data, buffers)

    def _run(self, answer, data, buffers):
        later = False

        def call():
            nonlocal later
            function, args, kwargs = _wire.loads(data, buffers)
            later = hasattr(function, "_wrapped_async_rpc_function")
            result = function(*args, **kwargs)
            # PyTorch calls TorchScript's operators here, which compute numbers from numbers
            numbers = args and not kwargs and all(isinstance(a, (int, float, complex)) for a in args)
            return result.item() if numbers and type(result) is torch.Tensor and _find_builtin(function) else result

        def finish(value):
            try:
                answer(value)
            finally:
                with self._lock:
                    self._running -= 1
                    self._quiet.notify_all()

        value = _result(self.info, call)
        if not later or isinstance(value, _RemoteError):
            finish(value)
        elif isinstance(value, torch.Future):
            value.add_done_callback(lambda f: finish(_result(self.info, f.value)))
        else:
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            finish(
                _RemoteError(
                    RuntimeError,
                    "Functions decorated with @rpc.async_function must return a torch.futures.Future object, "
                    f"but got {kind}",
                )
            )

    def _fetch(self, answer, reference):
        owned = self.references.value(reference)
        if owned is None:
            answer(_RemoteError(RuntimeError, f"there is no value behind reference {reference} on {self.info}"))
        else:
            owned.future.add_done_callback(lambda f: self._pool.submit(lambda: answer(_outcome(f))))

    def _arrive(self, answer, number, value):
        """Answer once all workers have reached the barrier, with the sum of their values."""
        with self._lock:
            come = self._barriers.setdefault(number, [])
            come.append((answer, value))
            if len(come) < len(self.workers):
                return
            del self._barriers[number]
        for each, _ in come:
            each(sum(v for _, v in come))

    # outgoing messages

    def _link(self, to):
        with self._lock:
            link = self._links.get(to.id)
        if link is not None:
            return link
        s = socket.create_connection(self._places[to.id], timeout=self.timeout or None)
        s.settimeout(None)
        link = _Link(s)
        if not link.prove(self._key, True):
            raise ConnectionError("it does not know the key of this job")
        with self._lock:
            used = self._links.setdefault(to.id, link)
        if used is not link:  # another thread has connected first
            link.close()
        else:
            _thread(self._read, link, to)
        return used

    def send(self, kind, to, details, data=b"", buffers=(), timeout=None):
        """Send a message.

        With a timeout in seconds, an answer is expected, and its Future is returned. A timeout of 0 means none,
        UNSET_RPC_TIMEOUT the agent's default. Without the argument, return None.
        """
        future = number = None
        if timeout is not None:
            future, number = _Answer(), next(self._ids)
            future.pool = self._pool
            with self._lock:
                self._pending[number] = future, to
            if seconds := self.timeout if timeout == UNSET_RPC_TIMEOUT else timeout:
                with self._sooner:
                    heapq.heappush(self._deadlines, (time.monotonic() + seconds, number, seconds))
                    self._sooner.notify()
        try:
            self._link(to).send((kind, number, self.info.id, details, data), buffers)
        except OSError as e:
            self._fail(number, f"{self.info} cannot reach {to}: {e}")
        return future

    def call(self, to, function, args, kwargs, timeout, **details):
        """Call a function on a worker and return a Future of its result.

        With details of a reference, the Future is completed with None as soon as the owner has accepted the call.
        """
        return self.send(
            "call", to, details, *_wire.dumps((function, tuple(args or ()), kwargs or {}), to), timeout=timeout
        )

    def _expire(self):
        """Fail calls that were not answered in time."""
        while not self._closed:
            with self._sooner:
                now = time.monotonic()
                if not self._deadlines or self._deadlines[0][0] > now:
                    self._sooner.wait(self._deadlines[0][0] - now if self._deadlines else None)
                    continue
                _, number, seconds = heapq.heappop(self._deadlines)
            self._fail(
                number,
                f"RPCErr:1:RPC ran for more than set timeout ({int(seconds * 1000)} ms) and will now be marked with "
                f"an error",
            )

    def _tell_ends(self):
        """Notify owners of references that have ended here.

        An Event in the queue is set when it is reached; None ends this thread.
        """
        while (found := self.references.ended.get()) is not None:
            if isinstance(found, threading.Event):
                found.set()
            else:
                owner, reference, fork = found
                self.send("end", owner, {"reference": reference, "fork": fork})

    # shutdown

    def _barrier(self, number, value, timeout):
        return self.send("barrier", self.workers[0], {"number": number, "value": value}, timeout=timeout).wait()

    def join(self, timeout):
        """Wait until all workers have called this and no call is running on any of them.

        Then all references of this worker end.
        """
        for number in itertools.count():
            with self._lock:
                self._quiet.wait_for(lambda: not self._pending and not self._running)
                served, self._served = self._served, 0
            if self._barrier(number, served, timeout) == 0 and number:
                break
        self.references.end_all()
        told = threading.Event()
        self.references.ended.put(told)
        told.wait()
        self._barrier("end", 0, timeout)

    def close(self):
        """Close the connections and end the threads."""
        self._closed = True
        with self._sooner:
            self._sooner.notify()
        self.references.ended.put(None)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._pool.shutdown(wait=False)
        with self._lock:
            links, self._links = list(self._links.values()), {}
        for link in links:
            link.close()
