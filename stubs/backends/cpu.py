"""torch.backends.cpu."""

import torch


def get_cpu_capability():
    """The widest vector instructions of the processor, by PyTorch's names."""
    has = torch.cpu.get_capabilities()
    return "AVX512" if has.get("avx512_f") else "AVX2" if has.get("avx2") else "DEFAULT"
