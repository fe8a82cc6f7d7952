"""The base class of all layers and models."""

import functools
import inspect
import itertools
import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import torch
from mindtorch_proxy.tracebacks import shorten as _shorten
from torch import Tensor, __future__ as _future
from torch.utils.hooks import BackwardHook, RemovableHandle

from ..parameter import Buffer, Parameter, is_lazy
from .utils import _parse_to

__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
]


T = TypeVar("T", bound="Module")


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


def _addindent(text, width):
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * width + line if line.strip() else "" for line in rest])


# ---- hooks

_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_is_full_backward_hook = None
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
_MIXED_HOOKS = "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them."


def _has_any_global_hook():
    return (
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


class _WrappedHook:
    """A hook that receives its module as the first argument and keeps only a weak reference to it."""

    def __init__(self, hook, module=None):
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        return {"hook": self.hook, "with_module": self.with_module} | (
            {"module": self.module()} if self.with_module else {}
        )

    def __setstate__(self, state):
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _add_hook(table, hook, prepend=False, **flags):
    """Register `hook` in a table and return its handle.

    Each flag is a pair: the dict that marks such hooks, and whether to mark this one.
    """
    handle = RemovableHandle(table, extra_dict=[marks for marks, _ in flags.values()])
    table[handle.id] = hook
    for marks, on in flags.values():
        if on:
            marks[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """Call hook(module, name, buffer) at every register_buffer.

    A result other than None replaces the buffer.
    """
    return _add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Call hook(module, name, submodule) at every add_module.

    A result other than None replaces the submodule.
    """
    return _add_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Call hook(module, name, param) at every register_parameter.

    A result other than None replaces the parameter.
    """
    return _add_hook(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """Call hook(module, args) before the forward of every module.

    A result other than None replaces the arguments.
    """
    return _add_hook(_global_forward_pre_hooks, hook)


def register_module_full_backward_pre_hook(hook):
    """Call hook(module, grad_output) before the backward of every module.

    A result other than None replaces grad_output.
    """
    return _add_hook(_global_backward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call hook(module, args, output) after the forward of every module.

    With with_kwargs, the hook is called as hook(module, args, kwargs, output). With always_call, it also runs when
    forward raises. A result other than None replaces the output.
    """
    return _add_hook(
        _global_forward_hooks,
        hook,
        with_kwargs=(_global_forward_hooks_with_kwargs, with_kwargs),
        always_call=(_global_forward_hooks_always_called, always_call),
    )


def _global_backward_hook(hook, full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED_HOOKS.format("as a global Module hook"))
    _global_is_full_backward_hook = full
    return _add_hook(_global_backward_hooks, hook)


def register_module_backward_hook(hook):
    """Deprecated: use register_module_full_backward_hook."""
    return _global_backward_hook(hook, False)


def register_module_full_backward_hook(hook):
    """Call hook(module, grad_input, grad_output) when the gradients of a module's inputs are computed.

    The hook applies to every module. Mixing it with register_module_backward_hook raises RuntimeError.
    """
    return _global_backward_hook(hook, True)


def _registered(hooks, module, name, value):
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(value, "__torch_function__")


def _set_data_works(tensor, applied):
    """Whether `tensor.data = applied` is possible, which keeps the identity of `tensor`."""
    return tensor.is_meta == applied.is_meta and tensor.layout == applied.layout


def _forward_unimplemented(self, *input: Any) -> None:
    """Compute the output; every subclass must define it.

    Call the module itself instead of this method: only the call runs the hooks.
    """
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


_HOOK_TABLES = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


# ---- parts of Module, written as functions so that their names cannot clash with those of a subclass


def _check_name(module, table, noun, name):
    if table not in module.__dict__:
        raise AttributeError(f"cannot assign {noun} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{noun} name should be a string. Got {torch.typename(name)}")
    if hasattr(module, name) and name not in module.__dict__[table]:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f'{noun} name can\'t contain "."' + (f", got: {name}" if noun == "module" else ""))
    if name == "":
        raise KeyError(f'{noun} name can\'t be empty string ""')


def _forget(module, name, *tables):
    """Remove an attribute from the tables of other kinds, when it is assigned a value of a new kind."""
    state = module.__dict__
    state.pop(name, None)
    for table in tables:
        state[table].pop(name, None)
    state["_non_persistent_buffers_set"].discard(name)


def _set_buffer(module, name, value):
    persistent = value.persistent if isinstance(value, Buffer) else name not in module._non_persistent_buffers_set
    # A subclass may override register_buffer without the argument `persistent`.
    if (
        getattr(module.register_buffer, "__func__", None) is Module.register_buffer
        or "persistent" in inspect.signature(module.register_buffer).parameters
    ):
        module.register_buffer(name, value, persistent)
    elif persistent:
        module.register_buffer(name, value)
    else:
        raise RuntimeError(
            "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the "
            "persistent argument is not allowed."
        )


_ABSENT = object()


def _member(module, name):
    found = getattr(module, name, _ABSENT)
    if found is _ABSENT:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return found


def _swap(module, key, old, new, grad=None):
    try:
        old.grad = None if grad is not None else old.grad
        torch.utils.swap_tensors(old, new)
    except Exception as e:
        old.grad = grad
        raise RuntimeError(f"_apply(): Couldn't swap {module._get_name()}.{key}") from e


def _set_full_backward(module, full):
    if module._is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED_HOOKS.format("on a single Module"))
    module._is_full_backward_hook = full


def _all_forward_hooks(module):
    for hooks, kw, always in (
        (_global_forward_hooks, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
        (module._forward_hooks, module._forward_hooks_with_kwargs, module._forward_hooks_always_called),
    ):
        for key, hook in tuple(hooks.items()):
            yield key, hook, key in kw, key in always


def _run_pre_hooks(module, args, kwargs):
    for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            output = hook(module, args, kwargs)
            if output is not None:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {output}."
                    )
                args, kwargs = output
        else:
            output = hook(module, args)
            if output is not None:
                args = output if isinstance(output, tuple) else (output,)
    return args, kwargs


def _hook_grad_fn(module, hooks, inputs, result):
    """Register regular backward hooks on the grad_fn of the first tensor in the output.

    Such hooks see only the last operation of the module; a FutureWarning says what they miss.
    """
    first = result
    while not isinstance(first, torch.Tensor):
        first = next(v for v in first.values() if isinstance(v, torch.Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_WrappedHook(hook, module))
    if problem := _what_hooks_miss(inputs, result, node):
        advice = (
            "is deprecated and will be removed: the hook misses some of it. Please use register_full_backward_hook."
        )
        warnings.warn(f"Using a non-full backward hook {problem} {advice}", FutureWarning, stacklevel=4)


def _what_hooks_miss(inputs, result, node):
    """Return why a regular backward hook on a module's last node does not see all gradients.

    The result is None if the hook gets the gradients of all inputs and outputs of the module.
    """
    for given, what in ((result, "return"), (inputs, "take as input")):
        if (
            not isinstance(given, (tuple, torch.Tensor))
            or isinstance(given, tuple)
            and not all(isinstance(t, torch.Tensor) for t in given)
        ):
            return f"on a Module that does not {what} a single Tensor or a tuple of Tensors"
    outputs, arguments = (
        {t.grad_fn for t in (given if isinstance(given, tuple) else (given,))} - {None} for given in (result, inputs)
    )
    if node not in outputs:
        return "when outputs are nested in python data structure"
    if len(outputs) > 1:
        return "when outputs are generated by different autograd Nodes"
    return (
        None
        if arguments == {n for n, _ in node.next_functions}
        else "when the forward contains multiple autograd Nodes"
    )


def _persistent(module):
    """Yield (name, tensor) for the module's own parameters and buffers that belong in the state_dict."""
    for name, value in itertools.chain(module._parameters.items(), module._buffers.items()):
        if value is not None and name not in module._non_persistent_buffers_set:
            yield name, value


def _load_tensor(module, name, key, param, value, assign, errors):
    """Load `value` from a checkpoint into `param`; on failure, append a message to `errors`."""
    if not torch.overrides.is_tensor_like(value):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(value)}"
        )
        return
    if not is_lazy(param):
        if param.dim() == 0 and tuple(value.shape) == (1,):  # scalars saved by PyTorch 0.3
            value = value[0]
        if value.shape != param.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {param.shape}."
            )
            return
    if param.is_meta and not value.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
            "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
            "corresponding key in the module?)",
            stacklevel=4,
        )
    swap = _future.get_swap_module_params_on_conversion()
    try:
        with torch.no_grad():
            new = param.module_load(value, assign=assign) if swap else value
            if swap and (new is value or new is param):
                raise RuntimeError("module_load returned one of self or other, please .detach() the result")
            if (swap or assign) and isinstance(param, Parameter):
                if isinstance(new, Parameter):
                    new.requires_grad_(param.requires_grad)
                else:
                    new = Parameter(new, requires_grad=param.requires_grad)
            if swap:
                torch.utils.swap_tensors(param, new)
            elif assign:
                setattr(module, name, new)
            else:
                param.copy_(new)
    except Exception as e:
        errors.append(
            f'While {"swapping" if swap else "copying"} the parameter named "{key}", whose dimensions in the model are '
            f"{param.size()} and whose dimensions in the checkpoint are {value.size()}, an exception occurred : "
            f"{e.args}."
        )


def _unexpected(module, state_dict, prefix, local_state):
    """Yield the keys under the prefix that belong neither to the module nor to one of its children."""
    for key in state_dict:
        if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
            name, *rest = key[len(prefix) :].split(".", 1)
            if name not in (module._modules if rest else local_state):
                yield key


def _load_tree(module, state, prefix, metadata, assign, missing, unexpected, errors):
    """Load a module and then its children, each from the part of `state` under its prefix."""
    local_metadata = metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local_metadata, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            under = f"{prefix}{name}."
            _load_tree(
                child,
                {k: v for k, v in state.items() if k.startswith(under)},
                under,
                metadata,
                assign,
                missing,
                unexpected,
                errors,
            )
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, _IncompatibleKeys(missing, unexpected)) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


class Module:
    """Base class of all neural network modules.

    A module is a tree of submodules with parameters and buffers. Calling it runs `forward` and the hooks.
    """

    dump_patches = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    _version = 1
    training: bool
    call_super_init = False
    _compiled_call_impl = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            what = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {what}")
        state = {
            "training": True,
            "_parameters": {},
            "_buffers": {},
            "_non_persistent_buffers_set": set(),
            "_backward_pre_hooks": OrderedDict(),
            "_backward_hooks": OrderedDict(),
            "_is_full_backward_hook": None,
        }
        for name in _HOOK_TABLES:
            state[name] = OrderedDict()
        state["_modules"] = {}
        for name, value in state.items():
            object.__setattr__(self, name, value)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # ---- registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer, which is state that is not a parameter.

        A persistent buffer is part of the state_dict. A name that is empty, contains a dot or exists already raises
        KeyError; a value that is neither a tensor nor None raises TypeError.
        """
        _check_name(self, "_buffers", "buffer", name)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _registered(_global_buffer_registration_hooks, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None to record that the module has no parameter of this name.

        A value of another type raises TypeError, and a parameter that is not a leaf raises ValueError.
        """
        _check_name(self, "_parameters", "parameter", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or "
                    f"None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly; to express '{name}' as a function of another Tensor, compute the value in forward()."
                )
            param = _registered(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a child module, which becomes an attribute of this name.

        A value that is neither a Module nor None raises TypeError.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        _check_name(self, "_modules", "module", name)
        self._modules[name] = _registered(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: "Module | None") -> None:
        """Alias of add_module."""
        self.add_module(name, module)

    def __getattr__(self, name):
        state = self.__dict__
        if (table := state.get("_parameters")) and name in table:
            return table[name]
        if (table := state.get("_buffers")) and name in table:
            return table[name]
        if (table := state.get("_modules")) and name in table:
            return table[name]
        if name == "npu" and hasattr(torch, "npu"):  # in PyTorch the device's extension adds it
            return lambda device=None: self._apply(lambda t: t.npu(device))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        state = self.__dict__
        params, modules, buffers = state.get("_parameters"), state.get("_modules"), state.get("_buffers")
        tensor = isinstance(value, Tensor)  # most values are not tensors: skip the checks for them
        if tensor and isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(self, name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                    f"expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module) or modules is not None and name in modules:
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            if value is not None and not isinstance(value, Module):
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' (torch.nn.Module or None "
                    f"expected)"
                )
            if value is not None:
                _forget(self, name, "_parameters", "_buffers")
            modules[name] = _registered(_global_module_registration_hooks, self, name, value)
        elif tensor and isinstance(value, Buffer) or buffers is not None and name in buffers:
            if value is not None and not _is_tensor_like(value):
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                    "torch.Tensor or None expected)"
                )
            _set_buffer(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                if table is self._buffers:
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        keys = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(key for key in keys if not key[0].isdigit())

    # ---- access by dotted name

    def get_submodule(self, target: str) -> "Module":
        """Return the submodule with this dotted name, or the module itself for an empty string.

        A name that does not exist, or is not a module, raises AttributeError.
        """
        module = self
        for name in target.split(".") if target else ():
            module = _member(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Set the submodule with this dotted name; with `strict` it must exist already.

        An empty name, or a value that is not a Module, raises ValueError; replacing an attribute that is not a module
        raises AttributeError.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(_member(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with this dotted name; raise AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        param = _member(self.get_submodule(path), name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with this dotted name; raise AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = _member(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def get_extra_state(self) -> Any:
        """Return what the state_dict should hold besides tensors; define it together with set_extra_state."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: a subclass has to define it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore what get_extra_state returned; load_state_dict calls it."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: a subclass has to define it."
        )

    # ---- conversion

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        swap = _future.get_swap_module_params_on_conversion()
        keep = not _future.get_overwrite_module_params_on_conversion()
        for key, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with torch.no_grad():
                applied = fn(param)
            if swap:
                _swap(self, key, param, Parameter(applied, requires_grad=param.requires_grad), grad)
            elif keep and _set_data_works(param, applied):
                param.data = applied
            else:
                param = self._parameters[key] = Parameter(applied, param.requires_grad)
            if grad is None:
                continue
            with torch.no_grad():
                applied = fn(grad).requires_grad_(grad.requires_grad)
            if swap:
                _swap(self, key + ".grad", grad, applied)
                param.grad = grad
            elif keep and _set_data_works(grad, applied):
                param.grad.data = applied
            else:
                param.grad = applied
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def apply(self: T, fn: "Callable[[Module], None]") -> T:
        """Call fn on every submodule and then on the module itself; return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self: T, device: int | torch.device | None = None) -> T:
        """Move all parameters and buffers to the GPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self: T, device: int | torch.device | None = None) -> T:
        """Move all parameters and buffers to the XPU."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self: T, device: int | torch.device | None = None) -> T:
        """Move all parameters and buffers to the IPU."""
        return self._apply(lambda t: t.ipu(device))

    def mtia(self: T, device: int | torch.device | None = None) -> T:
        """Move all parameters and buffers to the MTIA."""
        return self._apply(lambda t: t.mtia(device))

    def cpu(self: T) -> T:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self: T, dst_type: torch.dtype | str) -> T:
        """Cast all parameters and buffers to dst_type."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self: T) -> T:
        """Cast floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: T) -> T:
        """Cast floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: T) -> T:
        """Cast floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: T) -> T:
        """Cast floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self: T, *, device: str | torch.device | int | None, recurse: bool = True) -> T:
        """Move parameters and buffers to the device without copying their values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self, *args, **kwargs):
        """Move and cast the module in place: to(device, dtype), to(dtype), to(tensor), to(memory_format=...).

        Only floating point and complex tensors are cast; another dtype raises TypeError. The memory format applies to
        tensors of 4 or 5 dimensions.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, "
                    "and some modules might not work as expected when using complex tensors as parameters or buffers.",
                    stacklevel=2,
                )

        def convert(t):
            kind = dtype if t.is_floating_point() or t.is_complex() else None
            try:
                if memory_format is not None and t.dim() in (4, 5):
                    return t.to(device, kind, non_blocking, memory_format=memory_format)
                return t.to(device, kind, non_blocking)
            except NotImplementedError as e:
                if str(e) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{e} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    f"from meta to a different device."
                ) from None

        return self._apply(convert)

    def share_memory(self: T) -> T:
        """Move all parameters and buffers to shared memory."""
        return self._apply(lambda t: t.share_memory_())

    # ---- hooks

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call hook(module, grad_output) before the gradients of the module are computed."""
        return _add_hook(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """Deprecated: use register_full_backward_hook."""
        _set_full_backward(self, False)
        return _add_hook(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call hook(module, grad_input, grad_output) when the gradients of the module's inputs are computed.

        Mixing it with register_backward_hook on one module raises RuntimeError.
        """
        _set_full_backward(self, True)
        return _add_hook(self._backward_hooks, hook, prepend)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call hook(module, args) before forward, or hook(module, args, kwargs) with with_kwargs.

        A result other than None replaces the arguments; with with_kwargs it must be a tuple (args, kwargs).
        """
        return _add_hook(
            self._forward_pre_hooks, hook, prepend, with_kwargs=(self._forward_pre_hooks_with_kwargs, with_kwargs)
        )

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call hook(module, args, output) after forward, or hook(module, args, kwargs, output) with with_kwargs.

        A result other than None replaces the output. With always_call, the hook also runs when forward raises.
        """
        return _add_hook(
            self._forward_hooks,
            hook,
            prepend,
            with_kwargs=(self._forward_hooks_with_kwargs, with_kwargs),
            always_call=(self._forward_hooks_always_called, always_call),
        )

    def _get_backward_hooks(self):
        full, regular = [], []
        for kind, hooks in (
            (_global_is_full_backward_hook, _global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            if kind is not None:
                (full if kind else regular).extend(hooks.values())
        return full, regular

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _wrapped_call_impl(self, *args, **kwargs):
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            if (
                self._backward_hooks
                or self._backward_pre_hooks
                or self._forward_hooks
                or self._forward_pre_hooks
                or _global_backward_pre_hooks
                or _global_backward_hooks
                or _global_forward_hooks
                or _global_forward_pre_hooks
            ):
                return self._call_impl(*args, **kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            _shorten(error)
            raise

    __call__: Callable[..., Any] = _wrapped_call_impl

    def _call_impl(self, *args, **kwargs):
        result, called = None, set()
        try:
            args, kwargs = _run_pre_hooks(self, args, kwargs)
            full, regular = self._get_backward_hooks()
            pre = self._get_backward_pre_hooks()
            backward = BackwardHook(self, full, pre) if full or pre else None
            if backward:
                args = backward.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for key, hook, with_kwargs, always in _all_forward_hooks(self):
                if always:
                    called.add(key)
                output = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if output is not None:
                    result = output
            if backward:
                if not isinstance(result, (torch.Tensor, tuple)):
                    warnings.warn(
                        f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                        f"but received {type(result)}",
                        stacklevel=2,
                    )
                result = backward.setup_output_hook(result)
            if regular:
                _hook_grad_fn(self, regular, args, result)
            return result
        except Exception:
            for key, hook, with_kwargs, always in _all_forward_hooks(self):
                if always and key not in called:
                    with_kwargs = with_kwargs and key in self._forward_hooks  # as in PyTorch, after an error
                    try:
                        output = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                        result = result if output is None else output
                    except Exception as e:
                        warnings.warn(
                            f"module forward hook with ``always_call=True`` raised an exception that was silenced as "
                            f"another error was raised in forward: {e}",
                            stacklevel=2,
                        )
            raise

    def compile(self, *args, **kwargs):
        """Compile the call of this module with torch.compile."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # ---- state

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        # Modules pickled by old versions lack these tables.
        for name in (*_HOOK_TABLES, "_backward_pre_hooks"):
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _register_state_dict_hook(self, hook):
        """Call hook(module, state_dict, prefix, local_metadata) at the end of state_dict.

        The hook may return another dict to replace the state_dict.
        """
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call hook(module, state_dict, prefix, local_metadata) at the end of state_dict.

        The hook changes the dict in place and must return None; otherwise RuntimeError is raised.
        """
        hook._from_public_api = True
        return _add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Call hook(module, prefix, keep_vars) at the start of state_dict."""
        return _add_hook(self._state_dict_pre_hooks, hook)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in _persistent(self):
            destination[prefix + name] = value if keep_vars else value.detach()
        if getattr(type(self), "get_extra_state", Module.get_extra_state) is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Return a dict from dotted names to all parameters and persistent buffers of the module tree.

        The tensors are detached, unless keep_vars is set. Positional arguments are deprecated.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: see the documentation of "
                "torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            output = hook(self, destination, prefix, local_metadata)
            if output is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = output
        return destination

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _add_hook(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """Call the hook before this module is loaded.

        It is called as hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs).
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Call hook(module, incompatible_keys) after loading; it may change the keys in place.

        A hook that returns anything but None raises AssertionError.
        """
        return _add_hook(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        local_state = dict(_persistent(self))
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in local_state.items():
            key = prefix + name
            if key in state_dict:
                _load_tensor(self, name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if getattr(type(self), "set_extra_state", Module.set_extra_state) is not Module.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            unexpected_keys += _unexpected(self, state_dict, prefix, local_state)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False):
        """Copy the tensors of state_dict into the module tree and return the missing and unexpected keys.

        With `assign`, the tensors of state_dict replace those of the module. With `strict`, missing or unexpected keys
        raise RuntimeError. Tensors that cannot be loaded, for example because of their size, always raise RuntimeError.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        _load_tree(self, state_dict, "", {} if metadata is None else metadata, assign, missing, unexpected, errors)
        if strict:
            for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(0, f"{what} key(s) in state_dict: " + ", ".join(f'"{k}"' for k in keys) + ". ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)

    # ---- iteration over the module tree

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters of the module, and those of its submodules with `recurse`."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter) pairs, each parameter once with remove_duplicate."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of the module, and those of its submodules with `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer) pairs, each buffer once with remove_duplicate."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> "Iterator[Module]":
        """Yield the immediate child modules, each one once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> "Iterator[tuple[str, Module]]":
        """Yield (name, module) pairs of the immediate children, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> "Iterator[Module]":
        """Yield all modules of the tree, starting with this one."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: "set[Module] | None" = None, prefix: str = "", remove_duplicate: bool = True
    ) -> "Iterator[tuple[str, Module]]":
        """Yield (dotted name, module) pairs of the whole tree, starting with this module under `prefix`."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # ---- modes

    def train(self: T, mode: bool = True) -> T:
        """Set training mode for the whole tree, or evaluation mode with mode=False; return the module.

        A mode that is not a bool raises ValueError.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Set evaluation mode for the whole tree and return the module."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set requires_grad of all parameters and return the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero with set_to_none=False."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect.", stacklevel=2
            )
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    p.grad.requires_grad_(False).zero_()

    # ---- printing

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what repr shows of the module besides its children."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += [f"({key}): " + _addindent(repr(module), 2) for key, module in self._modules.items()]
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica.__dict__.update(
            _parameters={}, _buffers=self._buffers.copy(), _modules=self._modules.copy(), _is_replica=True
        )
        return replica
