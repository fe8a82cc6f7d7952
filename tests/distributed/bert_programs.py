"""A small BERT, trained by several processes and by one with the whole batch."""

import torch
from torch.nn.parallel import DistributedDataParallel

STEPS, SHARE = 50, 4


def model():
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "vocab_size": 60,
        "max_position_embeddings": 16,
    }
    return BertForSequenceClassification(
        BertConfig(**sizes, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    )


def batch(step, rows):
    """Rows of step's batch."""
    generator = torch.Generator().manual_seed(100 + step)
    inputs = torch.randint(0, 60, (2 * SHARE, 10), generator=generator)
    return {"input_ids": inputs[rows], "labels": (inputs.sum(1) % 3)[rows]}


def train(model, rows):
    """Losses of all steps."""
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(**batch(step, rows)).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def bert(rank, size):
    """(losses of this process's share, those of one process with the whole, the largest difference of the parameters in
    the end).
    """
    shared = DistributedDataParallel(model(), bucket_cap_mb=0.02)
    mine = train(shared, slice(rank * SHARE, (rank + 1) * SHARE))
    buckets = len(shared.reducer.buckets)
    alone = model()
    whole = train(alone, slice(0, 2 * SHARE))
    distance = max((p - q).abs().max().item() for p, q in zip(shared.module.parameters(), alone.parameters()))
    return mine, whole, distance, buckets
