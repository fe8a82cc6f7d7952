"""Programs that choose their device by themselves: python training_programs.py NAME FOLDER.

Each prints the device and the losses.
"""

import os
import sys

import torch


def model():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    size = dict(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return LlamaForCausalLM(LlamaConfig(**size, max_position_embeddings=32))


def data():
    torch.manual_seed(1)
    return torch.randint(64, (16, 12))


def accelerate(folder):
    """Accelerator.prepare, four steps with clipping."""
    from accelerate import Accelerator

    accelerator, m = Accelerator(), model()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data()), batch_size=4)
    m, optimizer, loader = accelerator.prepare(m, torch.optim.AdamW(m.parameters(), lr=1e-2), loader)
    losses = []
    for (ids,) in loader:
        loss = m(input_ids=ids, labels=ids).loss
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(m.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    torch.save(accelerator.unwrap_model(m).state_dict(), os.path.join(folder, "state.pt"))
    return accelerator.device, losses


def trainer(folder):
    """transformers' Trainer, four steps."""
    from transformers import Trainer, TrainingArguments

    args = TrainingArguments(
        folder,
        per_device_train_batch_size=4,
        num_train_epochs=1,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        seed=0,
    )
    t = Trainer(model(), args, train_dataset=[{"input_ids": row, "labels": row} for row in data()])
    t.train()
    return t.args.device, [row["loss"] for row in t.state.log_history if "loss" in row]


def peft(folder):
    """LoRA, four steps, saved."""
    from peft import LoraConfig, get_peft_model

    device = "npu" if torch.accelerator.is_available() else "cpu"
    m = get_peft_model(model(), LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=True)).to(device)
    optimizer, losses = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=1e-2), []
    for ids in data().to(device).split(4):
        loss = m(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    m.save_pretrained(folder)
    return next(m.parameters()).device, losses


if __name__ == "__main__":
    where, losses = {"accelerate": accelerate, "trainer": trainer, "peft": peft}[sys.argv[1]](sys.argv[2])
    print("FOUND", where, *losses)
