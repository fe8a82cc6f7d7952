import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

from segments.training import Trainer

ROOT = Path(__file__).parents[1]


@pytest.fixture
def config(tmp_path):
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["output"] = str(tmp_path)
    config["data"] |= {"train": 128, "test": 50, "workers": 0}
    config["model"]["channels"] = 4
    config["training"] |= {"epochs": 2, "batch_size": 32}
    return config


def test_the_loss_falls(config):
    first, last = Trainer(config).fit()
    assert last["loss"] < first["loss"]


def test_resuming_gives_the_same_weights(config):
    whole = Trainer(config)
    whole.fit()
    begun = Trainer(config)
    begun.fit(stop_after=1)
    resumed = Trainer(config)
    resumed.resume()
    resumed.fit()
    for (name, a), b in zip(whole.model.state_dict().items(), resumed.model.state_dict().values()):
        torch.testing.assert_close(a, b, msg=name)


def test_bfloat16(config):
    config["training"]["precision"] = "bfloat16"
    assert all(torch.tensor(row["loss"]).isfinite() for row in Trainer(config).fit())


def test_the_command(config, tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "train.py", "--config", tmp_path / "config.yaml", "--set", "data.workers=2"]
    subprocess.run(command, cwd=ROOT, check=True)
    assert [row["epoch"] for row in json.loads((tmp_path / "metrics.json").read_text())] == [1, 2]
