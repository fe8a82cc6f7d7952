"""A plain PyTorch and transformers program: train a tiny BERT to tell which of two token ids is more frequent.

python -m mindtorch_proxy examples/train_bert.py
"""

import sys
import tempfile
import time

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup


def make_data(count, length=16):
    """Sequences of the ids 1 and 2, labelled 1 where 2 is in the majority."""
    ids = torch.randint(1, 3, (count, length))
    return TensorDataset(ids, (ids.sum(1) > 1.5 * length).long())


def accuracy(model, loader, device):
    model.eval()
    with torch.no_grad():
        right = sum(
            (model(ids.to(device)).logits.argmax(-1) == labels.to(device)).sum().item() for ids, labels in loader
        )
    return right / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cpu"
    print(f"torch {torch.__version__} from {torch.__file__}, device {device}")
    config = BertConfig(
        vocab_size=8,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        num_labels=2,
    )
    model = BertForSequenceClassification(config).to(device)
    train, test = DataLoader(make_data(512), batch_size=32, shuffle=True), DataLoader(make_data(128), batch_size=64)
    epochs = 4
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(optimizer, 4, epochs * len(train))
    print(
        f"{sum(p.numel() for p in model.parameters())} parameters, accuracy before training "
        f"{accuracy(model, test, device):.2f}"
    )

    for epoch in range(epochs):
        model.train()
        started, total = time.perf_counter(), 0.0
        for ids, labels in train:
            loss = model(input_ids=ids.to(device), labels=labels.to(device)).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(
            f"epoch {epoch + 1}: loss {total / len(train):.4f}, "
            f"{(time.perf_counter() - started) / len(train) * 1000:.0f} ms a step"
        )

    reached = accuracy(model, test, device)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = BertForSequenceClassification.from_pretrained(folder).to(device)
    print(f"accuracy after training {reached:.2f}, saved and loaded again {accuracy(again, test, device):.2f}")
    return 0 if reached > 0.85 and reached == accuracy(again, test, device) else 1


if __name__ == "__main__":
    sys.exit(main())
