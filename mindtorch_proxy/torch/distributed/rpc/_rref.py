"""Remote references (RRefs), and the lifetime of their values.

A value lives on its owner until all of the owner's own references and all forks (references of other workers) have
ended. A worker that passes on a reference notifies the owner of the new fork first, over the same connection on which
it later reports the end of its own reference. So the owner always learns of the new fork before the old one ends.
"""

import itertools
import queue
import threading
import weakref
from functools import partial
from typing import Generic, TypeVar

import torch

from ._workers import current
from .constants import UNSET_RPC_TIMEOUT

__all__ = ["RRef", "References", "rebuild"]
T = TypeVar("T")
CALLS: dict = {}  # {name: rpc function}, filled in the module that defines these functions


class _Owned:
    """A value, possibly still being computed, and the forks for which it is kept."""

    def __init__(self):
        self.future, self.forks, self.ended = torch.Future(), set(), set()


class References:
    """The references of one worker: the values that it owns, and its forks of other workers' values."""

    def __init__(self, rank):
        self._rank, self._ids, self._lock = rank, itertools.count(), threading.Lock()
        self._owned, self._kept, self._users = weakref.WeakValueDictionary(), {}, weakref.WeakSet()
        self.ended = (
            queue.SimpleQueue()
        )  # (owner, reference, fork); a queue, because __del__ may run while one of our locks is held

    def new(self):
        """Return an id that is unique in the job."""
        return self._rank, next(self._ids)

    def own(self, reference, fork=None):
        """Create an owned value, for a fork of another worker or a local reference."""
        owned = self._owned[reference] = _Owned()
        if fork is not None:
            self.fork(reference, fork)
        return owned

    def value(self, reference):
        """Return the owned value of a reference, or None."""
        return self._owned.get(reference)

    def fork(self, reference, fork):
        """Keep a value alive for a fork, unless the fork has already ended."""
        with self._lock:
            owned = self._owned.get(reference)
            if owned is None:
                return
            if fork in owned.ended:
                owned.ended.discard(fork)
                return
            owned.forks.add(fork)
            self._kept[reference] = owned

    def end(self, reference, fork):
        """Record the end of a fork; the value is freed with its last fork."""
        with self._lock:
            owned = self._owned.get(reference)
            if owned is None:
                return
            if fork not in owned.forks:
                owned.ended.add(fork)
                return
            owned.forks.discard(fork)
            if not owned.forks:
                self._kept.pop(reference, None)

    def use(self, rref):
        """Register a fork held by this worker."""
        self._users.add(rref)

    def end_all(self):
        """End all forks held by this worker."""
        for rref in list(self._users):
            rref._end()


def _text(identity):
    return f"GloballyUniqueId(created_on={identity[0]}, local_id={identity[1]})"


def _type_of(rref):
    return type(rref.local_value())


def _call_method(rref, name, args, kwargs):
    return getattr(rref.local_value(), name)(*args, **kwargs)


def _call_async_method(rref, name, args, kwargs):
    return _call_method(rref, name, args, kwargs)


_call_async_method._wrapped_async_rpc_function = _call_method  # the method returns a Future of the result


class _Proxy:
    """Calls methods of a referenced value on its owner."""

    def __init__(self, rref, call, timeout):
        self._rref, self._call, self._timeout = rref, call, timeout

    def __getattr__(self, name):
        return partial(self._run, name)

    def _run(self, name, *args, **kwargs):
        method = getattr(self._rref._get_type(self._timeout), name)
        function = _call_async_method if hasattr(method, "_wrapped_async_rpc_function") else _call_method
        return self._call(self._rref.owner(), function, args=(self._rref, name, args, kwargs), timeout=self._timeout)


class RRef(Generic[T]):
    """A reference to a value of type T on its owner, created from a local value or by ``remote``.

    Copies on other workers are forks. An RRef can be an argument or a result of a remote call; pickling it otherwise
    raises RuntimeError.
    """

    def __init__(self, value, type_hint=None):
        if type_hint is not None:
            raise RuntimeError(
                "type_hint should only be specified when the RRef being created contains a ScriptModule."
            )
        agent = current()
        reference = agent.references.new()
        owned = agent.references.own(reference)
        owned.future.set_result(value)
        self._become(agent, agent.info, reference, owned=owned)

    def _become(self, agent, owner, reference, *, owned=None, fork=None, made=None):
        self._agent, self._owner, self._reference, self._owned, self._fork, self._made = (
            agent,
            owner,
            reference,
            owned,
            fork,
            made,
        )
        if fork is not None:
            agent.references.use(self)
        return self

    @classmethod
    def _of(cls, agent, owner, reference, **how):
        return cls.__new__(cls)._become(agent, owner, reference, **how)

    def __del__(self):
        if getattr(self, "_agent", None) is not None:
            self._end()

    def _end(self):
        fork, self._fork = self._fork, None
        if fork is not None:
            self._agent.references.ended.put((self._owner, self._reference, fork))

    def __reduce__(self):
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")

    def _sent(self):
        """Create a new fork, notify the owner of it, and return the arguments of ``rebuild``."""
        agent, fork = self._agent, self._agent.references.new()
        if self.is_owner():
            agent.references.fork(self._reference, fork)
        else:
            agent.send("fork", self._owner, {"reference": self._reference, "fork": fork})
        return self._owner, self._reference, fork

    def __str__(self):
        if self.is_owner():
            return f"OwnerRRef({_text(self._reference)})"
        return (
            f"UserRRef(RRefId = {_text(self._reference)}, ForkId = {_text(self._fork)})"
            if self._fork
            else f"UserRRef(RRefId = {_text(self._reference)})"
        )

    __repr__ = __str__

    def is_owner(self):
        """Whether this worker owns the value."""
        return self._owned is not None

    def owner(self):
        """Return the WorkerInfo of the owner."""
        return self._owner

    def owner_name(self):
        """Return the owner's name."""
        return self._owner.name

    def confirmed_by_owner(self):
        """Whether the owner knows of this reference."""
        return self._made is None or self._made.done()

    def to_here(self, timeout=UNSET_RPC_TIMEOUT):
        """Return the value: the value itself on the owner, a copy on other workers.

        Raise the error with which its computation failed, or RuntimeError on a time-out.
        """
        if self.is_owner():
            return self.local_value()
        if self._made is not None and self._made.done():
            self._made.wait()
        return self._agent.send("fetch", self._owner, {"reference": self._reference}, timeout=timeout).wait()

    def local_value(self):
        """Return the value on its owner; raise RuntimeError on other workers."""
        if not self.is_owner():
            raise RuntimeError(
                f"For UserRRef(rref_id={_text(self._reference)}, fork_id={_text(self._fork or ('-', '-'))}), "
                f"can't call localValue() on user {self._agent.info}. Call it on owner {self._owner}"
            )
        return self._owned.future.wait()

    def _get_type(self, timeout=UNSET_RPC_TIMEOUT, blocking=True):
        if self.is_owner():
            return type(self.local_value())
        future = self._agent.call(self._owner, _type_of, (self,), {}, timeout)
        return future.wait() if blocking else future

    def _get_future(self):
        """Return a Future that is completed when the owner has accepted the call."""
        if self._made is None:
            raise RuntimeError("a reference that no `remote` of this worker made has no Future")
        return self._made

    def rpc_sync(self, timeout=UNSET_RPC_TIMEOUT):
        """Return a proxy: ``rref.rpc_sync().method(...)`` returns the method's result."""
        return self._proxy("rpc_sync", timeout)

    def rpc_async(self, timeout=UNSET_RPC_TIMEOUT):
        """Return a proxy: ``rref.rpc_async().method(...)`` returns a Future of the method's result."""
        return self._proxy("rpc_async", timeout)

    def remote(self, timeout=UNSET_RPC_TIMEOUT):
        """Return a proxy: ``rref.remote().method(...)`` returns a reference to the result on the owner."""
        return self._proxy("remote", timeout)

    def _proxy(self, name, timeout):
        return _Proxy(self, CALLS[name], timeout)

    def backward(self, dist_autograd_ctx_id=-1, retain_graph=False):
        """Run backward from the value, a tensor, on its owner.

        Backward across workers needs torch.distributed.autograd and raises NotImplementedError.
        """
        if dist_autograd_ctx_id != -1:
            raise NotImplementedError(
                "RRef.backward: torch.distributed.autograd is not supported (any dtype, any device)"
            )
        if not self.is_owner():
            raise RuntimeError("User RRefs require 'dist_autograd_ctx_id' to be specified")
        value = self.local_value()
        if not isinstance(value, torch.Tensor):
            raise RuntimeError("RRef should contain a tensor for .backward()")
        value.backward(retain_graph=retain_graph)


def rebuild(owner, reference, fork):
    """Return the reference received in a message."""
    agent = current()
    if owner != agent.info:
        return RRef._of(agent, owner, reference, fork=fork)
    rref = RRef._of(agent, owner, reference, owned=agent.references.value(reference))
    agent.references.end(reference, fork)
    return rref
