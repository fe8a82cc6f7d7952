"""torch.autograd.grad_mode."""

from mindtorch_proxy.runtime.autograd.modes import _SetGrad, enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401

_DecoratorContextManager = _SetGrad
__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode"]
