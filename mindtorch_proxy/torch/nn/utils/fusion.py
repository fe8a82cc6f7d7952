"""Fusion of batch normalization into the layer before it."""

import copy

import torch

from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fuse(layer, bn, weights, *args):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *args
    )
    return fused


def _fused_weights(w, b, mean, var, eps, bn_w, bn_b, shape):
    scale = torch.rsqrt(var + eps) * (1 if bn_w is None else bn_w)
    weight = (w * scale.reshape(shape)).to(w.dtype)
    bias = ((mean.new_zeros(()) if b is None else b) - mean) * scale + (0 if bn_b is None else bn_b)
    bias = bias.to(w.dtype if b is None else b.dtype)
    return Parameter(weight, w.requires_grad), Parameter(bias, w.requires_grad if b is None else b.requires_grad)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """Return a convolution that computes the same as both modules in evaluation mode."""
    return _fuse(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Return the weight and bias of the fused convolution."""
    shape = [1, -1] if transpose else [-1, 1]
    return _fused_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_eval(linear, bn):
    """Return a linear layer that computes the same as both modules in evaluation mode.

    bn.num_features must be linear.out_features or 1; otherwise AssertionError is raised.
    """
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
            f"{linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fuse(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Return the weight and bias of the fused linear layer."""
    return _fused_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])
