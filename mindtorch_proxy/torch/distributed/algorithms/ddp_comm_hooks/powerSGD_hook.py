"""PowerSGD (arXiv:1905.13727): matrix gradients are sent as products of two low-rank matrices.

The compression error is added to the gradients of the next iteration.
"""

import logging
import math

import numpy
import torch
import torch.distributed as dist

from . import default_hooks as default

__all__ = ["PowerSGDState", "powerSGD_hook", "batched_powerSGD_hook"]
logger = logging.getLogger(__name__)


class PowerSGDState:
    """The settings of the hook, and its state between iterations.

    For each bucket, the state has the two factors and the compression error.
    """

    __slots__ = (
        "process_group matrix_approximation_rank start_powerSGD_iter min_compression_rate orthogonalization_epsilon "
        "use_error_feedback warm_start batch_tensors_with_same_shape rng error_dict p_memory_dict q_memory_dict iter "
        "total_numel_before_compression total_numel_after_compression compression_stats_logging_frequency "
        "next_stats_report"
    ).split()

    def __init__(
        self,
        process_group,
        matrix_approximation_rank=1,
        start_powerSGD_iter=1_000,
        min_compression_rate=2,
        use_error_feedback=True,
        warm_start=True,
        orthogonalization_epsilon=0,
        random_seed=0,
        compression_stats_logging_frequency=10_000,
        batch_tensors_with_same_shape=False,
    ):
        if (
            use_error_feedback or warm_start
        ) and start_powerSGD_iter <= 1:  # buckets are rebuilt after the first iteration
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group, self.matrix_approximation_rank, self.start_powerSGD_iter = (
            process_group,
            matrix_approximation_rank,
            start_powerSGD_iter,
        )
        self.min_compression_rate, self.use_error_feedback, self.warm_start = (
            min_compression_rate,
            use_error_feedback,
            warm_start,
        )
        self.orthogonalization_epsilon, self.batch_tensors_with_same_shape = (
            orthogonalization_epsilon,
            batch_tensors_with_same_shape,
        )
        self.rng = numpy.random.RandomState(random_seed)
        self.error_dict, self.p_memory_dict, self.q_memory_dict = {}, {}, {}
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = (
            self.next_stats_report
        ) = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)

    def __getstate__(self):
        logger.warning("NOTE: Process group is not serializable and excluded from a saved state.")
        return {slot: getattr(self, slot) for slot in self.__slots__ if slot != "process_group"}

    def __setstate__(self, state):
        self.process_group = dist.distributed_c10d._get_default_group()
        logger.warning(
            "NOTE: Process group will be set to a default group; set `self.process_group` after the state is loaded "
            "if another is desired."
        )
        for slot, value in state.items():
            setattr(self, slot, value)

    def maybe_increase_iter(self, bucket):
        """Count an iteration when its last bucket arrives."""
        if bucket.is_last():
            self.iter += 1
        if self.iter == self.start_powerSGD_iter:
            logger.info("Start to apply PowerSGD after %s iterations.", self.iter)

    def compression_stats(self):
        """Return (rate, number of elements before compression, number after compression)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0), before, after

    def _report(self, bucket):
        if bucket.is_last() and self.iter >= self.next_stats_report:
            logger.info(
                "Compression stats: iter %s, rate %s, total before compression %s, total after compression %s",
                self.iter,
                *self.compression_stats(),
            )
            self.next_stats_report = self.iter + self.compression_stats_logging_frequency

    def _count(self, before, after):
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after

    def _with_error(self, index, gradients):
        """Add the last compression error to the gradients; return a copy to compute the new error, or None."""
        if not self.use_error_feedback:
            return None
        if index in self.error_dict:
            gradients.add_(self.error_dict[index])
        return gradients.clone()

    def _fill(self, qs):
        """Fill factors with random numbers, the same on all ranks."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.rng.randint(1_000_000_000))
            for q in qs:
                q.copy_(torch.randn(q.shape, dtype=q.dtype))

    def _done(self, index, bucket, before, gradients):
        if before is not None:
            self.error_dict[index] = before - gradients
        if not self.warm_start:
            self.p_memory_dict.clear()
            self.q_memory_dict.clear()
        self.maybe_increase_iter(bucket)


def _orthogonalize(matrices, epsilon=0):
    """Orthonormalize the columns of a matrix, or of each matrix of a batch, in place."""
    batch = matrices if matrices.dim() == 3 else matrices.unsqueeze(0)
    if batch.shape[1] < batch.shape[2]:
        raise AssertionError(f"expected at least as many rows as columns, got {tuple(batch.shape)}")
    if epsilon == 0 and batch.dtype not in (torch.float16, torch.bfloat16):
        batch.copy_(torch.linalg.qr(batch).Q)
        return
    for i in range(batch.shape[2]):  # Gram-Schmidt; epsilon keeps a zero column from becoming NaN
        column = batch[:, :, i : i + 1]
        column.div_(torch.linalg.vector_norm(column, dim=1, keepdim=True) + epsilon)
        if i + 1 < batch.shape[2]:
            rest = batch[:, :, i + 1 :]
            rest.sub_((column * rest).sum(dim=1, keepdim=True) * column)


def _sum(tensor, group):
    return dist.all_reduce(tensor, group=group, async_op=True).get_future()


def _pieces(memory, shapes):
    sizes = [math.prod(s) for s in shapes]
    return [piece.view(s) for piece, s in zip(memory.split(sizes), shapes)]


def _sorted_out(state, gradients):
    """Split gradients into (matrices worth compressing, other gradients)."""
    matrices, others = [], []
    for g in gradients:
        matrix = g.view(g.shape[0], -1) if g.dim() else g.view(1, 1)
        n, m = matrix.shape
        compressed = (n + m) * min(n, m, state.matrix_approximation_rank)
        if compressed * state.min_compression_rate < n * m:
            matrices.append(matrix)
            state._count(n * m, compressed)
        else:
            others.append(g)
            state._count(n * m, n * m)
    return matrices, others


def _batches(state, matrices):
    """Group matrices that are compressed together: those of the same shape, or each one alone."""
    if not state.batch_tensors_with_same_shape:
        return [[m] for m in matrices]
    by_shape = {}
    for m in matrices:
        by_shape.setdefault(m.shape, []).append(m)
    return list(by_shape.values())


def powerSGD_hook(state: PowerSGDState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Approximate each matrix gradient M by P Q'.

    P = M Q is summed over the ranks and orthonormalized, Q = M' P is averaged.
    """
    group = default._group(state.process_group)
    gradients, index = bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default._allreduce_fut(group, gradients)
    before = state._with_error(index, gradients)
    matrices, others = _sorted_out(state, bucket.gradients())
    state._report(bucket)
    batches = _batches(state, matrices)
    stacks = [torch.stack(b) for b in batches]
    ranks = [min(*s.shape[1:], state.matrix_approximation_rank) for s in stacks]
    shapes = [[(s.shape[0], s.shape[side], r) for s, r in zip(stacks, ranks)] for side in (1, 2)]
    fresh = not state.warm_start or index not in state.p_memory_dict
    if fresh:
        for memory, of_side in zip((state.p_memory_dict, state.q_memory_dict), shapes):
            memory[index] = gradients.new_empty(sum(map(math.prod, of_side)))
    p_memory, q_memory = state.p_memory_dict[index], state.q_memory_dict[index]
    ps, qs = _pieces(p_memory, shapes[0]), _pieces(q_memory, shapes[1])
    if fresh:
        state._fill(qs)
    for s, p, q in zip(stacks, ps, qs):
        _orthogonalize(q, state.orthogonalization_epsilon)
        p.copy_(torch.bmm(s, q))
    flat = torch.cat([g.reshape(-1) for g in others]) if others else gradients.new_empty(0)

    def others_then_ps(future):
        average = future.value()[0].div_(group.size())
        for g, piece in zip(others, average.split([g.numel() for g in others])):
            g.copy_(piece.view_as(g))
        return _sum(p_memory, group).wait()

    def then_qs(future):
        for s, p, q in zip(stacks, ps, qs):
            _orthogonalize(p, state.orthogonalization_epsilon)
            q.copy_(torch.bmm(s.transpose(1, 2), p))
        return _sum(q_memory, group).wait()

    def decompress(future):
        q_memory.div_(group.size())
        for b, p, q in zip(batches, ps, qs):
            for matrix, product in zip(b, torch.bmm(p, q.transpose(1, 2))):
                matrix.copy_(product)
        state._done(index, bucket, before, gradients)
        return gradients

    return _sum(flat, group).then(others_then_ps).then(then_qs).then(decompress)


def batched_powerSGD_hook(state: PowerSGDState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Apply PowerSGD to the whole bucket as one square matrix, which is faster and less exact."""
    group = default._group(state.process_group)
    gradients, index = bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default._allreduce_fut(group, gradients)
    length = gradients.shape[0]
    side = math.ceil(math.sqrt(length))
    state._count(length, side * state.matrix_approximation_rank * 2)
    state._report(bucket)
    padded = gradients.new_zeros(side * side)
    padded[:length] = gradients
    before = state._with_error(index, padded)
    matrix = padded.view(side, side)
    if not state.warm_start or index not in state.p_memory_dict:
        for memory in (state.p_memory_dict, state.q_memory_dict):
            memory[index] = gradients.new_empty(side, state.matrix_approximation_rank)
        state._fill([state.q_memory_dict[index]])
    p, q = state.p_memory_dict[index], state.q_memory_dict[index]
    _orthogonalize(q)
    p.copy_(matrix @ q)

    def then_q(future):
        _orthogonalize(p)
        q.copy_(matrix.t() @ p)
        return _sum(q, group).wait()

    def decompress(future):
        q.div_(group.size())
        matrix.copy_(p @ q.t())
        state._done(index, bucket, before, padded)
        return gradients.copy_(padded[:length])

    return _sum(p, group).then(then_q).then(decompress)
