"""Functions that one aclnn function computes, npu beside cpu: prints for each what went wrong and which primitives ran
how often.
"""

import json
import traceback
from collections import Counter

import torch
import torch.nn.functional as F
import torch_npu

from mindtorch_proxy.backends.ascend import BACKEND

torch.manual_seed(0)
attention = F.scaled_dot_product_attention
q, k, v = (torch.randn(2, 4, 5, 8) for _ in range(3))
seen = torch.rand(2, 1, 5, 5) > 0.3
seen[..., 0] = True
x, w, b = torch.randn(3, 4, 8), torch.randn(8), torch.randn(8)
scores, classes = torch.randn(6, 9), torch.tensor([1, 2, -100, 4, 0, 8])


def both(fn, *tensors):
    """fn and its gradients on both devices."""
    found = []
    for device in ("cpu", "npu"):
        args = [t.detach().to(device).requires_grad_(t.is_floating_point()) for t in tensors]
        out = fn(*args)
        out.float().pow(2).sum().backward()
        found.append([out.detach().cpu(), *(a.grad.cpu() for a in args if a.grad is not None)])
    for here, there in zip(*found):
        near = 2e-4 if here.dtype is torch.float32 else 3e-2
        torch.testing.assert_close(there, here, rtol=near, atol=near / 10)


def adam():
    for cls in (torch.optim.AdamW, torch.optim.Adam):
        params = [torch.ones(5, 3, device=d).requires_grad_() for d in ("cpu", "npu")]
        optimizers = [cls([p], lr=1e-2, weight_decay=0.1) for p in params]
        for _ in range(3):
            for p, o in zip(params, optimizers):
                o.zero_grad()
                (p**2).sum().backward()
                o.step()
        torch.testing.assert_close(params[1].cpu(), params[0], rtol=1e-6, atol=1e-7)


def turned(x, c, s):
    if x.is_npu:
        return torch_npu.npu_rotary_mul(x, c, s)
    a, b = x.chunk(2, -1)
    return x * c + torch.cat((-b, a), -1) * s


def fusion(*args):
    return torch_npu.npu_fusion_attention(*args, 4, "BNSD", scale=8**-0.5)[0] if args[0].is_npu else attention(*args)


def images(*size):
    return torch.randn(2, 6, *size)


def loss(name, **more):
    """A loss of predictions between 0 and 1 under every reduction."""
    a, b = torch.rand(3, 5) * 0.8 + 0.1, torch.rand(3, 5)
    for reduction in ("none", "mean", "sum"):
        both(lambda x: getattr(F, name)(x, b.to(x.device), reduction=reduction, **more), a)


def grid(dims):
    return torch.rand(2, *[3] * dims, dims) * 2.4 - 1.2


# the gradients that one primitive computes: {primitive: programs}
GRADIENTS = {
    "ConvolutionGrad": lambda: [
        both(lambda *a, c=call, o=options: c(*a, **o), images(*size), torch.randn(6, per, *kernel), torch.randn(6))
        for call, options, size, kernel, per in (
            (F.conv2d, dict(stride=2, padding=1), (7, 8), (3, 3), 6),
            (F.conv2d, dict(groups=3, dilation=2), (7, 8), (2, 3), 2),
            (F.conv1d, dict(padding=1), (9,), (3,), 6),
            (F.conv3d, dict(padding=1), (3, 4, 5), (3, 3, 3), 6),
            (F.conv_transpose2d, dict(stride=2, output_padding=1), (5, 4), (3, 3), 6),
        )
    ],
    "HardtanhGrad": lambda: both(lambda x: F.hardtanh(x, -0.5, 0.7), x),
    "SoftplusGradExt": lambda: both(lambda x: F.softplus(x, 2, 1.5), x),
    "LeakyReLUGradExt": lambda: both(lambda x: F.leaky_relu(x, 0.2), x),
    "EluGradExt": lambda: both(lambda x: F.elu(x, 1.3), x),
    "GluGrad": lambda: both(lambda x: F.glu(x, 1), x),
    "HShrinkGrad": lambda: both(lambda x: F.hardshrink(x, 0.3), x),
    "SoftShrinkGrad": lambda: both(lambda x: F.softshrink(x, 0.3), x),
    "HSigmoidGrad": lambda: both(F.hardsigmoid, 3 * x),
    "MishGradExt": lambda: both(F.mish, x),
    "ThresholdGrad": lambda: both(lambda x: F.threshold(x, 0.1, 20), x),
    "GridSampler2DGrad": lambda: [
        both(lambda x, g, m=m, p=p: F.grid_sample(x, g, m, p, align_corners=m == "nearest"), images(5, 4), grid(2))
        for m, p in (("bilinear", "zeros"), ("nearest", "border"), ("bilinear", "reflection"))
    ],
    "GridSampler3DGrad": lambda: both(lambda x, g: F.grid_sample(x, g, align_corners=False), images(3, 5, 4), grid(3)),
    "activations twice differentiated": lambda: [
        both(lambda x, f=f: torch.autograd.grad(f(x).sum(), x, create_graph=True)[0], x)
        for f in (F.glu, F.mish, F.elu, F.softplus)
    ],
    "MSELossGradExt": lambda: loss("mse_loss"),
    "SmoothL1LossGrad": lambda: loss("smooth_l1_loss", beta=0.3),
    "SoftMarginLossGrad": lambda: loss("soft_margin_loss"),
    "BinaryCrossEntropyGrad": lambda: loss("binary_cross_entropy"),
    "BinaryCrossEntropyWithLogitsBackward": lambda: loss("binary_cross_entropy_with_logits"),
    "MaxPoolGradWithIndices": lambda: both(lambda x: F.max_pool2d(x, 3, 2, 1), images(7, 8)),
    "AvgPool2DGrad": lambda: both(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), images(7, 8)),
    "AvgPool3DGradExt": lambda: both(lambda x: F.avg_pool3d(x, 2, 2), images(4, 6, 5)),
    "BatchNormGradExt": lambda: both(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), images(5, 4), torch.rand(6), torch.rand(6)
    ),
    "GroupNormGrad": lambda: both(lambda x, w, b: F.group_norm(x, 3, w, b), images(5, 4), torch.rand(6), torch.rand(6)),
}


CASES = {
    "attention": lambda: both(attention, q, k, v),
    "attention in float16": lambda: both(attention, q.half(), k.half(), v.half()),
    "causal": lambda: both(lambda *a: attention(*a, is_causal=True), q, k, v),
    "masked": lambda: both(lambda *a: attention(*a, attn_mask=seen.to(a[0].device)), q, k, v),
    "groups": lambda: both(lambda *a: attention(*a, enable_gqa=True), q, k[:, :2], v[:, :2]),
    "rows first": lambda: both(lambda *a: attention(*(t.transpose(1, 2) for t in a)), q, k, v),
    "added mask": lambda: both(lambda *a: attention(*a, attn_mask=torch.ones(5, 5, device=a[0].device)), q, k, v),
    "attention twice differentiated": lambda: both(
        lambda a: torch.autograd.grad(attention(a, a, a).sum(), a, create_graph=True)[0], q
    ),
    "cross entropy": lambda: [
        both(lambda x, t, r=r: F.cross_entropy(x, t, reduction=r), scores, classes) for r in ("mean", "sum", "none")
    ],
    "cross entropy twice differentiated": lambda: both(
        lambda x: torch.autograd.grad(F.cross_entropy(x, classes.to(x.device)), x, create_graph=True)[0], scores
    ),
    "smoothed cross entropy": lambda: both(
        lambda x: F.cross_entropy(x, classes.to(x.device), label_smoothing=0.1), scores
    ),
    "layer norm": lambda: both(lambda x, w, b: F.layer_norm(x, (8,), w, b), x, w, b),
    "rms norm": lambda: both(lambda x, w: F.rms_norm(x, (8,), w, 1e-6), x, w),
    "adam": adam,
    "swiglu": lambda: both(lambda x: torch_npu.npu_swiglu(x) if x.is_npu else F.silu(x[..., :4]) * x[..., 4:], x),
    "padded volumes": lambda: both(
        lambda x: F.pad(x, (1, 2, 0, 1, 2, 0), mode="replicate"), torch.randn(1, 2, 3, 4, 5)
    ),
    "rotary": lambda: both(turned, q.transpose(1, 2).contiguous(), torch.randn(1, 5, 1, 8), torch.randn(1, 5, 1, 8)),
    "npu_fusion_attention": lambda: both(fusion, q, k, v),
} | GRADIENTS


def counts():
    found = Counter()
    for plan in BACKEND.plans:
        found[plan.primitive] += plan.calls if plan.primitive else 0
    return found


if __name__ == "__main__":
    found = {}
    for name, program in CASES.items():
        before, wrong = counts(), ""
        try:
            program()
        except Exception:
            wrong = traceback.format_exc()
        found[name] = wrong, dict(counts() - before)
    print("FOUND" + json.dumps(found))
