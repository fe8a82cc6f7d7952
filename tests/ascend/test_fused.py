"""Functions that one aclnn function computes: which ran, the CPU's values and gradients, second derivatives, arguments
that do not fit.
"""

import json
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "fused_programs.py"
FLASH = {"FlashAttentionScore": 1, "FlashAttentionScoreGrad": 1}
RAN = {
    "attention": FLASH,
    "attention in float16": FLASH,
    "causal": FLASH,
    "masked": FLASH,
    "groups": FLASH,
    "rows first": FLASH,
    "added mask": {},
    "attention twice differentiated": {"FlashAttentionScore": 1},
    "cross entropy": {"CrossEntropyLoss": 3, "CrossEntropyLossGrad": 3},
    "cross entropy twice differentiated": {"CrossEntropyLoss": 1},
    "smoothed cross entropy": {},
    "layer norm": {"LayerNormGradExt": 1},
    "rms norm": {"RmsNorm": 1, "RmsNormGrad": 1},
    "adam": {},  # writes in place: counted below
    "swiglu": {"Swiglu": 1, "SwigluGrad": 1},
    "padded volumes": {"ReplicationPad3D": 1, "ReplicationPad3DGrad": 1},
    "rotary": {"RotaryPositionEmbedding": 1},
    "npu_fusion_attention": FLASH,
}
# gradients that are one call each, under the name of their primitive: how often it ran
GRADIENTS = {
    "ConvolutionGrad": 5,
    **dict.fromkeys(("HardtanhGrad", "SoftplusGradExt", "LeakyReLUGradExt", "EluGradExt"), 1),
    **dict.fromkeys(("GluGrad", "HShrinkGrad", "SoftShrinkGrad", "HSigmoidGrad", "MishGradExt", "ThresholdGrad"), 1),
    **{"GridSampler2DGrad": 3, "GridSampler3DGrad": 1},
    **dict.fromkeys(("MSELossGradExt", "SmoothL1LossGrad", "SoftMarginLossGrad", "BinaryCrossEntropyGrad"), 3),
    "BinaryCrossEntropyWithLogitsBackward": 3,
    **dict.fromkeys(("MaxPoolGradWithIndices", "AvgPool2DGrad", "AvgPool3DGradExt"), 1),
    **dict.fromkeys(("BatchNormGradExt", "GroupNormGrad"), 1),
}
RAN |= {name: {name: calls} for name, calls in GRADIENTS.items()}
RAN["activations twice differentiated"] = {"EluGradExt": 1, "SoftplusGradExt": 2}
KERNELS = set().union(*RAN.values())


@pytest.fixture(scope="module")
def found(npu, tmp_path_factory):
    """({case: (what went wrong, primitives that ran)}, {aclnn function: calls}), of one process."""
    report = tmp_path_factory.mktemp("fused") / "report"
    out = npu(PROGRAMS, EMULATED_CANN_REPORT=report)
    called = {row["function"]: row["calls"] - row["failed"] for row in map(json.loads, report.read_text().splitlines())}
    return json.loads(next(line for line in out.splitlines() if line.startswith("FOUND"))[5:]), called


@pytest.mark.parametrize("name", RAN)
def test_one_kernel_computes_the_cpu_s_values(name, found):
    wrong, ran = found[0][name]
    assert not wrong
    assert {kernel: n for kernel, n in ran.items() if kernel in KERNELS} == RAN[name]


def test_adam_is_one_call_for_each_parameter(found):
    assert found[1]["aclnnApplyAdamWV2"] == 6
