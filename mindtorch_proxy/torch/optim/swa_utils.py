"""Stochastic weight averaging and exponential moving averages."""

import itertools
import math
from copy import deepcopy

import torch

from .lr_scheduler import LRScheduler, _format_param, _warn_get_lr_called_within_step

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay=0.999):
    """Return a function that updates exponential moving averages of lists of parameters in-place."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, param in zip(ema_param_list, current_param_list):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(param, 1 - decay)
            else:
                average.copy_(average * decay + param * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn():
    """Return a function that updates equally weighted averages of lists of parameters in-place."""

    @torch.no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        weight = 1 / (int(num_averaged) + 1)
        for average, param in zip(averaged_param_list, current_param_list):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(param, weight)
            else:
                average.copy_(average + (param - average) * weight)

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """Return a function that computes the exponential moving average of one parameter."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """Return a function that computes the equally weighted average of one parameter."""

    @torch.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(torch.nn.Module):
    """A copy of a model that holds the running average of its parameters."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Update the average with the current parameters of the model."""

        def tensors(module):
            return itertools.chain(module.parameters(), module.buffers() if self.use_buffers else ())

        pairs = [(a.detach(), p.detach().to(a.device)) for a, p in zip(tensors(self.module), tensors(model))]
        if self.n_averaged == 0:
            for average, param in pairs:
                average.copy_(param)
        elif self.avg_fn is not None:
            for average, param in pairs:
                average.copy_(self.avg_fn(average, param, self.n_averaged.to(average.device)))
        else:
            groups = {}
            for average, param in pairs:
                groups.setdefault((average.device, average.dtype), []).append((average, param))
            for (device, _), group in groups.items():
                (self.multi_avg_fn or get_swa_multi_avg_fn())(*map(list, zip(*group)), self.n_averaged.to(device))
        if not self.use_buffers:
            for mine, buffer in zip(self.module.buffers(), model.buffers()):
                mine.detach().copy_(buffer.detach().to(mine.device))
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader, model, device=None):
    """Recompute the running statistics of all batch normalization layers from the data of a loader."""
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    for input in loader:
        input = input[0] if isinstance(input, (list, tuple)) else input
        model(input if device is None else input.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal the learning rate of each group to swa_lr and keep it there."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """Return the annealed fraction at time t; both are between 0 and 1."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        _warn_get_lr_called_within_step(self)
        step = max(1, self._step_count - 1) if self.anneal_epochs == 0 else self._step_count - 1
        before, alpha = (self.anneal_func(max(0, min(1, s / max(1, self.anneal_epochs)))) for s in (step - 1, step))

        def rate(lr, swa_lr):
            initial = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
            return swa_lr * alpha + initial * (1 - alpha)

        return [rate(group["lr"], group["swa_lr"]) for group in self.optimizer.param_groups]
