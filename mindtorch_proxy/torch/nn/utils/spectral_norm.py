"""Spectral normalization by a forward pre-hook; parametrizations.spectral_norm replaces it."""

import torch

from .. import functional as F
from ..parameter import Parameter, UninitializedParameter
from .weight_norm import _find_hook, _remove_hook

__all__ = ["SpectralNorm", "spectral_norm", "remove_spectral_norm"]


def _as_matrix(weight, dim):
    """Return the weight as a matrix: `dim` first, all other dimensions flattened."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.size(0), -1)


def _default_dim(module):
    """Return the dimension of the output channels: 1 for transposed convolutions, else 0."""
    return int(isinstance(module, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)))


class SpectralNorm:
    """Forward pre-hook that divides a weight by its largest singular value.

    `name` is computed as name_orig over the singular value, which is found by power iteration on name_u and name_v.
    """

    _version = 1  # version of state dicts: since 1 they have name_v instead of `name`

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight):
        """Return the weight as a matrix with `dim` first."""
        return _as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """Return the normalized weight."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next iteration must not change tensors for backward
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module):
        """Turn the weight back into a parameter."""
        with torch.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Rename the parameter to name_orig and register the hooks.

        A second hook on the same parameter raises RuntimeError; a parameter that is None or uninitialized raises
        ValueError.
        """
        if _find_hook(module._forward_pre_hooks, SpectralNorm, name) is not None:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with torch.no_grad():
            u, v = (
                F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)
                for n in fn.reshape_weight_to_matrix(weight).size()
            )
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(fn))
        return fn


class SpectralNormStateDictHook:
    """State dict hook that stores the hook's version in the metadata, under spectral_norm."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        noted = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in noted:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        noted[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Hook that computes name_v for state dicts from before version 1.

    Those hold the normalized weight instead of name_v.
    """

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        fn, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        if version is not None and version >= 1:
            return
        if version is None and key not in state_dict and all(key + s in state_dict for s in ("_orig", "_u", "_v")):
            return  # a state dict of version 1 that lost its metadata
        missing = [key + s for s in ("_orig", "", "_u") if key + s not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with torch.no_grad():
            original, weight, u = state_dict[key + "_orig"], state_dict.pop(key), state_dict[key + "_u"]
            matrix = fn.reshape_weight_to_matrix(original)
            v = torch.linalg.pinv(matrix) @ u
            # scaled so that u and v give the singular value that the weight was divided by
            state_dict[key + "_v"] = v * ((original / weight).mean() / torch.dot(u, torch.mv(matrix, v)))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide the weight by its largest singular value before every forward; return the module."""
    SpectralNorm.apply(module, name, n_power_iterations, _default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Undo spectral_norm and return the module."""
    _remove_hook(module, SpectralNorm, name, "spectral_norm")
    return module
