import pytest
import torch

from segments.data import LIT, Digits, glyph


def test_glyphs_differ():
    assert len({tuple(glyph(digit).flatten().tolist()) for digit in range(10)}) == 10 == len(LIT)


def test_pictures_are_the_same_every_time():
    digits = Digits(20, noise=0.5, seed=3)
    x, y = digits[7]
    assert x.shape == (1, 16, 16) and x.dtype == torch.float32 and 0 <= y < 10
    torch.testing.assert_close(digits[7][0], x)
    assert not torch.equal(digits[8][0], x)


def test_the_end():
    assert len(list(Digits(3, noise=0.0, seed=0))) == 3
    with pytest.raises(IndexError):
        Digits(3, noise=0.0, seed=0)[3]
