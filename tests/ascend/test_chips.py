"""What chips lack: functions, bfloat16, float32 products, infinity. The emulator refuses what people have reported."""

import re
from pathlib import Path

import pytest

from mindtorch_proxy.backends.ascend import chips

PROGRAM = Path(__file__).parent / "chip_programs.py"
TABLE = chips.rows(Path(chips.__file__).with_name("chips.tsv"))
TRAINING = """
import torch, warnings
from mindtorch_proxy.npu_probes import losses
warnings.simplefilter("ignore")
def model():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4))
torch.manual_seed(0)
model()  # the inputs are the numbers that follow the weights
given, options = (model, torch.rand(16, 8), torch.arange(16) % 4), dict(steps=8, lr=1e-2)
expected = losses(*given, "cpu", **options)
found = losses(*given, "npu", torch.{dtype}, **options)
print((expected - found).abs().max().item() < 0.02, expected[-1] < expected[0])
"""


@pytest.mark.parametrize(
    "name, family",
    [
        ("Ascend910B1", "910B"),
        ("Ascend910B4-1", "910B"),
        ("Ascend910_9391", "910_93"),
        ("Ascend910A", "910A"),
        ("Ascend910B (emulated)", "910A"),
        ("Ascend910ProB", "910A"),
        ("Ascend310P3", "310P"),
        ("Ascend310B4", "310B"),
        ("Ascend950PR", "950"),
        ("Ascend310", None),
    ],
)
def test_families(name, family):
    assert chips.family(name) == family


def test_every_line_of_the_table_can_be_read():
    assert len({(row.chip, row.function) for row in TABLE}) == len(TABLE) > 300
    for row in TABLE:
        assert row.confidence in ("stated", "low", "medium", "high") and row.supported in ("no", chips.LOWER)
        assert row.primitives and row.source and re.fullmatch(r"all|[a-z0-9 ]+", row.dtypes)


def test_substitutes_give_the_values_of_the_cpu(npu):
    said = npu(PROGRAM, EMULATED_CANN_SOC="Ascend310B4").splitlines()
    assert len(said) > 20 and not [line for line in said if not line.endswith(": True")]


@pytest.mark.parametrize(
    "soc, dtype", [("Ascend910A", "float32"), ("Ascend310P3", "float32"), ("Ascend310B4", "float16")]
)
def test_training(npu, tmp_path, soc, dtype):
    report = tmp_path / "report"
    program = TRAINING.replace("{dtype}", dtype)
    assert npu("-c", program, EMULATED_CANN_SOC=soc, EMULATED_CANN_REPORT=report) == "True tensor(True)"
    called = set(re.findall(r"aclnn\w+", report.read_text()))
    assert called and not called & {"aclnnApplyAdamWV2", "aclnnCrossEntropyLoss"}


def test_what_is_not_there_is_refused_by_a_sentence_that_names_the_chip(npu):
    program = """
import torch
x = torch.ones(2, 2, device="npu")
for f in (lambda: x @ x, lambda: x.bfloat16(), lambda: x.sort(), scaled):
    try: f(); print("no error")
    except Exception as e: print(type(e).__name__, e)
""".replace(
        "for f",
        """
def scaled():
    w = x.clone().requires_grad_()
    scaler, optimizer = torch.amp.GradScaler("npu"), torch.optim.SGD([w])
    scaler.scale(w.sum()).backward()
    scaler.step(optimizer)
for f""",
    )
    lines = npu("-c", program, EMULATED_CANN_SOC="Ascend310B4", ASCEND_LAUNCH_BLOCKING=1).splitlines()
    product, brain, ordered, scale = (line for line in lines if "Error" in line)
    assert product.startswith("NotImplementedError mm: no kernel for dtype torch.float32 on device npu: aclnnMm on Asc")
    assert brain.endswith("is not supported on device npu: Ascend310B4 (emulated) has no bfloat16")
    assert ordered.startswith("AcceleratorError") and "aclnnSort on Ascend310B4" in ordered and "medium: rep" in ordered
    assert scale.startswith("NotImplementedError GradScaler on device npu: Ascend310B4 (emulated) gives the largest")


def test_products_in_float16_are_said_once(npu):
    program = """
import torch, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    x = torch.full((2, 2), 300.0).npu()
    print((x @ x).flatten()[0].item(), torch.addmm(x, x, x).shape, len(seen), str(seen[0].message).split(":")[0])
"""
    said = npu("-c", program, EMULATED_CANN_SOC="Ascend910A")
    text = "Ascend910A (emulated) computes products of float32 matrices in float16"
    assert said == f"inf torch.Size([2, 2]) 1 {text}"


def test_a_table_of_the_user_s_replaces_lines(npu, tmp_path):
    table = tmp_path / "chips.tsv"
    lines = ["\t".join(chips.Limit._fields), "310B\taclnnMm\tMm\tyes\tall\thigh\tseen here"]
    table.write_text("\n".join(lines))
    program = "import torch; x = torch.ones(2, 2, device='npu'); print((x @ x).sum().item())"
    given = dict(EMULATED_CANN_SOC="Ascend310B4", EMULATED_CANN_CHIP=0)
    assert npu("-c", program, MINDTORCH_NPU_CHIP_TABLE=table, **given) == "8.0"
    done = npu("-c", program, check=False, **given)
    assert done.returncode == 1 and "aclnnMm on Ascend310B4" in done.stderr


def test_the_usual_chip_is_not_held_back(npu, tmp_path):
    report = tmp_path / "report"
    program = TRAINING.replace("{dtype}", "float32")
    assert npu("-c", program, EMULATED_CANN_REPORT=report) == "True tensor(True)"
    called = set(re.findall(r"aclnn\w+", report.read_text()))
    assert called >= {"aclnnApplyAdamWV2", "aclnnCrossEntropyLoss", "aclnnLayerNorm"}
