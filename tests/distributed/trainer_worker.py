"""What torchrun starts: transformers' Trainer, on the CPU or on what there is (WORKER_DEVICE)."""

import os
import sys

import bert_programs
import torch
from transformers import Trainer, TrainingArguments


class Rows(torch.utils.data.Dataset):
    """The rows of some batches."""

    def __init__(self):
        batches = [bert_programs.batch(step, slice(None)) for step in range(4)]
        self.rows = [{k: b[k][i] for k in b} for b in batches for i in range(len(b["labels"]))]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def main(folder):
    arguments = TrainingArguments(
        folder,
        use_cpu=os.environ.get("WORKER_DEVICE", "cpu") == "cpu",
        per_device_train_batch_size=4,
        num_train_epochs=3,
        learning_rate=0.02,
        optim="sgd",
        report_to=[],
        disable_tqdm=True,
        save_strategy="epoch",
        logging_steps=1,
        seed=0,
    )
    trainer = Trainer(model=bert_programs.model(), args=arguments, train_dataset=Rows(), eval_dataset=Rows())
    trainer.train()
    logs = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    evaluation = trainer.evaluate()
    every = trainer.accelerator.gather(torch.cat([p.detach().flatten() for p in trainer.model.parameters()])[None])
    if trainer.is_world_process_zero():
        found = {
            "world": arguments.world_size,
            "device": str(trainer.model.device),
            "wrapped": type(trainer.model_wrapped).__name__,
            "losses": logs,
            "steps": trainer.state.global_step,
        }
        torch.save(
            {**found, "equal": bool((every == every[0]).all()), "evaluation": evaluation["eval_loss"]},
            f"{folder}/found.pt",
        )
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
