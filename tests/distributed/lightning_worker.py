"""Lightning's Trainer on two processes, which it starts itself."""

import sys

import lightning
import torch


class Model(lightning.LightningModule):
    """A line."""

    def __init__(self):
        super().__init__()
        self.layer, self.losses = torch.nn.Linear(4, 1), []

    def training_step(self, batch, index):
        x, y = batch
        loss = (self.layer(x) - y).square().mean()
        self.log("loss", loss, sync_dist=True)
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main(path):
    lightning.seed_everything(0)
    data = torch.utils.data.TensorDataset(
        torch.linspace(-1, 1, 128).reshape(32, 4), torch.linspace(1, 2, 32).reshape(32, 1)
    )
    model = Model()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=5,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        default_root_dir=path,
    )
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
    parameters = torch.cat([p.detach().flatten() for p in model.parameters()])
    every = [torch.empty_like(parameters) for _ in range(trainer.world_size)]
    torch.distributed.all_gather(every, parameters)
    if trainer.is_global_zero:
        found = {
            "world": trainer.world_size,
            "steps": trainer.global_step,
            "losses": model.losses,
            "strategy": type(trainer.strategy).__name__,
        }
        torch.save({**found, "equal": all(torch.equal(e, every[0]) for e in every)}, f"{path}/found")


if __name__ == "__main__":
    main(sys.argv[1])
