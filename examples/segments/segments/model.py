"""The network."""

import torch
from torch import nn


class Block(nn.Module):
    """A convolution with normalization, added to its input, and half the size."""

    def __init__(self, channels_in: int, channels: int, dropout: float) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.SiLU(inplace=True),
            nn.Dropout2d(dropout),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.skip = nn.Conv2d(channels_in, channels, 1) if channels_in != channels else nn.Identity()
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(torch.relu(self.body(x) + self.skip(x)))


class Reader(nn.Module):
    """Reads the digit of pictures of shape (N, 1, 16, 16): logits of shape (N, 10)."""

    def __init__(self, channels: int = 16, dropout: float = 0.1) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(1, channels, dropout), Block(channels, 2 * channels, dropout))
        self.head = nn.Linear(2 * channels * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(x).flatten(1))
