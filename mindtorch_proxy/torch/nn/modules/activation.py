"""Activation functions and multi-head attention."""

import warnings

import torch
from torch import Tensor

from .. import functional as F
from ..init import constant_, xavier_normal_, xavier_uniform_
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .utils import _optional_parameters

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


def _inplace(layer):
    """Return the last part of extra_repr for a layer that can work in-place."""
    return ", inplace=True" if layer.inplace else ""


class Threshold(Module):
    """Keep x where x > threshold and return `value` elsewhere, for each element of a tensor of any shape."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{_inplace(self)}"


class ReLU(Module):
    """Apply max(0, x) to each element of a tensor of any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _inplace(self)[2:]


class RReLU(Module):
    """Return x where x >= 0 and a * x elsewhere, for each element of a tensor of any shape.

    In training, a is drawn from [lower, upper) for each element; in evaluation, it is the mean of the two.
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{_inplace(self)}"


class Hardtanh(Module):
    """Limit each element of a tensor of any shape to [min_val, max_val].

    min_value and max_value are the old names of the arguments.
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and rename to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and rename to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{_inplace(self)}"


class ReLU6(Hardtanh):
    """Apply min(max(0, x), 6) to each element of a tensor of any shape."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _inplace(self)[2:]


class Sigmoid(Module):
    """Apply 1 / (1 + exp(-x)) to each element of a tensor of any shape."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.sigmoid(input)


class Hardsigmoid(Module):
    """Apply x / 6 + 1/2, limited to [0, 1], to each element: a piecewise linear sigmoid."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """Apply the hyperbolic tangent to each element of a tensor of any shape."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.tanh(input)


class SiLU(Module):
    """Apply x * sigmoid(x), also called swish, to each element of a tensor of any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _inplace(self)[2:]


class Mish(Module):
    """Apply x * tanh(log(1 + exp(x))) to each element of a tensor of any shape."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _inplace(self)[2:]


class Hardswish(Module):
    """Apply x * hardsigmoid(x) to each element: SiLU with a piecewise linear sigmoid."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class ELU(Module):
    """Return x where x > 0 and alpha * (exp(x) - 1) elsewhere, element by element."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace(self)}"


class CELU(Module):
    """Return x where x > 0 and alpha * (exp(x / alpha) - 1) elsewhere, element by element.

    Unlike that of ELU, its derivative is continuous for any alpha.
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace(self)}"


class SELU(Module):
    """Apply ELU, scaled so that activations of mean 0 and variance 1 keep them, to each element."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return _inplace(self)[2:]


class GLU(Module):
    """Return a * sigmoid(b), where a and b are the two halves of the input along `dim`.

    The dimension `dim` of the result is half as long as that of the input.
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """Apply x * P(X <= x), where X is a standard normal variable, to each element.

    approximate="tanh" uses the tanh approximation instead of erf.
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """Return x where |x| > lambd and 0 elsewhere, element by element."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(Module):
    """Return x where x >= 0 and negative_slope * x elsewhere, element by element."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{_inplace(self)}"


class LogSigmoid(Module):
    """Apply log(sigmoid(x)), computed without overflow, to each element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """Apply log(1 + exp(beta * x)) / beta, a smooth ReLU, to each element.

    Where beta * x > threshold the result is x itself.
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """Move each element towards 0 by lambd; the result is 0 where |x| <= lambd."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softsign(Module):
    """Apply x / (1 + |x|) to each element of a tensor of any shape."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """Apply x - tanh(x) to each element of a tensor of any shape."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmin(Module):
    """Apply softmax to -x along `dim`: the results are positive and sum to 1 along it."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(Module):
    """Divide exp(x) by its sum along `dim`: the results are positive and sum to 1 along it."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Apply softmax over the channels of images of shape (N, C, H, W) or (C, H, W).

    Any other number of dimensions raises ValueError.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(Module):
    """Compute log(softmax(x)) along `dim` in one operation."""

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class PReLU(Module):
    """Apply max(0, x) + a * min(0, x), where a is learned.

    `a` is a single number, or one number for each channel (dimension 1) if num_parameters is the number of channels.
    """

    __constants__ = ["num_parameters"]
    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        _optional_parameters(self, {"device": device, "dtype": dtype}, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the weight with `init`."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _why_not_fused(attention, query, key, value, padding, mask):
    """Return why PyTorch would not use its fused kernel for these arguments, or an empty string."""
    given, here = query.dtype, attention.in_proj_weight
    for wrong, text in (
        (query.dim() != 3, f"input not batched; expected query.dim() of 3 but got {query.dim()}"),
        (
            query is not key or key is not value,
            "non-self attention was used (query, key, and value are not the same Tensor)",
        ),
        (here is None, "in_proj_weight was None"),
        (
            here is not None and given is not here.dtype,
            f"dtypes of query ({given}) and self.in_proj_weight ({getattr(here, 'dtype', None)}) don't match",
        ),
        (attention.training, "training is enabled"),
        (attention.num_heads % 2, "self.num_heads is not even"),
        (not attention.batch_first, "batch_first was not True"),
        (attention.in_proj_bias is None, "in_proj_bias was None"),
        (attention.bias_k is not None, "self.bias_k was not None"),
        (attention.add_zero_attn, "add_zero_attn was enabled"),
        (
            query.is_nested and not (padding is None and mask is None),
            "supplying both src_key_padding_mask and src_mask at the same time is not supported with NestedTensor "
            "input",
        ),
        (
            any(m is not None and m.is_floating_point() for m in (mask, padding)),
            "floating-point masks are not supported for fast path.",
        ),
        (torch.is_autocast_enabled(), "autocast is enabled"),
    ):
        if wrong:
            return text
    if torch.is_grad_enabled() and any(t.requires_grad for t in (query, *attention.parameters())):
        return (
            "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"
        )
    return ""


def _without_keys(query, heads, attn_mask, padding):
    """Return where the rows of a query see no key: (batch, length). Masks are boolean, or hide by minus infinity."""
    batch, length, _ = query.shape
    hidden = torch.zeros((1, 1, 1, 1), dtype=torch.bool, device=query.device)
    of_heads = (1, 1) if attn_mask is None or attn_mask.dim() == 2 else (batch, heads)
    for mask, shape in ((attn_mask, (*of_heads, length, length)), (padding, (batch, 1, 1, length))):
        if mask is not None:
            hidden = hidden | (mask if mask.dtype is torch.bool else mask == float("-inf")).reshape(shape)
    return hidden.all(-1).any(1).expand(batch, length)


def _on_sequences(attention, nested, need_weights, average):
    """Compute self-attention within each sequence of a nested tensor.

    The sequences are padded into one dense tensor, and a key_padding_mask hides the padding.
    """
    lengths = [t.size(0) for t in nested.unbind()]
    dense = torch.nested.to_padded_tensor(nested, 0.0)
    padding = torch.arange(dense.size(1)) >= torch.tensor(lengths).unsqueeze(1)
    output, weights = attention(
        dense, dense, dense, key_padding_mask=padding, need_weights=need_weights, average_attn_weights=average
    )
    if weights is not None:
        weights = weights.masked_fill(padding.unsqueeze(-1) if average else padding[:, None, :, None], 0.0)
    return torch.nested.nested_tensor([t[:n] for t, n in zip(output, lengths)]), weights


class MultiheadAttention(Module):
    """Multi-head attention: softmax(q k^T / sqrt(head_dim)) v in each of num_heads parts of embed_dim.

    Linear projections are applied before and after. Inputs have the shape (L, N, E), (N, L, E) with batch_first, or (L,
    E) without a batch. The result is (output, weights), where weights is None without need_weights.

    embed_dim must be positive and divisible by num_heads. A nested tensor is accepted only where PyTorch would use its
    fused kernel; otherwise AssertionError is raised.
    """

    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None

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
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
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
        projections = {
            f"{x}_proj_weight": None if same else (embed_dim, size)
            for x, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim))
        }
        # Register the names in PyTorch's order, because parameters() follows it.
        _optional_parameters(
            self,
            kwargs,
            **(shapes | projections if same else projections | shapes),
            in_proj_bias=(3 * embed_dim,) if bias else None,
        )
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

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        transpose = self.batch_first and query.dim() == 3
        why_not_fused = _why_not_fused(self, query, key, value, key_padding_mask, attn_mask)
        if query.is_nested or key.is_nested or value.is_nested:
            if why_not_fused:
                raise AssertionError(
                    "MultiheadAttention does not support NestedTensor outside of its fast path. "
                    f"The fast path was not hit because {why_not_fused}"
                )
            return _on_sequences(self, query, need_weights, average_attn_weights)
        masks = attn_mask, key_padding_mask
        key_padding_mask = F._canonical_mask(
            mask=key_padding_mask,
            mask_name="key_padding_mask",
            other_type=F._none_or_dtype(attn_mask),
            other_name="attn_mask",
            target_type=query.dtype,
        )
        attn_mask = F._canonical_mask(
            mask=attn_mask,
            mask_name="attn_mask",
            other_type=None,
            other_name="",
            target_type=query.dtype,
            check_other=False,
        )
        given = query
        if transpose:  # keep identity: self-attention projects a shared tensor once
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
        if why_not_fused:
            return output, weights
        if not need_weights and any(
            m is not None for m in masks
        ):  # PyTorch's fused kernel gives NaN where all keys are hidden
            hidden = _without_keys(given, self.num_heads, *masks)
            output = output.masked_fill(hidden.unsqueeze(-1), float("nan"))
        return output.contiguous(), weights  # as that kernel's results are

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Combine both masks into one of shape (batch, heads, length, length), and return it with its kind.

        The kind is 1 for a padding mask alone, which is returned as it is, and 2 with an attention mask. Without any
        mask the result is (None, None).
        """
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
