"""An optimizer whose state is stored under parameter names."""

import copy
import warnings

import torch

__all__ = []


class _NamedOptimizer(torch.optim.Optimizer):
    """Wraps ``optimizer_class`` over named parameters or parameter groups.

    Its state_dict has names where the state_dict of an optimizer has numbers.
    """

    def __init__(self, named_parameters, optimizer_class, param_groups=None, module=None, *args, **kwargs):
        self.named_parameters, self.module = dict(named_parameters), module
        for group in param_groups or ():
            self._listed(group)
        self._optimizer = optimizer_class(
            self.named_parameters.values() if param_groups is None else param_groups, *args, **kwargs
        )
        self.param_groups = self._optimizer.param_groups
        if param_groups is None:
            self.ordered_param_keys = list(self.named_parameters)
        else:
            warnings.warn(
                "Since we pass in param_groups, we will use param_groups to initialize the optimizer, "
                "not all parameters of the module.",
                stacklevel=2,
            )
            self.ordered_param_keys = [
                self._key(p, f"Expect param name {p} found in param group but is missing.")
                for g in param_groups
                for p in g["params"]
            ]

    @staticmethod
    def _listed(group):
        """Convert the parameters of a group to a list of tensors."""
        if not isinstance(group, dict):
            raise AssertionError("param group must be a dict")
        if "params" not in group:
            raise AssertionError("param group must contain key params")
        params = group["params"]
        group["params"] = [params] if isinstance(params, torch.Tensor) else list(params)
        for param in group["params"]:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {torch.typename(param)}"
                )

    def _key(self, param, missing):
        for name, known in self.named_parameters.items():
            if known is param:
                return name
        raise ValueError(missing)

    @property
    def state(self):
        """The state of the wrapped optimizer, by parameter."""
        return self._optimizer.state

    def step(self, closure=None):
        """Run one step of the wrapped optimizer."""
        return self._optimizer.step(closure=closure)

    def zero_grad(self, set_to_none=True):
        """Reset the gradients."""
        self._optimizer.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        """Add a parameter group; all its parameters must be named."""
        self._listed(param_group)
        self.ordered_param_keys += [
            self._key(p, "some parameters are not in the module") for p in param_group["params"]
        ]
        self._optimizer.add_param_group(param_group)
        self.param_groups = self._optimizer.param_groups

    def init_state(self):
        """Create the state of every parameter by a step with zero gradients."""
        for param in self.named_parameters.values():
            if param.requires_grad:
                param.grad = torch.zeros_like(param)
        self.step()

    def _fsdp(self):
        from torch.distributed.fsdp import FullyShardedDataParallel

        return FullyShardedDataParallel if isinstance(self.module, FullyShardedDataParallel) else None

    def state_dict(self):
        """Return the optimizer's state_dict with names instead of numbers.

        The names of each group are sorted.
        """
        own, key = self._optimizer.state_dict(), self.ordered_param_keys
        groups = []
        for group in own["param_groups"]:
            options = {k: copy.deepcopy(v) for k, v in group.items() if k != "params"}
            groups.append({"params": sorted(key[i] for i in group["params"]), **options})
        found = {"state": {key[i]: values for i, values in own["state"].items()}, "param_groups": groups}
        if fsdp := self._fsdp():
            fsdp.optim_state_dict(self.module, self._optimizer, found)
        return found

    def load_state_dict(self, state_dict):
        """Load a state_dict with names into the existing state.

        Raise ValueError if there is no state yet or if entries do not match.
        """
        own = self._optimizer.state_dict()
        if fsdp := self._fsdp():
            state_dict = fsdp.optim_state_dict_to_load(
                self.module, self._optimizer, state_dict, is_named_optimizer=True
            )
        if not own["state"]:
            raise ValueError("Expects the optim to be initialized before load but found not initialized.")
        for i, name in enumerate(self.ordered_param_keys):
            if name in state_dict["state"]:  # otherwise it has not been trained
                self._load_state(name, own["state"][i], state_dict["state"][name])
        theirs = {frozenset(group["params"]): group for group in state_dict["param_groups"]}
        for group in own["param_groups"]:
            names = [self.ordered_param_keys[i] for i in group["params"]]
            if source := theirs.get(frozenset(names)):
                self._load_group("/".join(sorted(names)), group, source)
        self._optimizer.load_state_dict(own)

    @staticmethod
    def _load_state(name, own, source):
        if len(source) != len(own):
            raise ValueError(f"Expects equal length as {len(own)} for parameter {name} but found: {len(source)}")
        for entry, value in own.items():
            if entry not in source:
                raise ValueError(f"Expects state {entry} for parameter {name} but not found.")
            if isinstance(value, torch.Tensor):
                if not isinstance(source[entry], torch.Tensor):
                    raise AssertionError
                value.detach().copy_(source[entry])
            else:
                own[entry] = copy.deepcopy(source[entry])

    @staticmethod
    def _load_group(name, own, source):
        if len(source) != len(own):
            raise ValueError(f"Expects equal param_group size as {len(own)} for group {name} but found {len(source)}.")
        for option in source:
            if option not in own:
                raise ValueError(f"Expects group key {option} to be in group {name} in `state_dict` but is missing.")
        own.update({k: copy.deepcopy(v) for k, v in source.items() if k != "params"})
