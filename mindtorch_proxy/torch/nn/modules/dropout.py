"""Dropout layers."""

from .. import functional as F
from .module import Module
from .utils import _layer

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


Dropout = _layer("Dropout", lambda self, input: F.dropout(input, self.p, self.training, self.inplace), base=_DropoutNd)
Dropout1d = _layer("Dropout1d", lambda self, input: F.dropout1d(input, self.p, self.training, self.inplace), base=_DropoutNd)
Dropout2d = _layer("Dropout2d", lambda self, input: F.dropout2d(input, self.p, self.training, self.inplace), base=_DropoutNd)
Dropout3d = _layer("Dropout3d", lambda self, input: F.dropout3d(input, self.p, self.training, self.inplace), base=_DropoutNd)
AlphaDropout = _layer("AlphaDropout", lambda self, input: F.alpha_dropout(input, self.p, self.training), base=_DropoutNd)
FeatureAlphaDropout = _layer("FeatureAlphaDropout", lambda self, input: F.feature_alpha_dropout(input, self.p, self.training), base=_DropoutNd)
