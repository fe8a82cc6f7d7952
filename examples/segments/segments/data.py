"""Pictures of seven-segment digits, drawn on demand."""

import torch
from torch.utils.data import Dataset

SIZE = 16
# (rows, columns) of each segment of a digit that is 11 rows high and 7 columns wide
SEGMENTS = {
    "top": (slice(0, 1), slice(1, 6)),
    "upper left": (slice(1, 5), slice(0, 1)),
    "upper right": (slice(1, 5), slice(6, 7)),
    "middle": (slice(5, 6), slice(1, 6)),
    "lower left": (slice(6, 10), slice(0, 1)),
    "lower right": (slice(6, 10), slice(6, 7)),
    "bottom": (slice(10, 11), slice(1, 6)),
}
LIT = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]


def glyph(digit: int) -> torch.Tensor:
    """Return the picture of a digit, of shape (11, 7)."""
    picture = torch.zeros(11, 7)
    for lit, (rows, columns) in zip(LIT[digit], SEGMENTS.values()):
        if lit == "1":
            picture[rows, columns] = 1.0
    return picture


class Digits(Dataset):
    """`count` pictures of shape (1, 16, 16) with their digits. The same seed and index give the same picture."""

    def __init__(self, count: int, noise: float, seed: int) -> None:
        self.count, self.noise, self.seed = count, noise, seed
        self.glyphs = torch.stack([glyph(digit) for digit in range(10)])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if not 0 <= index < self.count:
            raise IndexError(index)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        digit = int(torch.randint(10, (), generator=generator))
        row, column = torch.randint(0, 6, (2,), generator=generator).tolist()
        picture = self.noise * torch.randn(SIZE, SIZE, generator=generator)
        picture[row : row + 11, column : column + 7] += self.glyphs[digit]
        return picture.unsqueeze(0), digit
