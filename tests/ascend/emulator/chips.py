"""What the emulated chip cannot do: functions that it refuses, float32 products in float16 or HF32, saturation.

EMULATED_CANN_SOC names the chip. The functions are those of backends/ascend/chips.tsv that people have reported;
EMULATED_CANN_CHIP=stated adds those that CANN's pages state, EMULATED_CANN_CHIP=0 takes all away. Chips without
bfloat16 refuse it, and give the largest number for an overflow in float16 and 0 for NaN. EMULATED_CANN_HF32=1 rounds
the operands of convolutions that CANN may compute in HF32.
"""

import os
import re
from pathlib import Path

import rules
import torch

TABLE = Path(__file__).resolve().parents[3] / "backends" / "ascend" / "chips.tsv"
FAMILIES = {"910A": r"Ascend910(A|B$|Pro)", "310P": "Ascend310P", "310B": "Ascend310B", "910_93": "Ascend910_93"}
SOC, CHIP = os.environ.get("EMULATED_CANN_SOC", "Ascend910B1"), os.environ.get("EMULATED_CANN_CHIP", "reported")
FAMILY = next((name for name, pattern in FAMILIES.items() if re.match(pattern, SOC)), "910B")
CONFIDENCE = {"0": (), "reported": ("medium", "high"), "stated": ("medium", "high", "stated")}[CHIP]
OLD = FAMILY in ("910A", "310P", "310B")
DTYPES = {"f32": torch.float32, "f16": torch.float16}
KEPT = {"InplaceCopy", "InplaceFillScalar", "InplaceFillTensor", "InplaceMaskedFillScalar", "InplaceMaskedFillTensor"}
REFUSED, LOWERED = {}, set()
for _line in TABLE.read_text().splitlines()[1:]:
    _chip, _function, _, _supported, _dtypes, _confidence, _ = _line.split("\t")
    if _chip == FAMILY and _confidence in CONFIDENCE:
        if _supported == "no":
            REFUSED[_function[5:]] = _dtypes
        else:
            LOWERED.add(_function[5:])


def check(name, tensors):
    """Raise rules.Refused for what the chip does not have."""
    if OLD and CHIP != "0" and any(t.dtype is torch.bfloat16 for t in tensors):
        raise rules.Refused(f"aclnn{name}: {SOC} has no bfloat16")
    dtypes = REFUSED.get(name)
    if dtypes == "all" or dtypes and tensors and any(tensors[0].dtype is DTYPES[d] for d in dtypes.split()):
        raise rules.Refused(f"aclnn{name} is not supported on {SOC}" + ("" if dtypes == "all" else f" for {dtypes}"))


def hf32(t):
    """Round float32 to the 11 bits of HF32's mantissa, to the nearest."""
    bits = t.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def operands(name, args, cube):
    """Return the arguments of a call as the chip's cube unit gets them; cube: the type of computation, the last one."""
    if name in LOWERED:
        return [lowered(a) for a in args]
    if os.environ.get("EMULATED_CANN_HF32") == "1" and name == "Convolution" and cube == 3:
        return [hf32(a) if isinstance(a, torch.Tensor) and a.dtype is torch.float32 else a for a in args]
    return args


def lowered(a):
    """Round a float32 tensor to float16 and back."""
    return a.half().float() if isinstance(a, torch.Tensor) and a.dtype is torch.float32 else a


def result(name, value):
    """Return a value as the chip writes it."""
    if not isinstance(value, torch.Tensor) or CHIP == "0":
        return value
    value = lowered(value) if name in LOWERED else value
    if OLD and value.dtype is torch.float16 and name not in KEPT:
        return value.nan_to_num(nan=0.0)
    return value
