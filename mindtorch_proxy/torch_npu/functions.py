"""torch_npu's fused functions: attention, norms, rotary embeddings, gated activations."""

import math

import torch
import torch.nn.functional as F
from torch.npu import _kernels

ND = 2  # the only format of memory here: what shape and strides say


def get_npu_format(self):
    """The number of a tensor's memory format: ND."""
    return ND


def npu_format_cast(self, acl_format):
    """The tensor in a memory format.

    NotImplementedError for formats other than ND (2), NCHW (0) and NHWC (1), whose memory is ND's.
    """
    if acl_format not in (0, 1, ND):
        raise NotImplementedError(
            f"npu_format_cast: memory format {acl_format} of a {self.dtype} tensor on device {self.device} is not "
            f"supported"
        )
    return self


def get_storage_size(self):
    """How many elements a tensor's storage holds."""
    return self.untyped_storage().nbytes() // self.itemsize


def empty_with_format(
    size, *, dtype=None, layout=None, device=None, pin_memory=None, acl_format=ND, base_addblock_size=None
):
    """Memory that is not set, in a memory format; NotImplementedError for those that npu_format_cast refuses."""
    return npu_format_cast(
        torch.empty(
            size, dtype=dtype, layout=layout or torch.strided, device=device or "npu", pin_memory=bool(pin_memory)
        ),
        acl_format,
    )


def npu_dtype_cast(input, dtype):
    """The tensor in another dtype."""
    return input.to(dtype)


def npu_rms_norm(self, gamma, epsilon=1e-6):
    """(x / rms(x) * gamma, 1 / rms(x)) over the dimensions of gamma; the second in float32."""
    return torch.ops.aten._fused_rms_norm(self, list(gamma.shape), gamma, epsilon)


def npu_add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    """(x / rms(x) * gamma, 1 / rms(x), x) of x = x1 + x2, over the dimensions of gamma."""
    x = x1 + x2
    return *npu_rms_norm(x, gamma, epsilon), x


def npu_geglu(self, dim=-1, approximate=1, activate_left=False):
    """(one half of a tensor along a dimension times the GELU of the other, that GELU). approximate: 0 is exact, 1 by
    tanh.
    """
    left, right = self.chunk(2, dim)
    plain, gate = (right, left) if activate_left else (left, right)
    gate = F.gelu(gate, approximate="tanh" if approximate else "none")
    return plain * gate, gate


def npu_moe_gating_top_k_softmax(x, finished=None, k=1):
    """(the k largest of softmax(x), the experts they are of, where each stands if the experts' rows follow each other).

    Both in int32.
    """
    values, experts = torch.topk(torch.softmax(x, -1), k, -1)
    if finished is not None:
        experts = experts.masked_fill(finished.unsqueeze(-1), x.shape[-1])
    rows = experts.numel() // k
    places = torch.arange(rows * k, dtype=torch.int32, device=x.device).view(k, rows).t().reshape(experts.shape)
    return values, experts.int(), places


def npu_swiglu(self, dim=-1):
    """silu(a) * b of the halves of a tensor along a dimension."""
    return _kernels.swiglu(self, dim)


def npu_silu(self):
    """x * sigmoid(x)."""
    return F.silu(self)


def npu_gelu(self, *, approximate="none"):
    """GELU, exact or "tanh"."""
    return F.gelu(self, approximate=approximate)


def npu_linear(input, weight, bias=None):
    """input @ weight.T + bias."""
    return F.linear(input, weight, bias)


def npu_confusion_transpose(self, perm, shape, transpose_first):
    """Permute then reshape, or the other way round."""
    return self.permute(perm).reshape(shape) if transpose_first else self.reshape(shape).permute(perm)


def npu_masked_softmax_with_rel_pos_bias(x, atten_mask, relative_pos_bias, scale_value=1.0, inner_precision_mode=0):
    """softmax(x * scale_value + atten_mask + relative_pos_bias) of the last dimension."""
    scores = x * scale_value + relative_pos_bias
    return torch.softmax(scores if atten_mask is None else scores + atten_mask, -1)


def npu_rotary_mul(input, r1, r2, rotary_mode="half"):
    """input * r1 + turned(input) * r2; "half" turns the halves of the last dimension, "interleave" its pairs."""
    return _kernels.rotary_embedding(input, r1, r2, rotary_mode == "interleave")


def _heads(t, layout, heads):
    """(batch, heads, sequence, width) of a tensor in a layout."""
    if layout == "BNSD":
        return t
    if layout == "BSND":
        return t.transpose(1, 2)
    t = t.transpose(0, 1) if layout == "SBH" else t
    return t.reshape(*t.shape[:2], heads, -1).transpose(1, 2)


def _joined(t, layout):
    if layout == "BNSD":
        return t
    t = t.transpose(1, 2)
    if layout == "BSND":
        return t
    return t.flatten(2).transpose(0, 1) if layout == "SBH" else t.flatten(2)


def _is_plain(pse, keep_prob, before, after, sparse_mode, mask, key):
    """Whether it is the attention of the kernel: nothing added or dropped, no band, a mask of four dimensions at
    most.
    """
    whole = min(before, after) >= max(key.shape)
    return (
        pse is None
        and keep_prob == 1
        and whole
        and sparse_mode in (0, 1, 2)
        and (mask is None or mask.dim() == 4 or sparse_mode)
    )


def npu_fusion_attention(
    query,
    key,
    value,
    head_num,
    input_layout,
    pse=None,
    padding_mask=None,
    atten_mask=None,
    scale=1.0,
    keep_prob=1.0,
    pre_tockens=2147483647,
    next_tockens=2147483647,
    inner_precise=0,
    prefix=None,
    sparse_mode=0,
    gen_mask_parallel=True,
    sync=False,
):
    """Attention. input_layout: BSH, SBH, BSND or BNSD. atten_mask: true hides. sparse_mode: 0 the mask, 1 all, 2 and 3
    causal from the upper left or lower right corner. Returns (attention, the scores' maximum, the sum of their
    exponentials, None, seed, offset, length of the dropout mask).
    """
    if input_layout not in ("BSH", "SBH", "BSND", "BNSD") or sparse_mode not in (0, 1, 2, 3) or prefix is not None:
        raise NotImplementedError(
            f"npu_fusion_attention: layout {input_layout}, sparse_mode {sparse_mode} of {query.dtype} tensors on "
            f"device {query.device} is not supported"
        )
    if _is_plain(pse, keep_prob, pre_tockens, next_tockens, sparse_mode, atten_mask, key) and input_layout in (
        "BSND",
        "BNSD",
    ):
        hidden = atten_mask.bool() if sparse_mode == 0 and atten_mask is not None else None
        return (
            *_kernels.flash_attention(query, key, value, hidden, scale, input_layout, sparse_mode == 2),
            None,
            0,
            0,
            0,
        )
    q = _heads(query, input_layout, head_num)
    width = q.shape[-1]
    k, v = (
        _heads(t, input_layout, t.shape[-1] // width if input_layout in ("BSH", "SBH") else 0) for t in (key, value)
    )
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) if t.shape[1] != q.shape[1] else t for t in (k, v))
    scores = (q @ k.mT).float() * scale
    if pse is not None:
        scores = scores + pse
    rows, columns = scores.shape[-2:]
    at = torch.arange(columns, device=q.device) - torch.arange(rows, device=q.device)[:, None]
    hidden = at > (0 if sparse_mode == 2 else columns - rows) if sparse_mode in (2, 3) else None
    if sparse_mode == 0:
        hidden = None if atten_mask is None else atten_mask.bool()
        if pre_tockens < columns or next_tockens < columns:
            band = (at > next_tockens) | (at < -pre_tockens)
            hidden = band if hidden is None else hidden | band
    if hidden is not None:
        scores = scores.masked_fill(hidden, torch.finfo(torch.float32).min)
    top = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - top)
    total = weights.sum(-1, keepdim=True)
    probabilities = F.dropout(weights / total, 1 - keep_prob) if keep_prob < 1 else weights / total
    out = _joined(probabilities.to(q.dtype) @ v, input_layout)
    spread = (*top.shape[:-1], 8)  # as the kernel gives them
    return out, top.expand(spread), total.expand(spread), None, 0, 0, 0


def npu_prompt_flash_attention(
    query,
    key,
    value,
    *,
    pse_shift=None,
    padding_mask=None,
    atten_mask=None,
    actual_seq_lengths=None,
    num_heads=1,
    scale_value=1.0,
    pre_tokens=2147483647,
    next_tokens=0,
    input_layout="BSH",
    num_key_value_heads=0,
    actual_seq_lengths_kv=None,
    sparse_mode=0,
):
    """Attention for inference; see npu_fusion_attention.

    Lengths of single sequences are not supported (NotImplementedError).
    """
    if actual_seq_lengths is not None or actual_seq_lengths_kv is not None:
        raise NotImplementedError(
            f"npu_prompt_flash_attention: sequence lengths, of {query.dtype} tensors on device {query.device}, "
            "are not supported"
        )
    limit = math.inf if atten_mask is not None or sparse_mode else next_tokens
    return npu_fusion_attention(
        query,
        key,
        value,
        num_heads,
        input_layout,
        pse=pse_shift,
        atten_mask=atten_mask,
        scale=scale_value,
        pre_tockens=pre_tokens,
        next_tockens=limit,
        sparse_mode=sparse_mode,
    )[0]


def npu_incre_flash_attention(
    query,
    key,
    value,
    *,
    padding_mask=None,
    atten_mask=None,
    actual_seq_lengths=None,
    num_heads=1,
    scale_value=1.0,
    input_layout="BSH",
    num_key_value_heads=0,
    pse_shift=None,
):
    """Attention of one further position with those before it; see npu_fusion_attention.

    Lengths of single sequences are not supported (NotImplementedError).
    """
    if actual_seq_lengths is not None:
        raise NotImplementedError(
            f"npu_incre_flash_attention: sequence lengths, of {query.dtype} tensors on device {query.device}, "
            "are not supported"
        )
    return npu_fusion_attention(
        query, key, value, num_heads, input_layout, pse=pse_shift, atten_mask=atten_mask, scale=scale_value
    )[0]
