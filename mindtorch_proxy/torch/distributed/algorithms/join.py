"""Training on uneven inputs.

A rank that has run out of inputs takes part in the collectives of the others until they have run out as well.
"""

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

__all__ = ["JoinHook", "Joinable", "Join"]
_MANY = 1000  # iterations a rank may lag behind before a warning


class JoinHook:
    """What a rank without inputs runs instead of training."""

    def main_hook(self):
        """Run the collectives of one iteration. Called for each iteration of the other ranks."""

    def post_hook(self, is_last_joiner):
        """Run once all ranks have run out of inputs.

        ``is_last_joiner`` is True on the ranks that ran out last.
        """


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config():
        """Return the configuration that applies outside of ``Join``."""
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """Base class of objects that take part in ``Join``.

    They communicate in every iteration, and call ``Join.notify_join_context`` before that.
    """

    @abstractmethod
    def __init__(self):
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs) -> JoinHook:
        """Return the hook; ``kwargs`` are those of ``Join``, the same for all joinables."""

    @property
    @abstractmethod
    def join_device(self) -> torch.device:
        """The device of ``Join``'s own collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The process group of ``Join``'s own collectives."""


class Join:
    """Context manager for training loops in which ranks have different numbers of inputs.

    Use it as ``with Join([model, optimizer]):`` around the loop.
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable, self._throw_on_early_termination = joinables, enable, throw_on_early_termination
        self._join_hooks = [j.join_hook(**kwargs) for j in joinables]
        for j in joinables:
            j._join_config = _JoinConfig(enable, throw_on_early_termination, j is joinables[0])
        groups = [j.join_process_group for j in joinables]
        if any(g != groups[0] for g in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._process_group, self._device = groups[0], joinables[0].join_device
        self._rank = dist.get_rank(self._process_group)

    def __enter__(self):
        return None

    def __exit__(self, kind, value, traceback):
        if not self._enable or kind:
            return
        answered = 0
        while self._sum(torch.zeros):
            if answered == _MANY + 1:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {self._rank} has at "
                    f"least {_MANY} fewer inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training.",
                    stacklevel=2,
                )
            if self._throw_on_early_termination:
                self._sum(torch.ones)
                raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")
            for hook in self._join_hooks:
                hook.main_hook()
            answered += 1
        for hook in self._join_hooks:
            hook.post_hook(not answered)

    def _sum(self, make):
        """Sum one number over all ranks, which is 1 on ranks that still train."""
        number = make(1, device=self._device)
        dist.all_reduce(number, group=self._process_group)
        return number.item()

    @staticmethod
    def notify_join_context(joinable):
        """Tell the ranks without inputs that this rank still has inputs.

        Return the work of that collective, or None if another joinable runs it.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not (config.is_first_joinable and config.enable):
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = dist.all_reduce(torch.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = torch.zeros(1, device=device)
            dist.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
