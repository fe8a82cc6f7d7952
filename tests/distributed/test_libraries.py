"""Libraries that train on several processes: transformers' models and Trainer, accelerate."""

import importlib.util
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
needs_accelerate = pytest.mark.skipif(
    importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed"
)


@pytest.mark.nightly
@pytest.mark.slow
def test_bert_on_two_processes_is_bert_with_the_whole_batch(ranks):
    pytest.importorskip("transformers")
    (first, whole, distance, buckets), (second, other, other_distance, _) = ranks("bert_programs", ["bert"], 2)["bert"]
    assert buckets >= 3 and whole == other
    assert max(distance, other_distance) < 1e-4
    assert max(abs((a + b) / 2 - w) for a, b, w in zip(first, second, whole)) < 1e-4
    assert (
        len({round(loss, 4) for loss in whole}) > 25
    )  # the labels are drawn: there is nothing to learn, but the numbers move


@pytest.mark.slow
@needs_accelerate
def test_accelerate_launch(launch, finished, tmp_path):
    options = [
        "--multi_gpu",
        "--num_processes=2",
        "--num_machines=1",
        "--mixed_precision=no",
        "--dynamo_backend=no",
    ]  # on the CPU, since the script says so
    status, output = finished(
        launch(*options, HERE / "accelerate_worker.py", tmp_path / "found", module="accelerate.commands.launch")
    )
    assert status == 0, output
    found = torch.load(tmp_path / "found")
    assert (found["processes"], found["type"], found["model"]) == (
        2,
        "DistributedType.MULTI_CPU",
        "DistributedDataParallel",
    )
    assert found["seen"] == 160 and found["equal"] and found["losses"][-1] < 0.01 * found["losses"][0]


@pytest.mark.slow
@needs_accelerate
def test_trainer(launch, finished, tmp_path):
    pytest.importorskip("transformers")
    status, output = finished(launch("--standalone", "--nproc-per-node=2", HERE / "trainer_worker.py", tmp_path), 150)
    assert status == 0, output
    found = torch.load(tmp_path / "found.pt")
    assert (found["world"], found["wrapped"], found["steps"]) == (2, "DistributedDataParallel", 12)
    assert found["equal"] and sum(found["losses"][-4:]) < sum(found["losses"][:4])
    assert len(list(tmp_path.glob("checkpoint-*/model.safetensors"))) == 3


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("lightning") is None, reason="lightning is not installed")
def test_lightning(launch, finished, tmp_path):
    status, output = finished(
        launch(HERE / "lightning_worker.py", tmp_path, module="mindtorch_proxy")
    )  # it starts the second process itself
    assert status == 0, output
    found = torch.load(tmp_path / "found")
    assert (found["world"], found["strategy"], found["steps"]) == (2, "DDPStrategy", 20)
    assert found["equal"] and found["losses"][-1] < 0.1 * found["losses"][0]
