"""Instance normalization."""

import warnings

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase
from .utils import _family

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"]


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias)

    def _dims(self):
        return self._n + 1, self._n + 2

    def _apply_instance_norm(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if keys:
                error_msgs.append(
                    "Unexpected running stats buffer(s) {} for {} with track_running_stats=False. If state_dict is a "
                    "checkpoint saved before 0.4.0, remove these keys from it.".format(" and ".join(f'"{k}"' for k in keys), type(self).__name__)
                )
            for key in keys:
                del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def forward(self, input):
        self._check_input_dim(input)
        unbatched = self._n + 1
        dim = input.dim() - unbatched
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.size(dim)}.")
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == unbatched:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = _family("InstanceNorm", _InstanceNorm, "Instance normalization over {} dimensions.")
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = _family(
    "LazyInstanceNorm", _LazyNormBase, "An InstanceNorm{}d that learns num_features from its first input.", (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
)
