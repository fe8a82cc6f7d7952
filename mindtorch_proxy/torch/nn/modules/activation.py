"""Activations, and multi-head attention."""

import warnings

import torch

from .. import functional as F
from ..init import constant_, xavier_normal_, xavier_uniform_
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .utils import _layer, _optional_parameters

__all__ = [
    "Threshold",
    "ReLU",
    "RReLU",
    "Hardtanh",
    "ReLU6",
    "Sigmoid",
    "Hardsigmoid",
    "Tanh",
    "SiLU",
    "Mish",
    "Hardswish",
    "ELU",
    "CELU",
    "SELU",
    "GLU",
    "GELU",
    "Hardshrink",
    "LeakyReLU",
    "LogSigmoid",
    "Softplus",
    "Softshrink",
    "MultiheadAttention",
    "PReLU",
    "Softsign",
    "Tanhshrink",
    "Softmin",
    "Softmax",
    "Softmax2d",
    "LogSoftmax",
]


def _check_range(self):
    for new, old in (("min_val", "min_value"), ("max_val", "max_value")):
        value = self.__dict__.pop(old)
        if value is not None:
            warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning, stacklevel=3)
            setattr(self, new, value)
    if self.max_val <= self.min_val:
        raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


Threshold = _layer(
    "Threshold(threshold, value, inplace=False)",
    lambda self, input: F.threshold(input, self.threshold, self.value, self.inplace),
    "threshold=, value=, inplace?",
)
ReLU = _layer("ReLU(inplace=False)", lambda self, input: F.relu(input, inplace=self.inplace), "inplace?")
RReLU = _layer(
    "RReLU(lower=1 / 8, upper=1 / 3, inplace=False)",
    lambda self, input: F.rrelu(input, self.lower, self.upper, self.training, self.inplace),
    "lower=, upper=, inplace?",
)
Hardtanh = _layer(
    "Hardtanh(min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None)",
    lambda self, input: F.hardtanh(input, self.min_val, self.max_val, self.inplace),
    "min_val=, max_val=, inplace?",
    setup=_check_range,
)
Sigmoid = _layer("Sigmoid()", lambda self, input: torch.sigmoid(input))
Hardsigmoid = _layer("Hardsigmoid(inplace=False)", lambda self, input: F.hardsigmoid(input, self.inplace))
Tanh = _layer("Tanh()", lambda self, input: torch.tanh(input))
SiLU = _layer("SiLU(inplace=False)", lambda self, input: F.silu(input, inplace=self.inplace), "inplace?")
Mish = _layer("Mish(inplace=False)", lambda self, input: F.mish(input, inplace=self.inplace), "inplace?")
Hardswish = _layer("Hardswish(inplace=False)", lambda self, input: F.hardswish(input, self.inplace))
ELU = _layer("ELU(alpha=1.0, inplace=False)", lambda self, input: F.elu(input, self.alpha, self.inplace), "alpha=, inplace?")
CELU = _layer("CELU(alpha=1.0, inplace=False)", lambda self, input: F.celu(input, self.alpha, self.inplace), "alpha=, inplace?")
SELU = _layer("SELU(inplace=False)", lambda self, input: F.selu(input, self.inplace), "inplace?")
GLU = _layer("GLU(dim=-1)", lambda self, input: F.glu(input, self.dim), "dim=")
GELU = _layer("GELU(approximate='none')", lambda self, input: F.gelu(input, approximate=self.approximate), "approximate=")
Hardshrink = _layer("Hardshrink(lambd=0.5)", lambda self, input: F.hardshrink(input, self.lambd), "lambd")
LeakyReLU = _layer(
    "LeakyReLU(negative_slope=1e-2, inplace=False)", lambda self, input: F.leaky_relu(input, self.negative_slope, self.inplace), "negative_slope=, inplace?"
)
LogSigmoid = _layer("LogSigmoid()", lambda self, input: F.logsigmoid(input))
Softplus = _layer("Softplus(beta=1.0, threshold=20.0)", lambda self, input: F.softplus(input, self.beta, self.threshold), "beta=, threshold=")
Softshrink = _layer("Softshrink(lambd=0.5)", lambda self, input: F.softshrink(input, self.lambd), "lambd")
Softsign = _layer("Softsign()", lambda self, input: F.softsign(input))
Tanhshrink = _layer("Tanhshrink()", lambda self, input: F.tanhshrink(input))
Softmin = _layer("Softmin(dim=None)", lambda self, input: F.softmin(input, self.dim, _stacklevel=5), "dim=")
Softmax = _layer("Softmax(dim=None)", lambda self, input: F.softmax(input, self.dim, _stacklevel=5), "dim=")
LogSoftmax = _layer("LogSoftmax(dim=None)", lambda self, input: F.log_softmax(input, self.dim, _stacklevel=5), "dim=")


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Softmax2d(Module):
    """Softmax over the channels of an image."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class PReLU(Module):
    """max(0, x) + a * min(0, x) with a learned."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        _optional_parameters(self, {"device": device, "dtype": dtype}, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self):
        """Fill the weight with `init`."""
        constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class MultiheadAttention(Module):
    """Attention of several heads, with projections before and after."""

    __constants__ = ["batch_first"]

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = same = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        kwargs = {"device": device, "dtype": dtype}
        shapes = {"in_proj_weight": (3 * embed_dim, embed_dim) if same else None}
        projections = {f"{x}_proj_weight": None if same else (embed_dim, size) for x, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim))}
        # The names stand in the order in which PyTorch registers them: it is the order of parameters()
        _optional_parameters(self, kwargs, **(shapes | projections if same else projections | shapes), in_proj_bias=(3 * embed_dim,) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **kwargs)
        if add_bias_kv:
            _optional_parameters(self, kwargs, bias_k=(1, 1, embed_dim), bias_v=(1, 1, embed_dim))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        transpose = self.batch_first and query.dim() == 3
        # where PyTorch takes one fused kernel, the result is contiguous
        fused = (
            transpose
            and query is key is value
            and not self.training
            and self.num_heads % 2 == 0
            and self._qkv_same_embed_dim
            and self.in_proj_bias is not None
            and self.bias_k is None
            and not self.add_zero_attn
            and not torch.is_autocast_enabled()
            and not any(m is not None and m.is_floating_point() for m in (attn_mask, key_padding_mask))
            and not (torch.is_grad_enabled() and any(t.requires_grad for t in (query, *self.parameters())))
        )
        key_padding_mask = F._canonical_mask(
            mask=key_padding_mask, mask_name="key_padding_mask", other_type=F._none_or_dtype(attn_mask), other_name="attn_mask", target_type=query.dtype
        )
        attn_mask = F._canonical_mask(mask=attn_mask, mask_name="attn_mask", other_type=None, other_name="", target_type=query.dtype, check_other=False)
        if transpose:  # the same tensor stays the same tensor: self-attention projects it once
            seen = {}
            query, key, value = (seen.setdefault(id(x), x.transpose(1, 0)) for x in (query, key, value))
        projections = (
            {}
            if self._qkv_same_embed_dim
            else {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
        )
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **projections,
        )
        output = output.transpose(1, 0) if transpose else output
        return output.contiguous() if fused else output, weights

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """One mask of (batch, heads, length, length) from both, and its kind: 1 padding alone, 2 with attention mask."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
