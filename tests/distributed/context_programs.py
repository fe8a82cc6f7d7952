"""Attention over a sequence that several processes share, beside the same in one process. Results are plain Python.

The real torch's context parallelism has kernels for CUDA alone, so there is nothing of it to compare with here.
"""

import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import _attention, context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard, set_rotate_method

CASES = {
    "causal": {"is_causal": True},
    "causal, whole pieces": {"is_causal": True, "balanced": False},
    "all to all": {"balanced": False},
    "few heads of keys": {"is_causal": True, "enable_gqa": True},
    "scale": {"is_causal": True, "scale": 0.1},
    "float64": {"is_causal": True, "dtype": torch.float64},
    "bfloat16": {"is_causal": True, "dtype": torch.bfloat16},
}


def operands(length, heads, dtype, device):
    made = torch.Generator().manual_seed(3)
    shapes = [(2, 4, length, 8), (2, heads, length, 8), (2, heads, length, 8), (2, 4, length, 8)]
    return [torch.randn(s, generator=made).to(dtype).to(device) for s in shapes]


def attended(mesh, device, balanced=True, dtype=torch.float32, **options):
    """The largest distance of the output and of the gradients from those of one process."""
    length = 8 * mesh.size()
    *given, towards = operands(length, 2 if options.get("enable_gqa") else 4, dtype, device)
    leaves = [t.clone().requires_grad_() for t in given]
    expected = F.scaled_dot_product_attention(*leaves, **options)
    expected.backward(towards)
    _attention._cp_options.enable_load_balance = balanced
    parts = [t.clone() for t in (*given, towards)]
    with context_parallel(mesh, buffers=parts, buffer_seq_dims=[2] * 4, no_restore_buffers=set(parts[:2])):
        own = [t.clone().requires_grad_() for t in parts[:3]]
        output = F.scaled_dot_product_attention(*own, **options)
        output.backward(parts[3])
        found = context_parallel_unshard(mesh, [output.detach(), *(t.grad for t in own)], [2] * 4)
        assert own[0].shape[2] == 8
    _attention._cp_options.enable_load_balance = True
    assert torch.equal(parts[2], given[2]) and parts[0].shape[2] == 8  # restored, and not
    wanted = [expected.detach(), *(t.grad for t in leaves)]
    return max((f - w).abs().max().item() for f, w in zip(found, wanted, strict=True))


def attention(rank, size, device="cpu"):
    """Every case by both ways to pass keys on."""
    mesh, found = init_device_mesh(device, (size,)), {}
    for method in ("alltoall", "allgather"):
        set_rotate_method(method)
        for name, options in CASES.items():
            if device == "cpu" or options.get("dtype") is not torch.float64:
                found[f"{name}, {method}"] = attended(mesh, device, **options)
    return found


def refusals(rank, size):
    """What is refused, as the real torch does it or because it is missing."""
    mesh, x = init_device_mesh("cpu", (size,)), torch.randn(1, 1, 4 * size, 4)
    part, found = x.chunk(size, 2)[rank], []
    calls = (
        lambda: F.scaled_dot_product_attention(part, part, part),
        lambda: F.scaled_dot_product_attention(part, part, part, attn_mask=torch.ones(4, 4)),
        lambda: F.scaled_dot_product_attention(part, part[..., :2, :], part[..., :2, :], is_causal=True),
        lambda: set_rotate_method("ring"),
        lambda: context_parallel(mesh, buffers=[x], buffer_seq_dims=[]).__enter__(),
        lambda: context_parallel(mesh, buffers=[x], buffer_seq_dims=[2], no_restore_buffers={part}).__enter__(),
    )
    with context_parallel(mesh):
        for call in calls:
            try:
                call()
            except Exception as e:
                found.append((type(e).__name__, str(e)[:60]))
    return found
