"""Functional optimizers, which take gradients as arguments.

A step does not read `.grad`, so several threads may train the same parameters.
"""

import inspect

import torch

__all__ = []
functional_optim_map = {}


class _Functional:
    """Base class of functional optimizers over the class `_optimizer`. `state` holds the state by parameter."""

    def __init__(self, params, *args, _allow_empty_param_list=False, **kwargs):
        if len(params) == 0 and not _allow_empty_param_list:
            raise ValueError("optimizer got an empty parameter list")
        given = self._signature.bind(*args, **kwargs)
        given.apply_defaults()
        self.defaults, self.state, self.param_group = dict(given.arguments), {}, {"params": params}
        self._over([torch.zeros(1)])  # raises for options that the optimizer rejects

    def _over(self, params):
        return self._optimizer(params, **self.defaults)

    def step_param(self, param, grad):
        """Run one step for one parameter; do nothing if its gradient is None."""
        self._step([param], [grad])

    def step(self, gradients):
        """Run one step for all parameters; those whose gradient is None do not change."""
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError(
                f"the gradients passed in does not equal to the size of the parameters!Params length: {len(params)}. "
                f"Gradients length: {len(gradients)}"
            )
        self._step(params, gradients)

    def _step(self, params, gradients):
        aliases = {}
        for param, gradient in zip(params, gradients):
            if gradient is not None:
                alias = param.detach()  # shares the memory, but has its own gradient
                alias.grad = gradient.detach()
                aliases[alias] = param
        if not aliases:
            return
        optimizer = self._over(list(aliases))
        for alias, param in aliases.items():
            if param in self.state:
                optimizer.state[alias] = self.state[param]
        optimizer.step()
        for alias, param in aliases.items():
            self.state[param] = optimizer.state[alias]


def _functional(cls, defaults):
    """Create the functional form of an optimizer and register it in `functional_optim_map`."""
    ordered = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
        for name, value in defaults.items()
    ]
    made = type(
        f"_Functional{cls.__name__}",
        (_Functional,),
        {"_optimizer": cls, "_signature": inspect.Signature(ordered), "__module__": __name__},
    )
    functional_optim_map[cls] = made
    return made


_MANNER = {"foreach": False, "maximize": False}
_ADAM = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
_FunctionalAdadelta = _functional(
    torch.optim.Adadelta, {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0, **_MANNER}
)
_FunctionalAdagrad = _functional(
    torch.optim.Adagrad,
    {"lr": 1e-2, "lr_decay": 0.0, "weight_decay": 0.0, "initial_accumulator_value": 0.0, "eps": 1e-10, **_MANNER},
)
_FunctionalAdam = _functional(
    torch.optim.Adam,
    {**_ADAM, "weight_decay": 0.0, "amsgrad": False, "maximize": False, "foreach": False, "fused": False},
)
_FunctionalAdamW = _functional(
    torch.optim.AdamW,
    {**_ADAM, "weight_decay": 1e-2, "amsgrad": False, "maximize": False, "foreach": False, "fused": False},
)
_FunctionalAdamax = _functional(torch.optim.Adamax, {**_ADAM, "weight_decay": 0.0, **_MANNER})
_FunctionalRMSprop = _functional(
    torch.optim.RMSprop,
    {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": False, **_MANNER},
)
_FunctionalRprop = _functional(torch.optim.Rprop, {"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50), **_MANNER})
_FunctionalSGD = _functional(
    torch.optim.SGD,
    {
        "lr": 1e-2,
        "momentum": 0.0,
        "dampening": 0.0,
        "weight_decay": 0.0,
        "nesterov": False,
        "maximize": False,
        "foreach": False,
        "fused": False,
    },
)


def register_functional_optim(key, optim):
    """Register `optim` for `as_functional_optim(key)`, unless the key is taken."""
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls, *args, **kwargs):
    """Return the functional form of an optimizer class, without parameters.

    Raise ValueError if there is none.
    """
    if optim_cls not in functional_optim_map:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!")
    return functional_optim_map[optim_cls]([], *args, **kwargs, _allow_empty_param_list=True)
