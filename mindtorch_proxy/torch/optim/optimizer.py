"""The base class of optimizers, and what the individual optimizers share."""

import functools
import inspect
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Union

import torch
from mindtorch_proxy.tracebacks import shorten as _shorten
from torch.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

DeviceDict = dict[torch.device | None, torch.Tensor]
DeviceDtypeDict = dict[tuple[torch.device, torch.dtype] | None, torch.Tensor]
StateDict = dict[str, Any]
ParamsT = Union[Iterable[torch.Tensor], Iterable[dict[str, Any]], Iterable[tuple[str, torch.Tensor]]]
_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()


class _RequiredParameter:
    """The default of an option that every parameter group must specify."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _use_grad_for_differentiable(func):
    """Decorator: run a step without autograd, or with it if the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with torch.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _get_scalar_dtype(is_fused=None):
    """Return the dtype of step counters."""
    return torch.float64 if not is_fused and torch.get_default_dtype() == torch.float64 else torch.float32


def _get_capturable_supported_devices(supports_xla=True):
    """Return the types of devices whose steps PyTorch can capture in a graph."""
    return ["cuda", "xpu", "hpu", torch._C._get_privateuse1_backend_name(), *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """Return the defaults of (fused, foreach) when the user chose neither.

    foreach is always False here. fused is True only if use_fused is set, the step is not differentiable and all
    parameters are plain floating point tensors.
    """
    fused = (
        use_fused
        and not differentiable
        and all(p is None or type(p) in (torch.Tensor, torch.nn.Parameter) and p.is_floating_point() for p in params)
    )
    return bool(fused), False


def _view_as_real(params, *state_and_grads):
    """Replace each complex parameter of a list by its real view, in-place.

    The entries at the same position of the other lists are replaced as well.
    """
    for i, p in enumerate(params):
        if torch.is_complex(p):
            for tensors in (params, *state_and_grads):
                tensors[i] = torch.view_as_real(tensors[i])


def _stack_if_compiling(x):
    """Stack the tensors while torch.compile traces; otherwise return them unchanged."""
    return torch.stack(x) if torch.compiler.is_compiling() else x


def _get_value(x):
    return x.item() if isinstance(x, torch.Tensor) else x


def _to_scalar(x):
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() != 0 else x


def _add_hook(table, hook, prepend=False):
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Call hook(optimizer, args, kwargs) before the step of every optimizer.

    A result other than None must be a tuple (args, kwargs), which replaces the arguments.
    """
    return _add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Call hook(optimizer, args, kwargs) after the step of every optimizer."""
    return _add_hook(_global_optimizer_post_hooks, hook)


_HOOK_TABLES = tuple(
    f"_optimizer_{name}_hooks"
    for name in (
        "step_pre",
        "step_post",
        "state_dict_pre",
        "state_dict_post",
        "load_state_dict_pre",
        "load_state_dict_post",
    )
)


class Optimizer:
    """Base class of optimizers: parameter groups with their options, and a state for each parameter.

    A tensor instead of an iterable of parameters raises TypeError, and an empty list raises ValueError.
    """

    def _accelerator_graph_capture_health_check(self):
        """Do nothing: steps are never captured in a graph here."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        """Group parallel lists of tensors by device and dtype of the first list's tensors.

        The result is {(device, dtype): (lists, indices)}; indices are empty without with_indices.
        """
        groups = {}
        for i, row in enumerate(zip(*tensorlistlist)):
            lists, indices = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in row], []))
            for part, t in zip(lists, row):
                part.append(t)
            if with_indices:
                indices.append(i)
        return groups

    def __init__(self, params, defaults):
        self.defaults = defaults
        for name in _HOOK_TABLES:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {torch.typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()

    def __repr__(self):
        text = ""
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n" + "".join(
                f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params"
            )
        return f"{type(self).__name__} ({text})"

    @staticmethod
    def profile_hook_step(func):
        """Wrap the step of a class so that it runs the hooks before and after it."""

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            try:
                self = args[0]
                for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                    result = hook(self, args, kwargs)
                    if result is not None:
                        if not (isinstance(result, tuple) and len(result) == 2):
                            raise RuntimeError(
                                f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                            )
                        args, kwargs = result
                out = func(*args, **kwargs)
                for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                    hook(self, args, kwargs)
                return out
            except Exception as error:
                _shorten(error)
                raise

        return wrapper

    def _patch_step_function(self):
        cls = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def register_step_pre_hook(self, hook):
        """Call hook(optimizer, args, kwargs) before every step.

        A result other than None must be a tuple (args, kwargs), which replaces the arguments.
        """
        return _add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call hook(optimizer, args, kwargs) after every step."""
        return _add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call hook(optimizer) before state_dict."""
        return _add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call hook(optimizer, state_dict) after state_dict; a result other than None replaces the dict."""
        return _add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call hook(optimizer, state_dict) before loading; a result other than None replaces the dict."""
        return _add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call hook(optimizer) after loading."""
        return _add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self):
        """Return {"state": ..., "param_groups": ...}, in which parameters are numbered in their order."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, start, groups = {}, 0, []
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            packed = {k: v for k, v in group.items() if k != "params"}
            groups.append(packed | {"params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(k)] if isinstance(k, torch.Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            output = hook(self, result)
            result = result if output is None else output
        return result

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        """Convert a loaded tensor of the state to the device and dtype that `param` requires.

        A "step" is left unchanged, unless the group is capturable or fused; other tensors take the dtype of a floating
        point `param`.
        """
        group = next((g for g in param_groups if param_id in g["params"]), {})
        if key == "step":
            on_device = group.get("capturable", False) or group.get("fused", False)
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        return value.to(dtype=param.dtype if param.is_floating_point() else value.dtype, device=param.device)

    def load_state_dict(self, state_dict):
        """Load the state and the options of state_dict; the parameters are not changed.

        A different number of groups, or of parameters in a group, raises ValueError.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            output = hook(self, state_dict)
            state_dict = state_dict if output is None else output
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = dict(
            zip(chain.from_iterable(s["params"] for s in saved), chain.from_iterable(g["params"] for g in groups))
        )

        def cast(param, value, number, key=None):
            if isinstance(value, torch.Tensor):
                return Optimizer._process_value_according_to_param_policy(
                    param, value, number, state_dict["param_groups"], key
                )
            if isinstance(value, dict):
                return {k: cast(param, v, number, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, str):
                return type(value)(cast(param, v, number) for v in value)
            return value

        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = cast(params[key], value, key)
            else:
                state[key] = value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none=True):
        """Set the gradients of all parameters to None, or to zero with set_to_none=False."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if set_to_none:
                        p.grad = None
                    else:
                        if p.grad.grad_fn is not None:
                            p.grad.detach_()
                        p.grad.requires_grad_(False).zero_()

    def step(self, closure=None):
        """Update the parameters; `closure` recomputes the loss and returns it."""
        raise NotImplementedError

    def add_param_group(self, param_group):
        """Add a group: a dict with "params" (tensors or (name, tensor) pairs) and options.

        A group that is not a dict, a set of parameters, or a parameter that is not a tensor raises TypeError. A
        parameter that is not a leaf, or is in another group already, raises ValueError.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        params = param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {torch.typename(param)}"
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                how = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {how} to the "
                    f"optimizer"
                )
            if not set(group["params"]).isdisjoint(params):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


# ---- optimizers that update one parameter at a time


def _check_options(lr, betas=(), **positive):
    """Raise ValueError unless all options are in their ranges."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    for name, value in positive.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {name} value: {value}")


def _options(arguments):
    """Return the defaults of an optimizer from the locals() of its __init__."""
    return {k: v for k, v in arguments.items() if k not in ("self", "params", "__class__")}


def _number(x):
    """Return the number in an option that may be a tensor; a tensor that requires grad is returned unchanged."""
    return x.item() if isinstance(x, torch.Tensor) and not x.requires_grad else x


def _add_(param, value, alpha):
    """Compute param += alpha * value in-place, where alpha may be a tensor that requires grad."""
    return param.addcmul_(value, alpha) if isinstance(alpha, torch.Tensor) else param.add_(value, alpha=alpha)


def _addcdiv_(param, a, b, value):
    """Compute param += value * a / b in-place, where value may be a tensor that requires grad."""
    return param.addcdiv_(a * value, b) if isinstance(value, torch.Tensor) else param.addcdiv_(a, b, value=value)


class _ParameterwiseOptimizer(Optimizer):
    """Common base of the optimizers that update each parameter on its own.

    A subclass defines `_new_state` and `_update`, both for a single parameter.
    """

    _scalars = ("step",)  # entries of the state that are one-element tensors
    _sparse, _complex, _as_real, _decoupled, _sparse_hint = False, True, True, False, ""
    # in the message about capturable, without foreach and with it: whether it names XLA, and what has to be on a device
    _captures_xla, _on_device = (True, False), ("params and state_steps",) * 2

    def __init__(self, params, options):
        super().__init__(params, options)
        if options.get("fused"):
            if options.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if options.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                if value is None or isinstance(value, bool):  # an option that may not exist yet in an old state
                    group.setdefault(name, value)
            for p in group["params"]:
                values = self.state.get(p, {})
                for name in self._scalars:
                    if name in values and not isinstance(values[name], torch.Tensor):
                        values[name] = self._scalar(float(values[name]), p, group)

    def _scalar(self, value, p, group):
        on_device = group.get("capturable") or group.get("fused")
        return torch.tensor(value, dtype=_get_scalar_dtype(group.get("fused")), device=p.device if on_device else "cpu")

    def _zeros(self, p):
        return torch.zeros_like(p, memory_format=torch.preserve_format)

    def _new_state(self, p, group):
        raise NotImplementedError

    def _update(self, param, grad, state, group, lr, step):
        raise NotImplementedError

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; `closure` computes the loss before the update, and is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            rows = [self._checked(p, group) for p in group["params"] if p.grad is not None]
            if rows:
                self._apply_all(rows, group, _number(_to_scalar(group["lr"])))
        return loss

    def _checked(self, p, group):
        """Return (parameter, gradient, state), after creating the state if it is missing.

        Sparse gradients, complex parameters and `fused` raise RuntimeError where they are not supported; `capturable`
        on an unsupported device raises AssertionError.
        """
        grad, state = p.grad, self.state.get(p)
        if grad.is_sparse and not self._sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients" + self._sparse_hint)
        if p.is_complex() and not self._complex:
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        if not state and (group.get("fused") and not p.is_floating_point()):
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors, "
                f"but got {p.dtype} and {p.device.type}"
            )
        if group.get("capturable") and p.device.type in ("cpu", "mps", "meta"):
            foreach = bool(group.get("foreach"))
            able = _get_capturable_supported_devices(supports_xla=self._captures_xla[foreach])
            raise AssertionError(
                f"If capturable=True, {self._on_device[foreach]} must be on supported devices: {able}."
            )
        if not state:
            state = self._new_state(p, group)
            if state:
                self.state[p] = state
        return p, grad, state

    def _apply_all(self, rows, group, lr):
        """Run one step for all parameters of a group."""
        for p, grad, state in rows:
            self._apply(p, grad, state, group, lr)

    def _apply(self, p, grad, state, group, lr):
        """Run one step for one parameter, whose state exists already."""
        if group.get("maximize"):
            grad = -grad
        step = None
        if "step" in state:
            state["step"] += 1
            step = _get_value(state["step"])
        grad, param = self._decay(p, grad, group, lr), p
        if self._as_real and p.is_complex():
            real = torch.view_as_real
            param, grad = real(param), real(grad)
            state = {k: real(v) if isinstance(v, torch.Tensor) and v.is_complex() else v for k, v in state.items()}
        self._update(param, grad, state, group, lr, step)

    def _decay(self, p, grad, group, lr):
        """Apply the weight decay to the parameter or to its gradient; return the gradient."""
        decay = _number(group.get("weight_decay", 0))
        if isinstance(decay, torch.Tensor):
            return grad.addcmul(p.clone(), decay)
        if decay != 0:
            if group.get("decoupled_weight_decay", self._decoupled):
                p.mul_(1 - lr * decay)
            else:
                return grad.add(p, alpha=decay)
        return grad


# ---- the steps of optimizers as functions over lists


_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def _functional(cls, lists, optional, options, **fixed):
    """Return an optimizer's step as a function over lists of parameters, gradients and states.

    lists: the arguments that are lists; after the second, each is "argument:entry of the state". optional: the
    arguments with a default, as "name=value". options: the keyword-only arguments. fixed: the options that are not
    arguments.
    """
    lists = [name.partition(":")[::2] for name in lists.split()]
    defaults = {
        name: {"None": None, "False": False}[value] for name, _, value in (o.partition("=") for o in optional.split())
    }
    kinds = inspect.Parameter
    parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name, _ in lists]
    parameters += [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=value) for name, value in defaults.items()]
    signature = inspect.Signature(parameters + [kinds(name, kinds.KEYWORD_ONLY) for name in options.split()])
    update = object.__new__(cls)

    def function(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        given = given.arguments
        if not all(isinstance(t, torch.Tensor) for t in given.get("state_steps", ())):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
        if given.get("found_inf") is not None and given["found_inf"]:
            return
        group = fixed | {name: given[name] for name in (*defaults, *options.split())}
        group |= {
            pair: tuple(given[n] for n in names)
            for pair, names in _PAIRS.items()
            if names[0] in given and names[1] in given
        }
        lr = _number(_to_scalar(given["lr"])) if "lr" in given else None
        params, grads = (given[name] for name, _ in lists[:2])
        with torch.set_grad_enabled(bool(group.get("differentiable")) and torch.is_grad_enabled()):
            if given.get("grad_scale") is not None:
                for grad in grads:
                    grad.div_(given["grad_scale"])
            states = [
                {entry: given[name][i] for name, entry in lists[2:] if i < len(given[name])}
                for i, _ in enumerate(params)
            ]
            update._apply_all(list(zip(params, grads, states)), group, lr)
            for i, state in enumerate(states):
                for name, entry in lists[2:]:
                    if given[name] and state.get(entry) is not given[name][i]:
                        given[name][i] = state[entry]

    function.__name__ = function.__qualname__ = cls.__name__.lower()
    function.__module__, function.__signature__ = cls.__module__, signature
    function.__doc__ = (
        f"One step of {cls.__name__} over lists of parameters, their gradients and their states, which change in place."
    )
    return function
