"""One stage of a pipeline: a part of a model on this process, which gets activations from the stage before it."""

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _pytree as pytree

from .. import distributed_c10d as c10d
from ._backward import SplitBackward
from ._orders import generate_stage_to_rank_mapping

__all__ = ["PipelineStage", "build_stage"]

_DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128,
)  # fmt: skip
_ROOM = 1024  # numbers that describe what a stage passes on


class PipeliningMetadataError(RuntimeError):
    """What a stage passes on is not what it stated or passed on before."""

    __module__ = "torch.distributed.pipelining._utils"


def _tuple(value):
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, tuple) else (value,)


def _described(tensors, what):
    """Return (shape, dtype, whether it has a gradient) of each tensor that is passed on."""
    for t in tensors:
        if not isinstance(t, torch.Tensor):
            raise PipeliningMetadataError(f"{what}: a tensor or a tuple of tensors is expected, not {type(t).__name__}")
        if isinstance(t, DTensor):
            raise NotImplementedError(
                f"{what}: a DTensor between the stages of a pipeline is not supported (any dtype, any device): return "
                f"local tensors"
            )
        if t.dtype not in _DTYPES:
            raise PipeliningMetadataError(f"{what}: tensors of {t.dtype} are not passed between stages")
    return [(tuple(t.shape), t.dtype, t.requires_grad and t.is_floating_point()) for t in tensors]


def _written(metas):
    """Return the numbers that describe tensors, of which there are `_ROOM`."""
    numbers = [len(metas)]
    for shape, dtype, grad in metas:
        numbers += [_DTYPES.index(dtype), int(grad), len(shape), *shape]
    if len(numbers) > _ROOM:
        raise NotImplementedError(f"{len(metas)} tensors between two stages are not supported: they are too many")
    return numbers + [0] * (_ROOM - len(numbers))


def _read(numbers):
    """Return what `_written` wrote."""
    numbers = iter(numbers)
    found = []
    for _ in range(next(numbers)):
        dtype, grad, n = _DTYPES[next(numbers)], bool(next(numbers)), next(numbers)
        found.append((tuple(next(numbers) for _ in range(n)), dtype, grad))
    return found


class PipelineStage:
    """The part of a pipeline that one module computes.

    Args:
        submodule: the module. All its positional arguments but those of the first stage come from the stage before,
            as it returned them: a tensor, or a tuple of tensors. What the last stage returns may be anything.
        stage_index, num_stages: which stage it is, of how many.
        device: the device of the tensors that it receives.
        input_args, output_args: examples of what it takes and returns. They are compared with what comes in fact.
            Without them nothing is assumed: the first microbatch tells the next stage what it gets.
        input_grads, output_grads: accepted; gradients are like the tensors that they belong to.
        group: the process group of the pipeline; the default group if None.
        dw_builder: returns a function that finishes a backward pass whose gradients of weights are computed apart.
        get_mesh: must be None: DTensors between stages raise NotImplementedError.

    Raises:
        ValueError: the stage is none of the `num_stages`.
        RuntimeError: the group has more processes than there are stages.
    """

    def __init__(
        self,
        submodule,
        stage_index,
        num_stages,
        device,
        input_args=None,
        output_args=None,
        output_grads=None,
        input_grads=None,
        group=None,
        dw_builder=None,
        get_mesh=None,
    ):
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if get_mesh is not None:
            raise NotImplementedError("PipelineStage(get_mesh=...): DTensors between stages are not supported")
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group, self.dw_builder, self.has_backward = group, dw_builder, False
        self.group_rank, self.group_size = c10d.get_rank(group), c10d.get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}"
            )
        self.stage_index_to_group_rank = generate_stage_to_rank_mapping(self.group_size, num_stages)
        self.log_prefix = f"[Stage {stage_index}]"
        self._stated = {
            what: None if args is None else [m[:2] for m in _described(_tuple(args), f"{self.log_prefix} {what}")]
            for what, args in (("input_args", input_args), ("output_args", output_args))
        }
        self._passed_on: dict = {}  # a description of what it passes on, by whether there is a backward pass
        self._microbatches = 0  # of a step
        self.clear_runtime_states()

    @property
    def is_first(self):
        """Whether it is the first stage."""
        return self.stage_index == 0

    @property
    def is_last(self):
        """Whether it is the last stage."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self):
        """Forget the microbatches of the last step."""
        self.fwd_cache, self.bwd_cache, self.dw_runner, self.output_chunks = {}, {}, {}, []
        self._came, self._backwards = {}, 0  # by (kind, microbatch); how many backward passes have begun

    def scale_grads(self, grad_scale_factor):
        """Divide the gradients of the module's parameters."""
        if grad_scale_factor != 1:
            for p in self.submod.parameters():
                if p.grad is not None:
                    p.grad.div_(grad_scale_factor)

    # -- what comes from other stages, and goes to them

    def _describe_outputs(self, outputs, first):
        """Return a description of what is passed on; raise PipeliningMetadataError where it is another than before."""
        found = _described(outputs, f"{self.log_prefix} output")
        stated = self._stated["output_args"]
        self._same("its output_args", stated, found)
        if first:
            self._passed_on[self.has_backward] = found
        else:
            self._same("that of the first microbatch", [m[:2] for m in self._passed_on[self.has_backward]], found)
        return found

    def _same(self, what, stated, found):
        if stated is not None and stated != [m[:2] for m in found]:
            shown = lambda metas: ", ".join(f"{str(m[1])[6:]}{list(m[0])}" for m in metas)
            raise PipeliningMetadataError(f"{self.log_prefix} {what}: {shown(stated)}; now: {shown(found)}")

    def _arrive(self, kind, microbatch, tensors):
        self._came[kind, microbatch] = tensors

    def _inputs(self, chunk, args):
        """Return the positional arguments of a microbatch."""
        if self.is_first:
            return args
        metas, tensors = self._came.pop(("F", chunk))()
        self._same("its input_args", self._stated["input_args"], metas)
        keeps = self.has_backward and torch.is_grad_enabled()
        return tuple(t.detach().requires_grad_(grad and keeps) for t, (_, _, grad) in zip(tensors, metas))

    # -- computing

    def forward_one_chunk(self, fwd_chunk_id, args, kwargs=None, save_forward_output=True):
        """Compute one microbatch and return what the module returns.

        args: the first stage's arguments; kwargs: this stage's own.
        """
        inputs, kwargs = self._inputs(fwd_chunk_id, args), kwargs or {}
        replicated = isinstance(self.submod, DistributedDataParallel)
        try:
            if replicated:
                with self.submod.no_sync():
                    output = self.submod(*inputs, **kwargs)
            else:
                output = self.submod(*inputs, **kwargs)
        except Exception as e:
            shown = ", ".join(f"{str(t.dtype)[6:]}{list(t.shape)}" for t in inputs if isinstance(t, torch.Tensor))
            raise RuntimeError(f"{self.log_prefix} failed to run forward with ({shown}): {e}") from e
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        tensors = [t for t in pytree.tree_leaves((inputs, kwargs)) if isinstance(t, torch.Tensor)]
        self.fwd_cache[fwd_chunk_id] = _tuple(output), tensors, len(inputs)
        return output

    def _whole(self):
        """Whether the gradients of weights cannot be computed apart: hooks of the module's wrapper want to see all."""
        return isinstance(self.submod, (DistributedDataParallel, FSDPModule))

    def _prepare(self, outputs):
        """Let the module's wrapper reduce gradients in the step's last backward pass alone."""
        self._backwards += 1
        last = self._backwards == self._microbatches
        if isinstance(self.submod, DistributedDataParallel):
            if last:
                self.submod.reducer.prepare_for_backward(outputs)
        elif isinstance(self.submod, FSDPModule):
            self.submod.set_is_last_backward(last)
            self.submod.set_requires_gradient_sync(last)

    def backward_one_chunk(self, bwd_chunk_id, loss=None, full_backward=True, last_backward=False):
        """Compute the gradients of one microbatch.

        loss: that of the last stage. full_backward: if false, those of the parameters are left for
        `backward_weight_one_chunk`, where the module is not wrapped by DistributedDataParallel or fully_shard.
        """
        outputs, tensors, positional = self.fwd_cache.pop(bwd_chunk_id)
        made = outputs
        if self.is_last:
            outputs, gradients = (loss,), None
        else:
            outputs, gradients = self._with_gradients(outputs, bwd_chunk_id)
        apart = not full_backward and self.dw_builder is None and not self._whole()
        wanted = [] if self.is_first else [t for t in tensors if t.requires_grad]
        run = None
        if not outputs:
            pass
        elif apart and not wanted:
            run = lambda: torch.autograd.backward(outputs, gradients)
        elif apart:
            split = SplitBackward(outputs, gradients, wanted, self.submod.parameters())
            for t, g in zip(wanted, split.inputs):
                t.grad = g
            run = split.finish
        else:
            self._prepare(outputs)
            torch.autograd.backward(outputs, gradients)
            run = None if self.dw_builder is None else self.dw_builder()
        if run is not None and full_backward:
            run()
        elif not full_backward:
            self.dw_runner[bwd_chunk_id] = run
        if not self.is_first:
            self.bwd_cache[bwd_chunk_id] = [t.grad for t in tensors[:positional]]
            for t in made if self.is_last else ():  # the program gets values without a graph, as in PyTorch
                if isinstance(t, torch.Tensor) and not t._is_view():
                    t.detach_()

    def _with_gradients(self, outputs, chunk):
        """Return the outputs that the next stage sent gradients of, and these."""
        tensors = iter(self._came.pop(("B", chunk))())
        followed = [(t, next(tensors)) for t, (_, _, grad) in zip(outputs, self._passed_on[True]) if grad]
        return [t for t, _ in followed], [g for _, g in followed]

    def backward_weight_one_chunk(self, bwd_chunk_id, last_backward=False):
        """Compute the gradients of the parameters that `backward_one_chunk(full_backward=False)` has left."""
        if bwd_chunk_id not in self.dw_runner:
            raise AssertionError(
                f"{self.log_prefix} Attempted to run backward_weight_one_chunk for chunk {bwd_chunk_id} without first "
                f"calling `backward_one_chunk(full_backward=False)`"
            )
        run = self.dw_runner.pop(bwd_chunk_id)
        if run is not None:
            run()


def build_stage(stage_module, stage_index, pipe_info, device, group=None):
    """Raise NotImplementedError: models are not split by a traced graph; see PipelineStage."""
    raise NotImplementedError(
        "torch.distributed.pipelining.build_stage: splitting a traced graph into stages is not supported (any dtype, "
        "any device): make a PipelineStage of each part of the model"
    )
