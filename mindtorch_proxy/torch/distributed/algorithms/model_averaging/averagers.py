"""Averages the parameters of replicas every few steps."""

import warnings
from abc import ABC, abstractmethod

import torch.distributed as dist
import torch.distributed.algorithms.model_averaging.utils as utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Base class of averagers; ``step`` counts the steps."""

    def __init__(self, process_group=None):
        self.process_group = dist.distributed_c10d._get_default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params):
        """Average the parameters if this step requires it. Must be called in every step."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages every ``period`` steps after ``warmup_steps``."""

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing "
                "parameters will be no less than the cost of all-reducing gradients by DistributedDataParallel in the "
                "backward pass. Therefore, only DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params):
        """Average parameters or parameter groups if this step requires it."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
