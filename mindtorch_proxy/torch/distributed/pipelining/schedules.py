"""Schedules of pipelines: they let the stages of a model compute the microbatches of a batch, and pass tensors on.

Every rank knows the actions of all ranks in common time slots. After each slot it sends what its stages have made and
starts to receive what the others have made for it, in one batch, so that backends without tags can pair the messages.
It waits for a tensor when a stage needs it.
"""

import csv

import torch

from .. import distributed_c10d as c10d
from . import _orders
from ._orders import B, F, I, W, _Action
from .microbatch import TensorChunkSpec, _split_tensor, merge_chunks, split_args_kwargs_into_chunks
from .stage import _ROOM, _read, _written

__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe",
    "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble",
    "get_schedule_class",
]  # fmt: skip


class _Arriving:
    """Tensors that come from another rank; called, it waits and returns (their descriptions, the tensors)."""

    def __init__(self, metas, tensors):
        self.metas, self.tensors, self.works = metas, tensors, []

    def __call__(self):
        for work in self.works:
            work.wait()
        self.works = []
        return self.metas, self.tensors


class _PipelineSchedule:
    """What all schedules have in common.

    Args:
        n_microbatches: into how many microbatches a batch is split.
        loss_fn: called with the last stage's output and the targets of a microbatch; without it, there is no backward.
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec: see `split_args_kwargs_into_chunks`, `merge_chunks`.
        scale_grads: divide gradients by the number of microbatches, for losses that are means.
    """

    def __init__(
        self,
        stages,
        n_microbatches,
        loss_fn=None,
        args_chunk_spec=None,
        kwargs_chunk_spec=None,
        output_merge_spec=None,
        scale_grads=True,
    ):
        self._stages, self._n_microbatches, self._loss_fn, self.scale_grads = (
            stages,
            n_microbatches,
            loss_fn,
            scale_grads,
        )
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self._has_backward = output_merge_spec, loss_fn is not None
        self._num_stages, self.pp_group_size, self.rank = (
            stages[0].num_stages,
            stages[0].group_size,
            stages[0].group_rank,
        )
        self.stage_index_to_group_rank = dict(stages[0].stage_index_to_group_rank)
        self._internal_losses: list = []
        self._slots: dict = {}  # by whether there is a backward pass
        self._described: dict = {}  # what each stage passes on, by (whether there is a backward pass, the stage)
        self.pipeline_order: dict = {}

    def _set_order(self, order):
        """Take an order of actions, from which the ranks of the stages follow."""
        self.pipeline_order, self._slots = order, {}
        self.stage_index_to_group_rank = _orders.owners(
            order, self.pp_group_size, self._num_stages, self._n_microbatches
        )
        for stage in self._stages:
            stage.stage_index_to_group_rank = self.stage_index_to_group_rank

    # -- a step

    def step(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None, **kwargs):
        """Compute a batch, forward and (with a loss function) backward; the last stage returns the merged output.

        Args:
            args: of the first stage, for the whole batch.
            target: of the last stage, split along dimension 0.
            losses: a list that the last stage fills with the losses of the microbatches.
            loss_kwargs: keyword arguments of the loss function.
            kwargs: of this process's stages, for the whole batch.

        Raises:
            RuntimeError: gradients are disabled although there is a loss function.
        """
        if self._has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used under "
                "torch.no_grad() context. Please call eval() instead."
            )
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        arguments, named = self._split_inputs(args, kwargs)
        targets = None
        if target is not None:
            targets = _split_tensor(target, TensorChunkSpec(0), self._n_microbatches)
        for stage in self._stages:
            stage.has_backward, stage._microbatches = self._has_backward, self._n_microbatches
            stage.clear_runtime_states()
        self._step_microbatches(arguments, named, targets, losses, return_outputs, loss_kwargs)
        last = next((s for s in self._stages if s.is_last), None)
        return merge_chunks(last.output_chunks, self._output_merge_spec) if last and return_outputs else None

    def eval(self, *args, target=None, losses=None, **kwargs):
        """Compute a batch without a backward pass."""
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _split_inputs(self, args, kwargs):
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        found = split_args_kwargs_into_chunks(
            args, kwargs, self._n_microbatches, self._args_chunk_spec, self._kwargs_chunk_spec
        )
        for what, chunks in zip(("arg_mbs", "kwarg_mbs"), found):
            if len(chunks) != self._n_microbatches:
                raise ValueError(f"Expecting {self._n_microbatches} {what} but got {len(chunks)}")
        return found

    def _step_microbatches(
        self, arg_mbs=None, kwarg_mbs=None, target_mbs=None, losses=None, return_outputs=True, loss_kwargs=None
    ):
        arg_mbs = [()] * self._n_microbatches if arg_mbs is None else arg_mbs
        kwarg_mbs = [{}] * self._n_microbatches if kwarg_mbs is None else kwarg_mbs
        mine = {s.stage_index: s for s in self._stages}
        self._flying: list = []  # (works, tensors) until the end of the step

        def forward(stage, m):
            output = stage.forward_one_chunk(m, arg_mbs[m], kwarg_mbs[m], return_outputs)
            if stage.is_last and self._loss_fn is not None:
                self._internal_losses.append(self._loss_fn(output, target_mbs[m], **(loss_kwargs or {})))

        def backward(stage, m, full=True):
            stage.backward_one_chunk(m, self._internal_losses[m] if stage.is_last else None, full)

        run = {F: forward, B: backward, I: lambda stage, m: backward(stage, m, False)}
        run[W] = lambda stage, m: stage.backward_weight_one_chunk(m)
        for actions, messages in self._timetable():
            for s, kind, m, _ in actions:
                run[kind](mine[s], m)
            if messages:
                self._pass_on(messages, mine)
        for works, _ in self._flying:
            for work in works:
                work.wait()
        self._flying = []
        if self._has_backward:
            for stage in self._stages:
                stage.scale_grads(self._n_microbatches if self.scale_grads else 1)
        self._update_losses(losses)

    def _update_losses(self, losses):
        found, self._internal_losses = self._internal_losses, []
        if losses is not None and any(s.is_last for s in self._stages):
            if len(found) != self._n_microbatches:
                raise RuntimeError(f"Expecting {self._n_microbatches} losses but got {len(found)}")
            losses[:] = found

    def _timetable(self):
        """Return the slots of this rank: (its actions, the messages that it sends or receives afterwards)."""
        if self._has_backward not in self._slots:
            where, found = self.stage_index_to_group_rank, []
            for slot in _orders.timetable(self.pipeline_order, self._num_stages, self._has_backward):
                passed = _orders.messages(slot, self._num_stages)
                own = [m for m in passed if self.rank in (where[m.source], where[m.target])]
                if own or self.rank in slot:
                    found.append((slot.get(self.rank, []), own))
            self._slots[self._has_backward] = found
        return self._slots[self._has_backward]

    # -- messages between ranks

    def _pass_on(self, messages, mine):
        """Pass on what the stages have made in a slot."""
        made = {m: self._made(m, mine[m.source]) for m in messages if m.source in mine}
        self._describe([m for m in messages if m.kind is F], made)
        ops, arriving = [], []
        for m in messages:
            peer = [self.stage_index_to_group_rank[s] for s in (m.source, m.target)]
            if peer[0] == peer[1]:
                mine[m.target]._arrive(m.kind.value, m.microbatch, self._handed_over(m, made[m]))
            elif m.source in mine:
                ops += [(None, t.detach().contiguous(), peer[1]) for t in made[m]]
            else:
                coming = self._expected(m, mine[m.target])
                arriving.append((m, coming))
                ops += [(coming, t, peer[0]) for t in coming.tensors]
        self._start(ops, mine)
        for m, coming in arriving:
            of_gradients = m.kind is B
            mine[m.target]._arrive(m.kind.value, m.microbatch, (lambda c=coming: c()[1]) if of_gradients else coming)

    def _handed_over(self, m, tensors):
        tensors = [t.detach() for t in tensors]
        if m.kind is B:
            return lambda: tensors
        metas = self._described[self._has_backward, m.source]
        return lambda: (metas, tensors)

    def _made(self, m, stage):
        """Return the tensors of a message that this rank sends."""
        if m.kind is F:
            return stage.fwd_cache[m.microbatch][0]
        gradients = stage.bwd_cache.pop(m.microbatch)
        metas = self._described[self._has_backward, m.target]
        zeros = lambda shape, dtype: torch.zeros(shape, dtype=dtype, device=stage.device)
        return [zeros(*meta[:2]) if g is None else g for g, meta in zip(gradients, metas) if meta[2]]

    def _expected(self, m, stage):
        """Return memory for the tensors of a message."""
        metas = self._described[self._has_backward, min(m.source, m.target)]
        kept = metas if m.kind is F else [meta for meta in metas if meta[2]]
        return _Arriving(metas, [torch.empty(shape, dtype=t, device=stage.device) for shape, t, _ in kept])

    def _describe(self, messages, made):
        """Let the ranks know what a stage passes on, when it does so for the first time."""
        new = [m for m in messages if (self._has_backward, m.source) not in self._described]
        by_stage = {s.stage_index: s for s in self._stages}
        for m in messages:
            if m.source in by_stage:
                found = by_stage[m.source]._describe_outputs(made[m], m in new)
                if m in new and self.stage_index_to_group_rank[m.target] == self.rank:
                    self._described[self._has_backward, m.source] = found
        across = [m for m in new if self._across(m)]
        if not across:
            return
        ops, read = [], []
        for m in across:
            if m.source in by_stage:
                metas = by_stage[m.source]._passed_on[self._has_backward]
                self._described[self._has_backward, m.source] = metas
                numbers = torch.tensor(_written(metas), device=by_stage[m.source].device)
                ops.append((None, numbers, self.stage_index_to_group_rank[m.target]))
            else:
                numbers = torch.empty(_ROOM, dtype=torch.int64, device=by_stage[m.target].device)
                coming = _Arriving(None, [numbers])
                read.append((m, coming))
                ops.append((coming, numbers, self.stage_index_to_group_rank[m.source]))
        self._start(ops, by_stage)
        for m, coming in read:
            self._described[self._has_backward, m.source] = _read(coming()[1][0].tolist())

    def _across(self, m):
        return self.stage_index_to_group_rank[m.source] != self.stage_index_to_group_rank[m.target]

    def _start(self, ops, mine):
        """Start messages: (what receives or None, the tensor, the rank in the group)."""
        if not ops:
            return
        group = self._stages[0].group
        works = c10d.batch_isend_irecv(
            [c10d.P2POp(c10d.isend if to is None else c10d.irecv, t, group=group, group_peer=r) for to, t, r in ops]
        )
        one_by_one = len(works) == len(ops)
        for i, (to, _, _) in enumerate(ops):
            if to is not None:
                to.works += [works[i]] if one_by_one else works
        self._flying.append(([w for w, op in zip(works, ops) if op[0] is None] if one_by_one else works, ops))


class PipelineScheduleSingle(_PipelineSchedule):
    """A schedule with one stage on each rank."""

    def __init__(self, stage, n_microbatches, *args, **kwargs):
        super().__init__([stage], n_microbatches, *args, **kwargs)
        self._stage = stage
        self._set_order(self._order())

    def _order(self):
        raise NotImplementedError(
            f"{type(self).__name__} has no order of actions: use a schedule that is derived from it"
        )


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward."""

    def _order(self):
        return _orders.gpipe(self._num_stages, self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward and one backward in turn, so that a stage keeps few microbatches in memory.

    ValueError with fewer microbatches than stages.
    """

    def _order(self):
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({self._n_microbatches}) must be greater than or equal to the number of "
                f"stages ({self._num_stages})."
            )
        return _orders.one_forward_one_backward(self._num_stages, self._n_microbatches)


class PipelineScheduleMulti(_PipelineSchedule):
    """A schedule with several stages on each rank. Its order may come from a file (`_load_csv`)."""

    def __init__(self, stages, n_microbatches, *args, use_full_backward=None, **kwargs):
        kwargs.pop("backward_requires_autograd", None)
        kwargs.pop("defer_pp_recv", None)
        super().__init__(stages, n_microbatches, *args, **kwargs)
        self.n_local_stages = len(stages)
        order = self._order()
        if order:
            self._set_order(order)

    def _order(self):
        return {}

    def _dump_csv(self, filename):
        """Write the order to a file: a line for each rank."""
        with open(filename, "w", newline="") as file:
            writer = csv.writer(file)
            for rank in sorted(self.pipeline_order):
                writer.writerow("" if a is None else repr(a) for a in self.pipeline_order[rank])

    def _load_csv(self, filename, format="compute_only"):
        """Read the order from a file: a line for each rank, with the actions that it computes.

        NotImplementedError for a format with the messages: they follow from the actions.
        """
        if format != "compute_only":
            raise NotImplementedError(f"_load_csv(format={format!r}): only compute_only is supported")
        with open(filename, newline="") as file:
            self._set_order({r: [_Action.from_str(s) for s in row] for r, row in enumerate(csv.reader(file))})


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """A schedule of several stages on each rank, whose order a subclass or a file gives."""


class ScheduleLoopedBFS(_PipelineScheduleRuntime):
    """All microbatches through a rank's first stage, then through its next."""

    def _order(self):
        return _orders.looped(self.pp_group_size, self.n_local_stages, self._n_microbatches)


class ScheduleInterleaved1F1B(_PipelineScheduleRuntime):
    """One forward and one backward in turn, with several stages on each rank.

    ValueError where the number of microbatches is no multiple of that of the rounds, microbatches // ranks.
    """

    def _order(self):
        together = _orders.rounds(self.pp_group_size, self._n_microbatches, "Interleaved 1F1B")
        return _orders.interleaved(self.pp_group_size, self.n_local_stages, self._n_microbatches, together, False)


class ScheduleInterleavedZeroBubble(_PipelineScheduleRuntime):
    """Like ScheduleInterleaved1F1B, with the gradients of weights computed where a rank would be idle."""

    def _order(self):
        together = _orders.rounds(self.pp_group_size, self._n_microbatches, "Zero bubble")
        return _orders.interleaved(self.pp_group_size, self.n_local_stages, self._n_microbatches, together, True)


class _ScheduleV(_PipelineScheduleRuntime):
    def _order(self):
        if self.n_local_stages != 2:
            raise ValueError(f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}.")
        return self._v()


class ScheduleZBVZeroBubble(_ScheduleV):
    """Two stages on each rank, which lie in a V; gradients of weights are computed where a rank would be idle."""

    def _v(self):
        return _orders.zero_bubble_v(self.pp_group_size, self._n_microbatches)


class ScheduleDualPipeV(_ScheduleV):
    """Two stages on each rank, which lie in a V; a forward of one goes together with a backward of the other.

    They are computed one after the other. ValueError with fewer microbatches than stages.
    """

    def _v(self):
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"DualPipeV requires at least as many microbatches as stages, but got {self._n_microbatches} "
                f"microbatches and {self._num_stages} stages."
            )
        return _orders.dual_pipe_v(self.pp_group_size, self._n_microbatches)


_NAMED = {
    "1F1B": Schedule1F1B,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble,
    "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name):
    """Return the class of a schedule by its name, in upper or lower case; ValueError for a name that there is not."""
    found = {name.lower(): schedule for name, schedule in _NAMED.items()}.get(schedule_name.lower())
    if found is None:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(_NAMED)}")
    return found
