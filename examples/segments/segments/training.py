"""Training, evaluation and checkpoints."""

import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from .data import Digits
from .model import Reader


def device_of() -> torch.device:
    """Return the accelerator, or the CPU where there is none."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@torch.no_grad()
def accuracy(model: Reader, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    right = sum((model(x.to(device)).argmax(-1) == y.to(device)).sum().item() for x, y in loader)
    return right / len(loader.dataset)


class Trainer:
    """Trains a Reader as a configuration says (config.yaml has all its entries)."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, data, training = config, config["data"], config["training"]
        torch.manual_seed(config["seed"])
        self.device = device_of()
        self.output = Path(config["output"])
        pinned = self.device.type == "cuda"
        self.train_loader = DataLoader(
            Digits(data["train"], data["noise"], seed=1),
            training["batch_size"],
            shuffle=True,
            num_workers=data["workers"],
            pin_memory=pinned,
            drop_last=True,
        )
        self.test_loader = DataLoader(Digits(data["test"], data["noise"], seed=2), 250)
        self.model = Reader(**config["model"]).to(self.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=training["learning_rate"], weight_decay=training["weight_decay"]
        )
        steps = training["epochs"] * len(self.train_loader)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=training["learning_rate"], total_steps=steps
        )
        self.epoch, self.history = 0, []

    def step(self, x: torch.Tensor, y: torch.Tensor) -> float:
        training = self.config["training"]
        half = training["precision"] == "bfloat16"
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=half):
            loss = F.cross_entropy(self.model(x), y, label_smoothing=0.05)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), training["clip"])
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def fit(self, stop_after: int | None = None) -> list[dict[str, float]]:
        """Train the epochs that are left, up to stop_after. Return [{"epoch", "loss", "accuracy"}] of all."""
        while self.epoch < (stop_after or self.config["training"]["epochs"]):
            self.model.train()
            torch.manual_seed(self.config["seed"] + self.epoch)  # the same order after --resume
            losses = [self.step(x.to(self.device), y.to(self.device)) for x, y in self.train_loader]
            self.epoch += 1
            row = {
                "epoch": self.epoch,
                "loss": sum(losses) / len(losses),
                "accuracy": accuracy(self.model, self.test_loader, self.device),
            }
            self.history.append(row)
            print(f"epoch {self.epoch}: loss {row['loss']:.3f}, accuracy {row['accuracy']:.3f}", flush=True)
            self.save()
        return self.history

    def save(self) -> None:
        self.output.mkdir(parents=True, exist_ok=True)
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
        torch.save({**parts, "epoch": self.epoch, "history": self.history}, self.output / "last.pt")
        (self.output / "metrics.json").write_text(json.dumps(self.history, indent=1))

    def resume(self) -> None:
        kept = torch.load(self.output / "last.pt", map_location=self.device, weights_only=True)
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(kept[name])
        self.epoch, self.history = kept["epoch"], kept["history"]
