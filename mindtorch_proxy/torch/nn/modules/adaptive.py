"""Adaptive softmax."""

import itertools
from collections import namedtuple
from collections.abc import Sequence

import torch
from torch import Tensor

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """An efficient softmax over many classes, ordered from the most to the least frequent.

    Classes below cutoffs[0] are part of the head. The others form clusters between the cutoffs, whose hidden size
    shrinks by div_value from one cluster to the next. The input is (N, in_features) with targets (N), or (in_features)
    with a scalar target; the result is (output, loss).

    cutoffs must be increasing unique integers between 1 and n_classes - 1; otherwise ValueError is raised.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        kwargs = {"device": device, "dtype": dtype}
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = cutoffs + [n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kwargs)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **kwargs),
                    Linear(hidden, stop - start, bias=False, **kwargs),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new initial values for the head and all clusters."""
        self.head.reset_parameters()
        for inner, outer in self.tail:
            inner.reset_parameters()
            outer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() == 1
        if batched and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, "
                f"but found inputs with size {input_.size()}"
            )
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        used = 0
        output = input.new_zeros(target.size(0))
        index = target.new_empty(target.size(0))  # column of the head that each row needs
        for i, (start, stop) in enumerate(itertools.pairwise([0] + self.cutoffs)):
            mask = (target >= start) & (target < stop)
            rows = mask.nonzero().squeeze()
            if rows.numel() == 0:
                continue
            if i == 0:
                index.index_copy_(0, rows, target[mask])
            else:
                logprob = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                index.index_fill_(0, rows, self.shortlist_size + i - 1)
                output.index_copy_(0, rows, logprob.gather(1, (target[mask] - start).unsqueeze(1)).squeeze(1))
            used += rows.numel()
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        output += F.log_softmax(self.head(input), dim=1).gather(1, index.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        clusters = [
            F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1)
            for i, tail in enumerate(self.tail)
        ]
        return torch.cat([head[:, : self.shortlist_size], *clusters], dim=1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes, of shape (N, n_classes), for an input (N, in_features)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row, of shape (N).

        The clusters are computed only for the rows where the head's maximum is a cluster.
        """
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        rest = output >= self.shortlist_size
        if rest.any():
            output[rest] = torch.argmax(self._get_full_log_prob(input[rest], head_output[rest]), dim=1)
        return output
