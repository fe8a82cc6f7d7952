"""torch.backends.cuda without CUDA, where flags keep their values.

The flags of the attention kernels are here too.
"""

import types
from contextlib import contextmanager
from enum import Enum

import torch

_libraries = {"blas": "Cublas", "linalg": "Default", "rocm_fa": "Default"}


def is_built():
    """Whether this build has CUDA, which is never the case."""
    return False


class cuBLASModule:
    """Flags of matrix multiplication; allow_tf32 and set_float32_matmul_precision share one setting."""

    def __init__(self):
        self.__dict__.update(
            allow_fp16_reduced_precision_reduction=True,
            allow_bf16_reduced_precision_reduction=True,
            allow_fp16_accumulation=False,
        )

    def __getattr__(self, name):
        if name == "allow_tf32":
            return torch.get_float32_matmul_precision() != "highest"
        if name == "fp32_precision":
            return "tf32" if self.allow_tf32 else "none"
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name, value):
        if name in ("allow_tf32", "fp32_precision"):
            torch.set_float32_matmul_precision("high" if value in (True, "tf32") else "highest")
        elif name in self.__dict__:
            self.__dict__[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")


matmul = cuBLASModule()


class cuFFTPlanCacheManager:
    """The plan caches of CUDA devices; accessing one raises."""

    def __getattr__(self, name):
        raise AssertionError("Torch not compiled with CUDA enabled")


cufft_plan_cache = cuFFTPlanCacheManager()


def _switch(kind, setter, getter, change, current):
    def enable(enabled):
        change(enabled)

    def is_enabled():
        return current()

    for name, f, doc in (
        (setter, enable, "Allow or forbid"),
        (getter, is_enabled, "Whether scaled_dot_product_attention may use"),
    ):
        f.__name__ = f.__qualname__ = name
        f.__doc__ = f"{doc} the {kind} attention."
        globals()[name] = f


for _kind in ("flash", "mem_efficient", "math", "cudnn"):
    _set, _get = getattr(torch._C, f"_set_sdp_use_{_kind}"), getattr(torch._C, f"_get_{_kind}_sdp_enabled")
    _switch(_kind, f"enable_{_kind}_sdp", f"{_kind}_sdp_enabled", _set, _get)
_set, _get = torch._C._set_math_sdp_allow_fp16_bf16_reduction, torch._C._get_math_sdp_allow_fp16_bf16_reduction
_switch("reduction", "allow_fp16_bf16_reduction_math_sdp", "fp16_bf16_reduction_math_sdp_allowed", _set, _get)


def is_flash_attention_available():
    """Whether flash attention was built, which is never the case."""
    return False


is_ck_sdpa_available = is_flash_attention_available


class SDPBackend(Enum):
    """The attention implementations that PyTorch has."""

    __module__ = "torch.nn.attention"
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    __index__ = __int__


class SDPAParams(types.SimpleNamespace):
    """The arguments of scaled_dot_product_attention."""

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa=False):
        super().__init__(
            query=query,
            key=key,
            value=value,
            attn_mask=attn_mask,
            dropout=dropout,
            is_causal=is_causal,
            enable_gqa=enable_gqa,
        )


def can_use_flash_attention(params, debug=False):
    """Whether the CUDA kernel can take these arguments, which is never the case."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Context manager that chooses attention kernels (deprecated: torch.nn.attention.sdpa_kernel)."""
    wanted = {"flash": enable_flash, "math": enable_math, "mem_efficient": enable_mem_efficient, "cudnn": enable_cudnn}
    old = {kind: getattr(torch._C, f"_get_{kind}_sdp_enabled")() for kind in wanted}
    try:
        for kind, enabled in wanted.items():
            getattr(torch._C, f"_set_sdp_use_{kind}")(enabled)
        yield {}
    finally:
        for kind, enabled in old.items():
            getattr(torch._C, f"_set_sdp_use_{kind}")(enabled)


def _preferred(kind):
    def preferred(backend=None):
        """The preferred library; setting another has no effect without CUDA."""
        if backend is not None:
            _libraries[kind] = backend
        return _libraries[kind]

    preferred.__name__ = preferred.__qualname__ = f"preferred_{kind}_library"
    return preferred


preferred_blas_library, preferred_linalg_library, preferred_rocm_fa_library = map(_preferred, _libraries)
