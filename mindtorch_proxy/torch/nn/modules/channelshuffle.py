"""Mixing the channels of groups."""

from .. import functional as F
from .utils import _layer

__all__ = ["ChannelShuffle"]

ChannelShuffle = _layer("ChannelShuffle(groups)", lambda self, input: F.channel_shuffle(input, self.groups), "groups=")
