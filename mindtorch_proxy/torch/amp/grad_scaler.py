"""GradScaler: scales the loss so that small gradients do not underflow in float16, and skips steps that overflow."""

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

import torch

__all__ = ["OptState", "GradScaler"]


class OptState(Enum):
    """The state of an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _parameter(name, what):
    """Return the getter and the setter of a parameter."""

    def get(self):
        return getattr(self, name)

    def set_factor(self, new_factor):
        setattr(self, name, new_factor)

    def set_interval(self, new_interval):
        setattr(self, name, new_interval)

    change = set_interval if name.endswith("interval") else set_factor
    for f, verb in ((get, "get"), (change, "set")):
        f.__name__ = verb + name
        f.__qualname__, f.__doc__ = f"GradScaler.{f.__name__}", f"{verb.capitalize()} the scale's {what}."
    return get, change


class GradScaler:
    """Scales losses, unscales gradients, skips the steps that would apply infs or NaNs, and adapts the scale."""

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self._device, self._enabled = device, enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._scale = init_scale, None
        self._init_growth_tracker, self._growth_tracker = 0, None
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _need_scale(self, what):
        if self._scale is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use scaler.scale(loss "
                f"or outputs) earlier in the iteration."
            )
        return self._scale

    def scale(self, outputs):
        """Multiply the outputs (a tensor or an iterable of them) by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=outputs.device)
                self._growth_tracker = torch.full(
                    (), self._init_growth_tracker, dtype=torch.int32, device=outputs.device
                )
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """Multiply the gradients by inv_scale, and return for each of their devices whether one holds inf or NaN."""
        found, grads = {}, {}
        with torch.no_grad():
            for p in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
                if p.grad.dtype == torch.float16 and not allow_fp16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                grad = p.grad
                if grad.is_sparse:
                    if grad.dtype == torch.float16:  # sums of elements may overflow although none of them does
                        p.grad = grad.coalesce()
                    grad = p.grad._values()
                grads.setdefault((grad.device, grad.dtype), []).append(grad)
            for (device, _), together in grads.items():
                seen = found.setdefault(device, found_inf.to(device))
                torch._amp_foreach_non_finite_check_and_unscale_(together, seen, inv_scale.to(device))
        return found

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer by the scale, to clip or inspect them before ``step``."""
        if not self._enabled:
            return
        scale = self._need_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, scale.double().reciprocal().float(), torch.zeros_like(scale), False
        )
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """Unscale the gradients if needed, and step if none is inf or NaN. Return what the optimizer's step returns."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._scaled_step(optimizer, state, *args, **kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _scaled_step(self, optimizer, state, *args, **kwargs):
        """Run the step of an optimizer that unscales by itself.

        It gets the scale with `grad_scaler=`, or through attributes that are set during the step.
        """
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. "
                "In the near future GradScaler registers `grad_scale: Tensor` and `found_inf: "
                "Tensor` to the passed optimizer and let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        optimizer.found_inf = sum(f.to(self._scale.device) for f in state["found_inf_per_device"].values())
        optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else self._scale
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.found_inf, optimizer.grad_scale

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if any(v.item() for v in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Adapt the scale to whether steps since the last update found inf or NaN, or set it to new_scale."""
        if not self._enabled:
            return
        scale = self._need_scale("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.copy_(new_scale)
        else:
            found = [f for s in self._per_optimizer_states.values() for f in s["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            found = sum(f.to(scale.device) for f in found)
            torch._amp_update_scale_(
                scale, self._growth_tracker, found, self._growth_factor, self._backoff_factor, self._growth_interval
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """Return the scale as a float; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    get_growth_factor, set_growth_factor = _parameter("_growth_factor", "growth factor")
    get_backoff_factor, set_backoff_factor = _parameter("_backoff_factor", "backoff factor")
    get_growth_interval, set_growth_interval = _parameter("_growth_interval", "growth interval")

    def is_enabled(self):
        """Whether losses are scaled."""
        return self._enabled

    def state_dict(self):
        """Return the state of the scaler; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Load a state from ``state_dict``."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state |= {
                "_init_scale": self.get_scale(),
                "_init_growth_tracker": self._get_growth_tracker(),
                "_scale": None,
                "_growth_tracker": None,
            }
        return state

    def _check_inf_per_device(self, optimizer):
        state = self._per_optimizer_states[id(optimizer)]
        scale = self._need_scale("_check_inf_per_device")
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, torch.ones_like(scale), torch.zeros_like(scale), True
        )
        return state["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
