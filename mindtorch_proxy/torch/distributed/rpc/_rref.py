"""References to values of other workers, and how long a value is kept.

A value lives on its owner as long as a reference of the owner's own, or a fork: the reference of another worker, has
not ended. Who sends a reference on tells the owner of the new fork before, over the connection on which it would tell
that its own has ended: so the owner always hears of the new one first.
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
CALLS: dict = {}  # {name: function that runs another on a worker}, filled where these functions are defined


class _Owned:
    """A value that may still be in the making, and the forks that it is kept for."""

    def __init__(self):
        self.future, self.forks, self.ended = torch.Future(), set(), set()


class References:
    """Those of one worker: the values that it owns, and its forks of others' values."""

    def __init__(self, rank):
        self._rank, self._ids, self._lock = rank, itertools.count(), threading.Lock()
        self._owned, self._kept, self._users = weakref.WeakValueDictionary(), {}, weakref.WeakSet()
        self.ended = (
            queue.SimpleQueue()
        )  # (owner, reference, fork); __del__ may run anywhere, while a lock of ours is held as well

    def new(self):
        """An identity that no other reference or fork of the job has."""
        return self._rank, next(self._ids)

    def own(self, reference, fork=None):
        """A value to be, for a fork of another worker or for a reference here."""
        owned = self._owned[reference] = _Owned()
        if fork is not None:
            self.fork(reference, fork)
        return owned

    def value(self, reference):
        """The owned value behind a reference, or None."""
        return self._owned.get(reference)

    def fork(self, reference, fork):
        """Keep a value for a fork, unless that has ended already."""
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
        """A fork has ended; the last one frees the value."""
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
        """Note a fork of this worker's."""
        self._users.add(rref)

    def end_all(self):
        """End all forks of this worker's."""
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


_call_async_method._wrapped_async_rpc_function = _call_method  # the method gives a Future, whose value is meant


class _Proxy:
    """Calls of the methods of what a reference stands for, on its owner."""

    def __init__(self, rref, call, timeout):
        self._rref, self._call, self._timeout = rref, call, timeout

    def __getattr__(self, name):
        return partial(self._run, name)

    def _run(self, name, *args, **kwargs):
        method = getattr(self._rref._get_type(self._timeout), name)
        function = _call_async_method if hasattr(method, "_wrapped_async_rpc_function") else _call_method
        return self._call(self._rref.owner(), function, args=(self._rref, name, args, kwargs), timeout=self._timeout)


class RRef(Generic[T]):
    """A reference to a value of type T on its owner: made here from a value, or by ``remote``. Other workers' copies of
    it are forks.

    It can be an argument or a result of remote calls, and is no object to pickle otherwise (RuntimeError).
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
        """What ``rebuild`` makes a new fork from, of which the owner has been told."""
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
        """Whether the value is this worker's."""
        return self._owned is not None

    def owner(self):
        """The WorkerInfo of the worker that has the value."""
        return self._owner

    def owner_name(self):
        """The owner's name."""
        return self._owner.name

    def confirmed_by_owner(self):
        """Whether the owner knows of this reference."""
        return self._made is None or self._made.done()

    def to_here(self, timeout=UNSET_RPC_TIMEOUT):
        """The value: itself on the owner, a copy elsewhere.

        Raises what making it raised, RuntimeError when it does not come in time.
        """
        if self.is_owner():
            return self.local_value()
        if self._made is not None and self._made.done():
            self._made.wait()
        return self._agent.send("fetch", self._owner, {"reference": self._reference}, timeout=timeout).wait()

    def local_value(self):
        """The value, on its owner alone (RuntimeError elsewhere)."""
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
        """A Future that is done when the owner has begun to make the value."""
        if self._made is None:
            raise RuntimeError("a reference that no `remote` of this worker made has no Future")
        return self._made

    def rpc_sync(self, timeout=UNSET_RPC_TIMEOUT):
        """``rref.rpc_sync().method(...)``: the method's result on the owner."""
        return self._proxy("rpc_sync", timeout)

    def rpc_async(self, timeout=UNSET_RPC_TIMEOUT):
        """``rref.rpc_async().method(...)``: a Future of the method's result on the owner."""
        return self._proxy("rpc_async", timeout)

    def remote(self, timeout=UNSET_RPC_TIMEOUT):
        """``rref.remote().method(...)``: a reference to the method's result, which stays on the owner."""
        return self._proxy("remote", timeout)

    def _proxy(self, name, timeout):
        return _Proxy(self, CALLS[name], timeout)

    def backward(self, dist_autograd_ctx_id=-1, retain_graph=False):
        """Gradients of the value, a tensor, on its owner.

        Across workers they need torch.distributed.autograd: NotImplementedError.
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
    """The reference that came with a message."""
    agent = current()
    if owner != agent.info:
        return RRef._of(agent, owner, reference, fork=fork)
    rref = RRef._of(agent, owner, reference, owned=agent.references.value(reference))
    agent.references.end(reference, fork)
    return rref
