"""What `accelerate launch` starts: a model that two processes train, on the CPU or what there is (WORKER_DEVICE)."""

import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def main(path):
    accelerator = Accelerator(cpu=os.environ.get("WORKER_DEVICE", "cpu") == "cpu", gradient_accumulation_steps=2)
    set_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(
        torch.linspace(-1, 1, 64).reshape(16, 4), torch.linspace(1, 2, 16).reshape(16, 1)
    )
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    seen, losses = [], []
    for _ in range(10):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = (model(x) - y).square().mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            seen.append(len(accelerator.gather_for_metrics(y)))
        losses.append(accelerator.reduce(loss.detach(), "mean").item())
    accelerator.wait_for_everyone()
    parameters = torch.cat([p.detach().flatten() for p in model.parameters()])
    every = accelerator.gather(parameters[None])
    if accelerator.is_main_process:
        torch.save(
            {
                "processes": accelerator.num_processes,
                "type": str(accelerator.distributed_type),
                "device": str(accelerator.device),
                "model": type(model).__name__,
                "seen": sum(seen),
                "losses": losses,
                "equal": bool((every == every[0]).all()),
            },
            path,
        )
    accelerator.end_training()


if __name__ == "__main__":
    main(sys.argv[1])
