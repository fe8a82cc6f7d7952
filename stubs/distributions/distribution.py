"""The base class of distributions."""

import warnings

import torch
from typing_extensions import deprecated

from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution over events of ``event_shape``, for each index of ``batch_shape``.

    The subclasses of this package define ``_log_prob`` and ``_cdf``, which get a validated value. Their ``expand`` uses
    ``arg_constraints`` and ``_nested``, the names of attributes that are distributions of the same batch shape.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _nested = ()

    @staticmethod
    def set_default_validate_args(value):
        """Set whether distributions check parameters and values by default."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()  # for a distribution that also has nn.Module as a base

    def _setup(self, validate_args, **params):
        """Set parameters, broadcast against each other; their shape becomes the batch shape."""
        self.__dict__.update(zip(params, broadcast_all(*params.values())))
        Distribution.__init__(self, self.__dict__[next(iter(params))].shape, validate_args=validate_args)

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not torch._is_all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """Return the distribution with its batch shape expanded."""
        if type(self).__init__.__module__.rpartition(".")[0] != __package__ and _instance is None:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} that defines a custom __init__ method must also define a custom "
                f".expand() method."
            )
        new = type(self).__new__(type(self)) if _instance is None else _instance
        batch_shape = torch.Size(batch_shape)
        kept = {
            k: v
            for k, v in self.__dict__.items()
            if k in self.arg_constraints or not isinstance(getattr(type(self), k, None), lazy_property)
        }
        new.__dict__.update({k: v for k, v in kept.items() if k not in new.__dict__})
        for name, constraint in self.arg_constraints.items():
            if name in kept:
                value = kept[name]
                new.__dict__[name] = value.expand(batch_shape + value.shape[value.dim() - constraint.event_dim :])
        for name in self._nested:
            new.__dict__[name] = kept[name].expand(self._nested_shape(name, batch_shape))
        new._batch_shape = batch_shape
        return new

    def _nested_shape(self, name, batch_shape):
        return batch_shape

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must "
                f"also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    batch_shape = property(lambda self: self._batch_shape, doc="The shape over which parameters are batched.")
    event_shape = property(lambda self: self._event_shape, doc="The shape of one sample, without batch.")

    @property
    def arg_constraints(self):
        """The constraints that each parameter satisfies."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean, of shape ``batch_shape + event_shape``; NaN where there is none."""
        raise NotImplementedError

    @property
    def mode(self):
        """The value with the highest probability or density; NaN where none is higher than the others."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance, of shape ``batch_shape + event_shape``; infinite or NaN where there is none."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Return samples of shape ``sample_shape + batch_shape + event_shape``."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """Return samples through which gradients flow to the parameters."""
        raise NotImplementedError

    @deprecated("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning)
    def sample_n(self, n):
        """Return ``sample((n,))`` (deprecated)."""
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """Return the logarithm of the density or mass at ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)

    def cdf(self, value):
        """Return the cumulative distribution function at ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        return self._cdf(value)

    def _log_prob(self, value):
        raise NotImplementedError

    def _cdf(self, value):
        raise NotImplementedError

    def icdf(self, value):
        """Return the value at which the cumulative distribution function is ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """Return all values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def _enumerate(self, n, dtype, expand):
        values = torch.arange(n, dtype=dtype, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def entropy(self):
        """Return the entropy in nats, of shape ``batch_shape``."""
        raise NotImplementedError

    def perplexity(self):
        """Return the exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if value.shape[value.dim() - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(value.shape), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. "
                "Please initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not torch._is_all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self):
        params = {k: self.__dict__[k] for k in self.arg_constraints if k in self.__dict__}
        return (
            f"{type(self).__name__}("
            + ", ".join(f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in params.items())
            + ")"
        )


class _ProbsOrLogits(Distribution):
    """A distribution with either ``probs`` or ``logits``; the other is computed on access."""

    _binary = True

    def _set_param(self, probs, logits):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "probs" if logits is None else "logits"
        return self._given, probs if logits is None else logits

    @property
    def _param(self):
        return self.__dict__[self._given]

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=self._binary)

    param_shape = property(lambda self: self._param.size(), doc="The shape of the parameter.")

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


class _WithCount(_ProbsOrLogits):
    """A distribution that also has a ``total_count``."""

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        name, value = self._set_param(probs, logits)
        self.total_count, value = broadcast_all(total_count, value)
        self.__dict__[name] = value
        self.total_count = self.total_count.type_as(value)
        Distribution.__init__(self, value.size(), validate_args=validate_args)
