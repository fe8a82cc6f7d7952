"""Activations, losses, norms, convolution and pooling."""

from ..ops.conv import weight_by_convolution
from ..ops.loss import POINTWISE, reduced
from ..ops.norm import formula
from ..ops.pooling import MAX_POOL, spread
from ..ops.resample import _sample
from ..registry import decomposition

decomposition("_C.convolution_weight")(weight_by_convolution)
decomposition("_C.norm_backward")(formula)
decomposition("_C.grid_sampler_2d", "_C.grid_sampler_3d")(_sample)
decomposition(*(f"_C._nn.avg_pool{d}d_backward" for d in (1, 2, 3)))(spread)


@decomposition("_softmax_backward_data")
def softmax_backward(g, out, dim, dtype):
    gy = g * out
    return gy - out * gy.sum(dim, keepdim=True)


@decomposition("_C._nn.max_pool1d_with_indices")
def max_pool1d(x, kernel, stride, padding, dilation, ceil):
    two = [(a, *v) for a, v in zip((1, 1, 0, 1), (kernel, stride, padding, dilation))]
    return tuple(t.squeeze(-2) for t in MAX_POOL[2].call(x.unsqueeze(-2), *two, ceil))


def _reduced(between, fn):
    """A loss of each element, reduced; the reduction stands behind target and weights."""
    at = 2 + between.count("Tensor?")
    return lambda *a: reduced(fn(*a[:at], *a[at + 1 :]), a[at])


for _name, (_between, _, _, _fn, *_) in POINTWISE.items():
    decomposition("_C._nn." + _name)(_reduced(_between, _fn))
