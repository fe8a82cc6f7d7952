"""torch.backends.cpu."""

import torch


def get_cpu_capability():
    """Return PyTorch's name of the widest vector instructions of the processor."""
    has = torch.cpu.get_capabilities()
    return "AVX512" if has.get("avx512_f") else "AVX2" if has.get("avx2") else "DEFAULT"
