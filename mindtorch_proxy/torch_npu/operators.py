"""torch_npu's operators beside the fused ones: its own names and argument orders for what torch has, and overlaps of
boxes.
"""

import math

import torch
import torch.nn.functional as F

# -- names for what torch has


def fast_gelu(input):
    """x * sigmoid(1.702 x), which is near GELU."""
    return input * torch.sigmoid(1.702 * input)


npu_fast_gelu = fast_gelu


def npu_mish(self):
    """x * tanh(softplus(x))."""
    return F.mish(self)


def npu_silu_(self):
    """x * sigmoid(x), in place."""
    return F.silu(self, inplace=True)


def one_(self):
    """Ones, in place."""
    return self.fill_(1)


def npu_max(self, dim, keepdim=False):
    """(maxima along a dimension, their indices in int32)."""
    values, indices = torch.max(self, dim, keepdim)
    return values, indices.int()


def npu_min(self, dim, keepdim=False):
    """(minima along a dimension, their indices in int32)."""
    values, indices = torch.min(self, dim, keepdim)
    return values, indices.int()


def npu_bmmV2(self, mat2, output_sizes):
    """Products of matrices, in other sizes if any are given."""
    product = torch.matmul(self, mat2)
    return product.reshape(output_sizes) if output_sizes else product


def npu_broadcast(self, size):
    """The tensor, spread to a size, in memory of its own."""
    return self.broadcast_to(size).clone()


def npu_reshape(self, shape, can_refresh=False):
    """The tensor in another shape."""
    return self.reshape(shape)


def npu_transpose(self, perm, require_contiguous=True):
    """The tensor with its dimensions in another order, in memory of that order."""
    return self.permute(perm).contiguous() if require_contiguous else self.permute(perm)


def npu_slice(self, offsets, size):
    """The part that starts at offsets and has a size."""
    return self[tuple(slice(start, start + length) for start, length in zip(offsets, size, strict=True))].clone()


def npu_indexing(
    self, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0
):
    """The part from begin to end in strides.

    A bit of begin_mask or end_mask leaves that bound away; the other masks raise NotImplementedError.
    """
    if ellipsis_mask or new_axis_mask or shrink_axis_mask:
        raise NotImplementedError(
            f"npu_indexing: masks of ellipsis, new and shrunk dimensions of a {self.dtype} tensor on device "
            f"{self.device} are not supported"
        )
    bounds = enumerate(zip(begin, end, strides, strict=True))
    return self[
        tuple(slice(None if begin_mask >> i & 1 else b, None if end_mask >> i & 1 else e, s) for i, (b, e, s) in bounds)
    ].clone()


def npu_pad(input, paddings):
    """The tensor with zeros around it; paddings: before and after each dimension, the first one first."""
    pairs = [paddings[i : i + 2] for i in range(0, len(paddings), 2)]
    return F.pad(input, [n for pair in reversed(pairs) for n in pair])


def npu_one_hot(self, num_classes=-1, depth=1, on_value=1, off_value=0):
    """float32, in a further dimension of ``depth``: on_value at each index, off_value elsewhere."""
    hit = self.unsqueeze(-1) == torch.arange(depth, device=self.device)
    return torch.where(hit, float(on_value), float(off_value))


def npu_layer_norm_eval(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Layer normalization."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_softmax_cross_entropy_with_logits(features, labels):
    """The cross entropy of each row with probabilities as labels."""
    return -(labels * F.log_softmax(features, 1)).sum(1)


def npu_dropout_with_add_softmax(self, x1, alpha, prob, dim):
    """(mask of what is kept, softmax(self * alpha + x1), that after dropout)."""
    probabilities = torch.softmax(torch.add(x1, self, alpha=alpha), dim)
    kept = torch.rand_like(probabilities, dtype=torch.float32) >= prob
    return kept, probabilities, torch.where(kept, probabilities / (1 - prob), 0.0).to(probabilities.dtype)


def npu_scaled_masked_softmax(x, mask, scale=1.0, fixed_triu_mask=False):
    """softmax(x * scale) of the last dimension, where the mask, or all above the diagonal, counts nothing."""
    hidden = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1) if fixed_triu_mask else mask.bool()
    return torch.softmax((x * scale).masked_fill(hidden, -10000.0), -1)


def npu_conv2d(input, weight, bias, stride, padding, dilation, groups):
    """A convolution of two dimensions."""
    return F.conv2d(input, weight, bias, stride, padding, dilation, groups)


def npu_conv3d(input, weight, bias, stride, padding, dilation, groups):
    """A convolution of three dimensions."""
    return F.conv3d(input, weight, bias, stride, padding, dilation, groups)


def npu_convolution(input, weight, bias, stride, padding, dilation, groups):
    """A convolution of as many dimensions as the input has."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0] * (weight.dim() - 2), groups)


def npu_convolution_transpose(input, weight, bias, padding, output_padding, stride, dilation, groups):
    """A transposed convolution of as many dimensions as the input has."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


npu_conv_transpose2d = npu_convolution_transpose


def scatter_update_(self, indices, updates, axis):
    """Write updates into each row of a batch, from the row's index on along an axis, in place."""
    length, axis = updates.shape[axis], axis % self.dim()
    for row, source, start in zip(self, updates, indices.tolist(), strict=True):
        row.narrow(axis - 1, start, length).copy_(source)
    return self


def scatter_update(self, indices, updates, axis):
    """scatter_update_ of a copy."""
    return scatter_update_(self.clone(), indices, updates, axis)


def npu_sign_bits_pack(self, size):
    """The signs (1: not negative) of eight numbers a byte, the first in the lowest bit, in ``size`` rows.

    Ones fill the last byte up.
    """
    bits = F.pad((self >= 0).int(), (0, -len(self) % 8))
    weights = 2 ** torch.arange(8, device=self.device, dtype=torch.int32)
    return (bits.view(-1, 8) * weights).sum(1).to(torch.uint8).view(size, -1)


def npu_sign_bits_unpack(input, size, dtype):
    """1 for each bit that is set and -1 for others, the lowest first, in ``size`` rows."""
    shifts = torch.arange(8, device=input.device, dtype=torch.int32)
    bits = (input.int().unsqueeze(-1) // 2**shifts) % 2
    return (2 * bits - 1).to(dtype).view(size, -1)


# -- boxes


def npu_iou(bboxes, gtboxes, mode=0):
    """Overlaps of boxes (left, top, right, bottom): a row for each of gtboxes. mode 0: by the union.

    1: by the area of the row's box.
    """
    area = lambda boxes: (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    rows = gtboxes[:, None]
    sides = (torch.minimum(bboxes[:, 2:], rows[..., 2:]) - torch.maximum(bboxes[:, :2], rows[..., :2])).clamp(min=0)
    inter, own = sides[..., 0] * sides[..., 1], area(gtboxes)[:, None]
    return inter / ((own + area(bboxes) - inter if mode == 0 else own) + 1e-7)


npu_ptiou = npu_iou
_TINY = 1e-10


def _edges(boxes, trans):
    """(left, top, right, bottom) of boxes whose numbers are rows: centre and sides with ``trans``, edges without."""
    if not trans:
        return boxes.unbind(0)
    x, y, width, height = boxes.unbind(0)
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


class _Pairs:
    """Boxes side by side, or, with ``is_cross``, each with each: overlap, union and what is around both."""

    def __init__(self, name, self_boxes, gtboxes, trans, is_cross, mode):
        if mode not in (0, 1):
            raise NotImplementedError(
                f"{name}: mode {mode} of {self_boxes.dtype} tensors on device {self_boxes.device} is not supported"
            )
        self.a = _edges(self_boxes.unsqueeze(1) if is_cross else self_boxes, trans)
        self.b = _edges(gtboxes.unsqueeze(2) if is_cross else gtboxes, trans)
        (l1, t1, r1, b1), (l2, t2, r2, b2) = self.a, self.b
        self.sizes = (r1 - l1, b1 - t1), (r2 - l2, b2 - t2)
        inter = (torch.minimum(r1, r2) - torch.maximum(l1, l2)).clamp(min=0) * (
            torch.minimum(b1, b2) - torch.maximum(t1, t2)
        ).clamp(min=0)
        own, other = (w * h for w, h in self.sizes)
        self.union = (own + other - inter if mode == 0 else other) + _TINY
        self.iou = inter / self.union
        self.around = torch.maximum(r1, r2) - torch.minimum(l1, l2), torch.maximum(b1, b2) - torch.minimum(t1, t2)

    def distance(self):
        """The centres' distance by the diagonal around both, squared."""
        (l1, t1, r1, b1), (l2, t2, r2, b2) = self.a, self.b
        apart = ((l1 + r1 - l2 - r2) ** 2 + (t1 + b1 - t2 - b2) ** 2) / 4
        return apart / (self.around[0] ** 2 + self.around[1] ** 2 + _TINY)


def npu_giou(self, gtboxes, trans=False, is_cross=False, mode=0):
    """The overlap less the share of the box around both that neither fills.

    (n, 1), or (gtboxes, boxes) with ``is_cross``.
    """
    pairs = _Pairs("npu_giou", self, gtboxes, trans, is_cross, mode)
    around = pairs.around[0] * pairs.around[1] + _TINY
    found = pairs.iou - (around - pairs.union) / around
    return found if is_cross else found.unsqueeze(1)


def npu_diou(self, gtboxes, trans=False, is_cross=False, mode=0):
    """The overlap less the centres' distance; (1, n), or (gtboxes, boxes) with ``is_cross``."""
    pairs = _Pairs("npu_diou", self, gtboxes, trans, is_cross, mode)
    found = pairs.iou - pairs.distance()
    return found if is_cross else found.unsqueeze(0)


def npu_ciou(self, gtboxes, trans=False, is_cross=False, mode=0, atan_sub_flag=False):
    """The overlap less the centres' distance and what the sides' ratios differ by.

    (1, n), or (gtboxes, boxes) with ``is_cross``.
    """
    pairs = _Pairs("npu_ciou", self, gtboxes, trans, is_cross, mode)
    (w1, h1), (w2, h2) = pairs.sizes
    ratio = (4 / math.pi**2) * (torch.atan(w2 / h2) - torch.atan(w1 / h1)) ** 2
    found = pairs.iou - pairs.distance() - ratio * (ratio / (1 + _TINY - pairs.iou + ratio))
    return found if is_cross else found.unsqueeze(0)


__all__ = [name for name in dir() if name.startswith(("npu_", "fast_", "one_", "scatter_"))]
