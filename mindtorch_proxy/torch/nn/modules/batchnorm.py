"""Batch normalization."""

from typing import Any

import torch
from torch import Tensor

from .. import functional as F
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._functions import SyncBatchNorm as OverProcesses
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _optional_parameters

__all__ = [
    "BatchNorm1d",
    "LazyBatchNorm1d",
    "BatchNorm2d",
    "LazyBatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


def _reset_norm(module, affine):
    """Set the weight to one and the bias to zero, where the module has them."""
    if affine:
        init.ones_(module.weight)
        if getattr(module, "bias", None) is not None:
            init.zeros_(module.bias)


def _check_dims(input, *dims):
    if input.dim() not in dims:
        expected = " or ".join(f"{d}D" for d in dims)
        raise ValueError(f"expected {expected} input (got {input.dim()}D input)")


def _update_factor(self):
    """Count this batch, and return the fraction of the running statistics that it replaces."""
    factor = 0.0 if self.momentum is None else self.momentum
    if self.training and self.track_running_stats and self.num_batches_tracked is not None:
        self.num_batches_tracked.add_(1)
        if self.momentum is None:  # cumulative average
            factor = 1.0 / float(self.num_batches_tracked)
    return factor


class _NormBase(Module):
    """Base of batch and instance normalization.

    It has weight and bias if affine, and running statistics if track_running_stats.
    """

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kwargs = {"device": device, "dtype": dtype}
        _optional_parameters(
            self, kwargs, weight=(num_features,) if affine else None, bias=(num_features,) if affine and bias else None
        )
        stats = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features, **kwargs) if stats else None)
        self.register_buffer("running_var", torch.ones(num_features, **kwargs) if stats else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device) if stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running mean to 0, the running variance to 1 and the number of batches to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics, set the weight to one and the bias to zero."""
        self.reset_running_stats()
        _reset_norm(self, self.affine)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        # Version 2 added num_batches_tracked
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats:
            count = self.num_batches_tracked
            known = count is not None and not count.is_meta
            state_dict.setdefault(prefix + "num_batches_tracked", count if known else torch.tensor(0, dtype=torch.long))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = _update_factor(self)
        use_batch = self.training or self.running_mean is None and self.running_var is None
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            use_batch,
            factor,
            self.eps,
        )


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalization layer that takes num_features from its first input."""

    def __init__(
        self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True
    ) -> None:
        kwargs = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, False, False, **kwargs, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**kwargs)
            if bias:
                self.bias = UninitializedParameter(**kwargs)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kwargs)
            self.running_var = UninitializedBuffer(**kwargs)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        """Reset the parameters once their shapes are known; before that, do nothing."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        """Take num_features from dimension 1 of the input and allocate the parameters and buffers."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            tensors = [self.weight, self.bias] * self.affine + [
                self.running_mean,
                self.running_var,
            ] * self.track_running_stats
            for tensor in tensors:
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Normalize each channel of an input (N, C) or (N, C, L): (x - mean) / sqrt(var + eps) * weight + bias.

    In training, mean and variance are those of the batch, and the running statistics move towards them by `momentum`;
    with momentum=None the running statistics are a plain average over all batches. In evaluation, mean and variance are
    the running ones.
    """

    def _check_input_dim(self, input):
        _check_dims(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of an input (N, C, H, W): (x - mean) / sqrt(var + eps) * weight + bias.

    In training, mean and variance are those of the batch, and the running statistics move towards them by `momentum`;
    with momentum=None the running statistics are a plain average over all batches. In evaluation, mean and variance are
    the running ones.
    """

    def _check_input_dim(self, input):
        _check_dims(input, 4)


class BatchNorm3d(_BatchNorm):
    """Normalize each channel of an input (N, C, D, H, W): (x - mean) / sqrt(var + eps) * weight + bias.

    In training, mean and variance are those of the batch, and the running statistics move towards them by `momentum`;
    with momentum=None the running statistics are a plain average over all batches. In evaluation, mean and variance are
    the running ones.
    """

    def _check_input_dim(self, input):
        _check_dims(input, 5)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d that takes num_features from its first input."""

    cls_to_become = BatchNorm1d

    def _check_input_dim(self, input):
        _check_dims(input, 2, 3)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d that takes num_features from its first input."""

    cls_to_become = BatchNorm2d

    def _check_input_dim(self, input):
        _check_dims(input, 4)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d that takes num_features from its first input."""

    cls_to_become = BatchNorm3d

    def _check_input_dim(self, input):
        _check_dims(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization with statistics over all processes of a group.

    In a single process it is plain batch normalization.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any | None = None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input):
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        dist = torch.distributed
        if not (self.training and dist.is_available() and dist.is_initialized()):
            return super().forward(input)
        group = dist.group.WORLD if self.process_group is None else self.process_group
        if dist.get_world_size(group) == 1:
            return super().forward(input)
        factor = _update_factor(self)
        return OverProcesses.apply(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, factor, group
        )

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Replace every batch normalization in a module tree by a SyncBatchNorm that shares its tensors."""
        output = module
        if isinstance(module, _BatchNorm):
            output = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias") * module.affine + (
                "running_mean",
                "running_var",
                "num_batches_tracked",
                "training",
            ):
                setattr(output, name, getattr(module, name))
        for name, child in module.named_children():
            output.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return output
