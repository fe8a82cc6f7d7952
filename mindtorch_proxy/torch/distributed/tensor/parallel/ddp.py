"""Tensor parallelism within data parallelism: distributed parameters are local ones where a replica averages their
gradients.
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
    """Before forward: parameters that were distributed are so again, by way of the local ones, which get the
    gradients.
    """
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
    """After forward, and at the start: local parameters in the place of distributed ones."""
    for path, p in list(module.named_parameters()):
        if isinstance(p, DTensor) and not (ignored_params and p in ignored_params):
            local = Parameter(p._local_tensor.detach())
            local._st_info = p._spec
            _replace(module, path, local)


def _pre_dp_module_transform(module):
    """Have DistributedDataParallel see the local parameters of a module with distributed ones."""
    _localize_dtensor(module)
    module.register_forward_pre_hook(_reconstruct_dtensor)
    module.register_forward_hook(_localize_dtensor)
