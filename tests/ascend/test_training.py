"""Libraries train on the emulated NPU: they choose it by themselves, losses are those of the CPU, checkpoints load
everywhere.
"""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent / "training_programs.py"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_bert.py"


def found(text):
    _, where, *losses = next(line for line in text.splitlines() if line.startswith("FOUND")).split()
    return where, list(map(float, losses))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accelerate", "trainer", "peft"])
def test_a_library_trains(name, npu, python, tmp_path):
    wanted = "accelerate" if name == "trainer" else name
    if importlib.util.find_spec(wanted) is None:
        pytest.skip(f"no {wanted}")
    folders = [tmp_path / d for d in ("npu", "cpu")]
    for folder in folders:
        folder.mkdir()
    there, losses = found(npu(PROGRAM, name, folders[0], HF_HUB_OFFLINE=1))
    here, expected = found(python("-m", "mindtorch_proxy", PROGRAM, name, folders[1], HF_HUB_OFFLINE=1))
    assert there.startswith("npu") and here == "cpu" and len(losses) == 4
    assert losses == pytest.approx(expected, rel=2e-4)


def test_a_checkpoint_written_on_an_npu_loads_on_the_cpu_and_in_real_torch(npu, python, oracle_python, tmp_path):
    path = tmp_path / "c.pt"
    program = "import torch; m = torch.nn.Linear(3, 2).npu(); x = torch.arange(6., device='npu'); "
    npu("-c", program + f"torch.save({{'m': m.state_dict(), 'x': x.view(2, 3).t(), 'b': x.bfloat16()}}, {str(path)!r})")
    load = f"import torch; c = torch.load({str(path)!r}, map_location='cpu'); "
    load += (
        "print(c['m']['weight'].shape, c['x'].tolist(), c['b'].dtype, {t.device.type for t in (*c['m'].values(), "
        "c['x'], c['b'])})"
    )
    expected = "torch.Size([2, 3]) [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] torch.bfloat16 {'cpu'}"
    assert python("-m", "mindtorch_proxy", "-c", load) == expected
    assert subprocess.run([oracle_python, "-c", load], capture_output=True, text=True).stdout.strip() == expected


@pytest.mark.slow
def test_the_example_trains_as_on_the_cpu(npu, python):
    def losses(text):
        return list(map(float, re.findall(r"loss ([\d.]+)", text)))

    if importlib.util.find_spec("transformers") is None:
        pytest.skip("no transformers")
    on_npu, on_cpu = npu(EXAMPLE), python("-m", "mindtorch_proxy", EXAMPLE)
    assert "device npu" in on_npu and "device cpu" in on_cpu
    assert losses(on_npu) == pytest.approx(losses(on_cpu), abs=2e-4) and len(losses(on_npu)) == 4
