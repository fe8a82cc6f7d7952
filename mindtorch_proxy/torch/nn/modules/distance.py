"""Distances between vectors."""

from .. import functional as F
from .module import Module
from .utils import _layer

__all__ = ["PairwiseDistance", "CosineSimilarity"]

CosineSimilarity = _layer("CosineSimilarity(dim=1, eps=1e-8)", lambda self, x1, x2: F.cosine_similarity(x1, x2, self.dim, self.eps))


class PairwiseDistance(Module):
    """The p-norm of the difference of two vectors."""

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
