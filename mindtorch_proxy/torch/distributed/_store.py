"""Key-value stores through which the processes of a job find each other.

This module has the stores in memory, in a file and with a key prefix. The TCP store is in `_tcp_store`.
"""

import fcntl
import os
import struct
import sys
import threading
import time
from datetime import timedelta

from ._errors import DistStoreError, QueueEmptyError
from .constants import _duration

__all__ = ["Store", "HashStore", "FileStore", "PrefixStore"]
DEFAULT_TIMEOUT = timedelta(seconds=300)


def as_bytes(value):
    """Convert a value to the bytes that are stored."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"set(): incompatible function arguments: a value is a str or bytes, not {type(value).__name__}")


def as_key(key):
    """Return the key; raise TypeError if it is not a str."""
    if not isinstance(key, str):
        raise TypeError(f"incompatible function arguments: a key is a str, not {type(key).__name__}")
    return key


def check_keys(keys):
    """Return the keys as a list; raise TypeError if they are not all str."""
    if isinstance(keys, (str, bytes)) or not all(isinstance(k, str) for k in keys):
        raise TypeError(f"incompatible function arguments: keys are a list of str, not {keys!r}")
    return list(keys)


def same_length(keys, values):
    """Pair keys with values; raise an error if their numbers differ."""
    if len(keys) != len(values):
        raise DistStoreError("multiSet keys and values vectors must be of same size")
    return zip(check_keys(keys), map(as_bytes, values))


class Store:
    """Base class of all stores, including those of programs.

    Subclasses implement ``set``, ``get``, ``add``, ``wait``, ``check`` and so on.
    """

    def __init__(self):
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self):
        """How long ``get`` and ``wait`` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout):
        """Set how long ``get`` and ``wait`` wait for a key."""
        self._timeout = _duration(timeout, "set_timeout")

    def _lacks(self, name):
        raise RuntimeError(
            f'Tried to call pure virtual function "::c10d::Store::{name}": {type(self).__name__} has none'
        )

    def _unwritten(self, name):
        raise RuntimeError(f"{type(self).__name__}.{name}: Not implemented.")

    def _unsupported(self, what):
        raise NotImplementedError(f"{what} support is not implemented.")

    def set(self, key, value):
        """Set a key."""
        as_key(key)
        self._unwritten("set")

    def get(self, key):
        """Return the value of a key; wait until it is set."""
        self._unwritten("get")

    def add(self, key, value):
        """Add to the number that a key holds (0 if it is not set), and return the sum."""
        self._lacks("add")

    def check(self, keys):
        """Whether all keys are set."""
        self._lacks("check")

    def wait(self, keys, timeout=None):
        """Wait until all keys are set."""
        self._lacks("wait")

    def compare_set(self, key, expected_value, desired_value):
        """Set a key if it holds the expected value, or if it is not set and the expected value is empty.

        Return the value that the key holds afterwards.
        """
        self._unwritten("compare_set")

    def delete_key(self, key):
        """Delete a key; return whether it was set."""
        self._lacks("deleteKey")

    def num_keys(self):
        """Return the number of keys."""
        self._lacks("getNumKeys")

    def list_keys(self):
        """Return all keys."""
        self._unsupported("listKeys")

    def append(self, key, value):
        """Append to the value of a key, with ``compare_set``."""
        value = wanted = as_bytes(value)
        held = as_bytes(self.compare_set(key, b"", wanted))
        while held != wanted:
            wanted = held + value
            held = as_bytes(self.compare_set(key, held, wanted))

    def multi_get(self, keys):
        """Return the values of several keys."""
        return [self.get(k) for k in check_keys(keys)]

    def multi_set(self, keys, values):
        """Set several keys; surplus values are ignored."""
        for k, v in same_length(keys, values[: len(keys)]):
            self.set(k, v)

    def queue_push(self, key, value):
        """Append a value to a queue."""
        self._unsupported("queue")

    def queue_pop(self, key, block=True):
        """Remove and return the first value of a queue; with ``block``, wait for one."""
        self._unsupported("queue")

    def queue_len(self, key):
        """Return the number of values in a queue."""
        self._unsupported("queue")

    def has_extended_api(self):
        """Whether append, multi_get and multi_set are supported."""
        return False

    def clone(self):
        """Return a store with the same keys, for another thread."""
        self._lacks("clone")

    def barrier(self, key, world_size, timeout=None):
        """Wait until ``world_size`` processes have reached the barrier of that name."""
        if self.add(key, 1) == world_size:
            self.set(f"{key}/done", b"1")
        self.wait([f"{key}/done"], *([] if timeout is None else [timeout]))


class _Local(Store):
    """Base class of stores that hold their data in a dict of this process, under a lock."""

    def clone(self):
        """Return the store itself, because it is thread-safe."""
        return self

    def __init__(self):
        super().__init__()
        self._condition = threading.Condition()
        self._data, self._queues = {}, {}

    def has_extended_api(self):
        return True


class HashStore(_Local):
    """A store in the memory of this process, shared by its threads."""

    def _wait(self, ready, timeout):
        seconds = (self._timeout if timeout is None else _duration(timeout, "wait")).total_seconds()
        if not self._condition.wait_for(ready, seconds):
            raise DistStoreError("Wait timeout")

    def set(self, key, value):
        as_key(key)
        value = as_bytes(value)
        with self._condition:
            self._data[key] = value
            self._condition.notify_all()

    def get(self, key):
        as_key(key)
        with self._condition:
            self._wait(lambda: key in self._data, None)
            return self._data[key]

    def add(self, key, value):
        as_key(key)
        with self._condition:
            total = number(self._data.get(key, b"0")) + value
            self._data[key] = str(total).encode()
            self._condition.notify_all()
            return total

    def check(self, keys):
        with self._condition:
            return all(k in self._data for k in check_keys(keys))

    def wait(self, keys, timeout=None):
        keys = check_keys(keys)
        with self._condition:
            self._wait(lambda: all(k in self._data for k in keys), timeout)

    def compare_set(self, key, expected_value, desired_value):
        as_key(key)
        with self._condition:
            found = compare_and_set(self._data, key, as_bytes(expected_value), as_bytes(desired_value))
            self._condition.notify_all()
            return found

    def delete_key(self, key):
        with self._condition:
            return self._data.pop(key, None) is not None

    def num_keys(self):
        return len(self._data)

    def list_keys(self):
        with self._condition:
            return list(self._data)

    def append(self, key, value):
        with self._condition:
            self._data[key] = self._data.get(key, b"") + as_bytes(value)
            self._condition.notify_all()

    def multi_get(self, keys):
        keys = check_keys(keys)
        with self._condition:
            self._wait(lambda: all(k in self._data for k in keys), None)
            return [self._data[k] for k in keys]

    def queue_push(self, key, value):
        with self._condition:
            self._queues.setdefault(key, []).append(as_bytes(value))
            self._condition.notify_all()

    def queue_pop(self, key, block=True):
        with self._condition:
            if block:
                self._wait(lambda: self._queues.get(key), None)
            elif not self._queues.get(key):
                raise QueueEmptyError("queue is empty")
            return self._queues[key].pop(0)

    def queue_len(self, key):
        return len(self._queues.get(key, ()))


def number(value):
    """Return the integer that a value holds; raise ValueError if it is not a number."""
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"stoll: {value!r} is not a number") from None


def compare_and_set(data, key, expected, desired):
    """Implement compare_set on a dict."""
    if key in data:
        if data[key] == expected:
            data[key] = desired
        return data[key]
    if not expected:
        data[key] = desired
        return desired
    return expected


_HEAD = struct.Struct("<BII")
_SET, _APPEND, _DELETE = range(3)


class FileStore(Store):
    """A store in a file shared by several processes.

    The file is a log of changes, written under a lock and read to its end before each answer. The last of
    ``world_size`` users removes the file; if ``world_size`` is 0 or less, it is never removed.
    """

    def clone(self):
        """Return the store itself, because it is thread-safe."""
        return self

    def __init__(self, file_name, world_size=-1):
        super().__init__()
        self.path, self._world_size, self._thread_lock = os.fspath(file_name), world_size, threading.RLock()
        self._position, self._cache, self._pid, self._closed = 0, {}, os.getpid(), False
        self._users = self._update(lambda data: self._count(data, 1))

    @staticmethod
    def _count(data, step):
        users = int(data.get("/users", b"0")) + step
        return users, [(_SET, "/users", str(users).encode())]

    def __del__(self):
        if getattr(self, "_closed", True) or self._pid != os.getpid() or sys.is_finalizing():
            return
        self._closed = True
        try:
            if self._update(lambda data: self._count(data, -1)) <= 0 < self._world_size:
                os.unlink(self.path)
        except (OSError, DistStoreError):  # the file is gone already
            pass

    def _read(self, file):
        """Apply the records written since the last read."""
        if os.fstat(file.fileno()).st_size < self._position:  # another job has recreated the file
            self._position, self._cache = 0, {}
        file.seek(self._position)
        data, at = file.read(), 0
        while at + _HEAD.size <= len(data):
            kind, n, m = _HEAD.unpack_from(data, at)
            key = data[at + _HEAD.size : at + _HEAD.size + n].decode()
            value = data[at + _HEAD.size + n : at + _HEAD.size + n + m]
            at += _HEAD.size + n + m
            if kind == _DELETE:
                self._cache.pop(key, None)
            else:
                self._cache[key] = value if kind == _SET else self._cache.get(key, b"") + value
        self._position += at

    def _locked(self, mode, how, act):
        with self._thread_lock:
            deadline = time.monotonic() + self._timeout.total_seconds()
            while True:
                try:
                    with open(self.path, mode) as file:
                        fcntl.flock(file, how)
                        self._read(file)
                        return act(file)
                except FileNotFoundError:
                    if time.monotonic() > deadline or mode == "a+b":
                        raise DistStoreError(f"Open file {self.path!r}: there is no such file or folder") from None
                    time.sleep(0.01)

    def _update(self, change):
        """Under the lock, call ``change(data)``, which returns a result and the records to write."""

        def act(file):
            result, records = change(self._cache)
            log = b"".join(
                _HEAD.pack(kind, len(key.encode()), len(value)) + key.encode() + value for kind, key, value in records
            )
            file.seek(0, os.SEEK_END)
            file.write(log)
            file.flush()
            self._read(file)
            return result

        return self._locked("a+b", fcntl.LOCK_EX, act)

    def _view(self, look):
        return self._locked("rb", fcntl.LOCK_SH, lambda file: look(self._cache))

    def set(self, key, value):
        as_key(key)
        value = as_bytes(value)
        self._update(lambda data: (None, [(_SET, key, value)]))

    def append(self, key, value):
        value = as_bytes(value)
        self._update(lambda data: (None, [(_APPEND, key, value)]))

    def add(self, key, value):
        as_key(key)

        def change(data):
            total = number(data.get(key, b"0")) + value
            return total, [(_SET, key, str(total).encode())]

        return self._update(change)

    def compare_set(self, key, expected_value, desired_value):
        as_key(key)
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)

        def change(data):
            after = dict(data)
            found = compare_and_set(after, key, expected, desired)
            return found, [(_SET, key, after[key])] if after.get(key) != data.get(key) else []

        return self._update(change)

    def delete_key(self, key):
        return self._update(lambda data: (True, [(_DELETE, key, b"")]))  # PyTorch returns True for any key

    def check(self, keys):
        keys = check_keys(keys)
        return self._view(lambda data: all(k in data for k in keys))

    def wait(self, keys, timeout=None):
        keys = check_keys(keys)
        seconds = (self._timeout if timeout is None else _duration(timeout, "wait")).total_seconds()
        deadline, pause = time.monotonic() + seconds, 0.001
        while not self.check(keys):
            if time.monotonic() > deadline:
                raise RuntimeError(f"Wait timeout after {int(seconds * 1000)}ms, keys: {', '.join(keys)}")
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def get(self, key):
        as_key(key)
        self.wait([key])
        return self._view(lambda data: data[key])

    def num_keys(self):
        return self._view(len)

    def list_keys(self):
        return self._view(lambda data: [k for k in data if k != "/users"])


class PrefixStore(Store):
    """A view of another store that adds the prefix ``prefix/`` to all keys."""

    def __init__(self, prefix, store):
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: a Store is expected, not {type(store).__name__}")
        self._prefix, self._store = prefix, store

    @property
    def underlying_store(self):
        """The wrapped store."""
        return self._store

    @property
    def _underlying_non_prefix_store(self):
        store = self._store
        while isinstance(store, PrefixStore):
            store = store._store
        return store

    @property
    def timeout(self):
        return self._store.timeout

    def set_timeout(self, timeout):
        self._store.set_timeout(timeout)

    def _key(self, key):
        return f"{self._prefix}/{as_key(key)}"

    def _keys(self, keys):
        return [self._key(k) for k in check_keys(keys)]

    def set(self, key, value):
        self._store.set(self._key(key), as_bytes(value))

    def get(self, key):
        return self._store.get(self._key(key))

    def add(self, key, value):
        return self._store.add(self._key(key), value)

    def check(self, keys):
        return self._store.check(self._keys(keys))

    def wait(self, keys, timeout=None):
        self._store.wait(self._keys(keys), *([] if timeout is None else [timeout]))

    def compare_set(self, key, expected_value, desired_value):
        return self._store.compare_set(self._key(key), as_bytes(expected_value), as_bytes(desired_value))

    def delete_key(self, key):
        return self._store.delete_key(self._key(key))

    def num_keys(self):
        return self._store.num_keys()

    def list_keys(self):
        return [k.removeprefix(f"{self._prefix}/") for k in self._store.list_keys() if k.startswith(f"{self._prefix}/")]

    def append(self, key, value):
        self._store.append(self._key(key), as_bytes(value))

    def multi_get(self, keys):
        return self._store.multi_get(self._keys(keys))

    def multi_set(self, keys, values):
        self._store.multi_set(self._keys(keys), [*map(as_bytes, values)])

    def queue_push(self, key, value):
        self._store.queue_push(self._key(key), value)

    def queue_pop(self, key, block=True):
        return self._store.queue_pop(self._key(key), block)

    def queue_len(self, key):
        return self._store.queue_len(self._key(key))

    def has_extended_api(self):
        return self._store.has_extended_api()

    def clone(self):
        return PrefixStore(self._prefix, self._store.clone())


for _cls in (Store, HashStore, FileStore, PrefixStore):
    _cls.__module__ = "torch._C._distributed_c10d"
