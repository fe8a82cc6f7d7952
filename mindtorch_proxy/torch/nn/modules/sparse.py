"""Embedding tables."""

import torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _EmbeddingBase(Module):
    def _set_weight(self, rows, columns, padding_idx, weight, requires_grad, device, dtype):
        """Check padding_idx, and make the weight or take the given one."""
        if padding_idx is not None:
            if not -rows <= padding_idx < rows and padding_idx != 0:
                raise AssertionError("padding_idx must be within num_embeddings")
            padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = Parameter(torch.empty((rows, columns), device=device, dtype=dtype), requires_grad=requires_grad)
            self.reset_parameters()
        else:
            if list(weight.shape) != [rows, columns]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self):
        """Draw new initial values; the padding row is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _shown(self, *names):
        """repr of the attributes that are not the usual ones."""
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False, "mode": ...}
        return "".join(f", {n}={getattr(self, n)!r}" for n in names if getattr(self, n) != usual[n])

    @classmethod
    def _from_weight(cls, embeddings, **kwargs):
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(num_embeddings=rows, embedding_dim=columns, _weight=embeddings, **kwargs)


class Embedding(_EmbeddingBase):
    """A table of vectors, looked up by index."""

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"]

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._set_weight(num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype)
        self.sparse = sparse

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}" + self._shown("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
        """An Embedding with this weight."""
        return cls._from_weight(
            embeddings, _freeze=freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
        )


class EmbeddingBag(_EmbeddingBase):
    """Sums, means or maxima of bags of embeddings."""

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse", "include_last_offset", "padding_idx"]

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._set_weight(num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}" + self._shown("max_norm", "norm_type", "scale_grad_by_freq", "mode", "padding_idx")

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """An EmbeddingBag with this weight."""
        bag = cls._from_weight(
            embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
