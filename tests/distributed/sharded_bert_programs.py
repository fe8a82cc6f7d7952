"""A tiny BERT, sharded over the ranks and whole on one."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from transformers import BertConfig, BertForSequenceClassification


def make():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForSequenceClassification(config)


def train(model, tokens, labels, steps=50):
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False), []
    for _ in range(steps):
        loss = model(input_ids=tokens, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / dist.get_world_size())
    return losses


def bert(rank, size):
    """The losses of 50 steps: of one process with the whole batch, under fully_shard, and in
    FullyShardedDataParallel.
    """
    tokens, labels = torch.arange(size * 2 * 8).view(size * 2, 8) * 7 % 50, torch.arange(size * 2) % 2
    mine = slice(rank * 2, rank * 2 + 2)
    model = make()
    for layer in model.bert.encoder.layer:
        fully_shard(layer)
    sharded = train(fully_shard(model), tokens[mine], labels[mine])
    flat = train(FullyShardedDataParallel(make(), use_orig_params=True), tokens[mine], labels[mine])
    return train(make(), tokens, labels), sharded, flat
