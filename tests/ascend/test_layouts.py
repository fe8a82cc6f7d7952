"""Strided operands where CANN refuses them: one retry with contiguous copies, remembered, and nothing else spoiled."""

import pytest

PROGRAM = """
import torch, mindtorch_proxy

torch.manual_seed(0)
h = torch.randn(4, 6)
d = h.npu()
steps = {
    "erf, refused": lambda x: torch.erf(x[:, ::2]),
    "erf, remembered": lambda x: torch.erf(x[:, ::2] * 2),
    "erf, another view of this layout": lambda x: torch.erf(x[:, 1::2]),
    "erf, contiguous": torch.erf,
    "exp, taken": lambda x: torch.exp(x[:, ::2]),
    "halves": lambda x: torch.cat([-x[:, 3:], x[:, :3]], 1),
    "columns of a view": lambda x: x.t()[torch.tensor([1, 2], device=x.device)],
    "batched product": lambda x: torch.stack([x, x]).transpose(1, 2) @ torch.stack([x, x]),
}
for name, step in steps.items():
    before = dict(mindtorch_proxy.report()["moves"])
    found = step(d)
    after = mindtorch_proxy.report()["moves"]
    keys = "retried with contiguous operands", "made contiguous"
    counted = [after.get(k, 0) - before.get(k, 0) for k in keys]
    print(name, torch.allclose(found.cpu(), step(h), atol=1e-6), *counted, sep=": ")
"""


@pytest.mark.parametrize("blocking", [0, 1])
def test_layouts_that_cann_refuses_are_copied(npu, tmp_path, blocking):
    program = tmp_path / "layouts.py"
    program.write_text(PROGRAM)
    said = npu(program, EMULATED_CANN_CONTIGUOUS="Erf", ASCEND_LAUNCH_BLOCKING=blocking)
    assert said.splitlines() == [
        "erf, refused: True: 1: 1",
        "erf, remembered: True: 0: 0",
        "erf, another view of this layout: True: 0: 1",
        "erf, contiguous: True: 0: 0",
        "exp, taken: True: 0: 0",
        "halves: True: 0: 2",
        "columns of a view: True: 0: 1",
        "batched product: True: 0: 1",
    ]


def test_an_error_of_another_kind_is_no_refusal(npu):
    program = "import torch\nx = torch.ones(4, 6).npu()\ny = x * x\ntry: torch.erf(x[:, ::2]).cpu()\n"
    program += "except torch.AcceleratorError as e: print(str(e).count('Call aclnnMul failed'))\n"
    program += "print(torch.erf(x[:, ::2]).sum().item() > 0)"
    assert npu("-c", program, EMULATED_CANN_FAIL="aclnnMul:1", EMULATED_CANN_DELAY=20).splitlines() == ["1", "True"]
