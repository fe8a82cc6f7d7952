"""Random numbers that the device draws (MINDTORCH_NPU_RANDOM=device): states, distributions, dropout without copies."""

import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "random_programs.py"
TRUE = (
    "again, of the device, not the host's, forked, copy, offset, uniform, normal, bernoulli, integers, exponential, "
    "cauchy, complex, dropout, torch.float16, torch.bfloat16, checkpoint, twice"
)
EXACT = [
    "state 16 True",
    "own 5 12 True",
    "refused offset must be a multiple of 4",
    "refused RNG state is wrong size",
    "refused Expected a 'cpu' device type for generator but found 'npu'",
    "default npu:0 1",
    "of the host [0, 1, 2, 3, 4] True",
    "empty torch.Size([0, 3])",
    "multinomial [[1]]",
    "copies 0",
]


def test_the_device_draws(npu):
    said = npu(PROGRAM, MINDTORCH_NPU_RANDOM="device").splitlines()
    assert [line for line in said if line in EXACT] == EXACT, said
    others = [line for line in said if line not in EXACT]
    names = [re.sub(r"( True)+$", "", line) for line in others]
    assert set(names) == set(TRUE.split(", ")), said


def test_another_place_is_refused(npu):
    done = npu("-c", "import torch; torch.rand(2, device='npu')", MINDTORCH_NPU_RANDOM="chip", check=False)
    assert done.returncode == 1 and "MINDTORCH_NPU_RANDOM=chip: expected 'host' or 'device'" in done.stderr


AS_ON_THE_CPU = """
import torch
torch.manual_seed(1)
a = torch.randn(3, device="npu")
torch.npu.manual_seed(1)
print(torch.equal(a.cpu(), torch.randn(3)), len(torch.npu.get_rng_state()))
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    found = []
    for device in ("cpu", "npu"):
        torch.manual_seed(2)
        found.append(torch.dropout(torch.full((99,), 3, dtype=dtype, device=device), 0.3, True).cpu())
    print(torch.equal(*found))
"""


@pytest.mark.parametrize("place", ["host", ""])
def test_by_default_the_numbers_are_those_of_the_cpu(npu, place):
    assert npu("-c", AS_ON_THE_CPU, MINDTORCH_NPU_RANDOM=place).split() == ["True", "5056", "True", "True", "True"]
