"""Tensor parallelism combined with data parallelism.

DistributedDataParallel sees the local tensors of DTensor parameters.
"""

from torch.nn import Parameter

from .. import DTensor

__all__ = []


def _replace(module, path, tensor):
    *parents, name = path.split(".")
    parent = module.get_submodule(".".join(parents))
    delattr(parent, name)
    setattr(parent, name, tensor)


def _reconstruct_dtensor(module, _input):
    """Before forward, replace local parameters by DTensors; gradients flow to the local parameters."""
    for path, p in list(module.named_parameters()):
        spec = getattr(p, "_st_info", None)
        if spec is not None:
            _replace(
                module,
                path,
                DTensor.from_local(
                    p, spec.mesh, spec.placements, run_check=False, shape=spec.shape, stride=spec.stride
                ),
            )


def _localize_dtensor(module, *_, ignored_params=None):
    """Initially and after forward, replace DTensor parameters by their local tensors."""
    for path, p in list(module.named_parameters()):
        if isinstance(p, DTensor) and not (ignored_params and p in ignored_params):
            local = Parameter(p._local_tensor.detach())
            local._st_info = p._spec
            _replace(module, path, local)


def _pre_dp_module_transform(module):
    """Make DistributedDataParallel see the local tensors of a module's DTensor parameters."""
    _localize_dtensor(module)
    module.register_forward_pre_hook(_reconstruct_dtensor)
    module.register_forward_hook(_localize_dtensor)
