"""Training on uneven inputs: a rank whose inputs have ended answers the collectives of the others until theirs have
ended, too.
"""

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

__all__ = ["JoinHook", "Joinable", "Join"]
_MANY = 1000  # iterations that a rank may be ahead before it is warned of


class JoinHook:
    """What a rank without inputs does instead of training."""

    def main_hook(self):
        """For each iteration of the others: the collectives of one iteration."""

    def post_hook(self, is_last_joiner):
        """Once, when the inputs of all have ended; ``is_last_joiner`` for those whose ended last."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config():
        """Outside of ``Join``."""
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """What takes part in ``Join``: it communicates in every iteration, and calls ``Join.notify_join_context`` before
    that.
    """

    @abstractmethod
    def __init__(self):
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs) -> JoinHook:
        """The hook; ``kwargs`` are those of ``Join``, the same for all that join."""

    @property
    @abstractmethod
    def join_device(self) -> torch.device:
        """The device of ``Join``'s own messages."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of ``Join``'s own messages."""


class Join:
    """``with Join([model, optimizer]):`` around a loop over inputs of which the ranks have different numbers."""

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
        """The sum of one number from each rank, which is 1 for those that still train."""
        number = make(1, device=self._device)
        dist.all_reduce(number, group=self._process_group)
        return number.item()

    @staticmethod
    def notify_join_context(joinable):
        """Tell the ranks without inputs that this one has some.

        The work of that message, or None where another joinable tells it.
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
