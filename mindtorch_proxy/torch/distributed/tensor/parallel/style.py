"""Parallel styles: the placements of a module's parameters, inputs and outputs."""

from abc import ABC, abstractmethod

import torch
from torch import nn

from .. import DTensor, Placement, Replicate, Shard, distribute_module, distribute_tensor

__all__ = [
    "ParallelStyle",
    "RowwiseParallel",
    "SequenceParallel",
    "ColwiseParallel",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
]


class ParallelStyle(ABC):
    """Base class of the styles that parallelize_module applies."""

    src_data_rank = 0

    @abstractmethod
    def _apply(self, module, device_mesh): ...


def _placed(x, mesh, layouts, wanted):
    """Redistribute a tensor; a plain tensor is first made a DTensor with placements ``layouts``."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, layouts, run_check=False)
    return x if tuple(layouts) == tuple(wanted) else x.redistribute(placements=wanted)


class _Partitioned(ParallelStyle):
    """Base class of styles that shard the parameters of linear layers and embeddings."""

    _linear, _embedding = {}, None

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__()
        self.input_layouts = (input_layouts or self._default_input,)
        self.output_layouts = (output_layouts or self._default_output,)
        self.use_local_output = use_local_output

    def _partition(self, name, module, mesh):
        for key, p in list(module.named_parameters(recurse=False)):
            placement = self._linear[key] if isinstance(module, nn.Linear) else self._embedding
            made = distribute_tensor(p, mesh, [placement], src_data_rank=self.src_data_rank)
            module.register_parameter(key, nn.Parameter(made, requires_grad=p.requires_grad))

    def _prepare_output(self, module, outputs, mesh):
        if outputs.placements != self.output_layouts:
            outputs = outputs.redistribute(placements=self.output_layouts)
        return outputs.to_local() if self.use_local_output else outputs

    def _wanted_input(self, module):
        return (Replicate(),)

    def _apply(self, module, device_mesh):
        if not isinstance(module, (nn.Linear, nn.Embedding)):
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        self.desired_input_layouts = self._wanted_input(module)
        prepare = lambda _, inputs, mesh: _placed(inputs[0], mesh, self.input_layouts, self.desired_input_layouts)
        return distribute_module(module, device_mesh, self._partition, prepare, self._prepare_output)

    def __repr__(self):
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output})"
        )


class ColwiseParallel(_Partitioned):
    """Shards the outputs of a linear layer or the columns of an embedding.

    The input is replicated and the output is sharded on its last dimension.
    """

    _linear, _embedding = {"weight": Shard(0), "bias": Shard(0)}, Shard(1)
    _default_input, _default_output = Replicate(), Shard(-1)
    desired_input_layouts = (Replicate(),)


class RowwiseParallel(_Partitioned):
    """Shards the inputs of a linear layer or the rows of an embedding.

    The input of a linear layer is sharded on its last dimension, and the output is reduced.
    """

    _linear, _embedding = {"weight": Shard(1), "bias": Replicate()}, Shard(0)
    _default_input, _default_output = Shard(-1), Replicate()

    def _wanted_input(self, module):
        return (Shard(-1),) if isinstance(module, nn.Linear) else (Replicate(),)


class SequenceParallel(ParallelStyle):
    """Replicates the parameters of a module, and shards inputs and outputs on the sequence dimension."""

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        super().__init__()
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _replicate(self, name, module, mesh):
        for key, p in list(module.named_parameters(recurse=False)):
            made = DTensor.from_local(p.detach(), mesh, [Replicate()], run_check=False)
            module.register_parameter(key, nn.Parameter(made, requires_grad=p.requires_grad))

    def _prepare_input(self, module, inputs, mesh):
        x = inputs[0]
        if isinstance(x, DTensor):
            return x if x.placements == self.sequence_sharding else x.redistribute(placements=self.sequence_sharding)
        if isinstance(x, torch.Tensor):
            return DTensor.from_local(x, mesh, self.sequence_sharding, run_check=False)
        raise ValueError(f"expecting input of {module} to be a torch.Tensor or DTensor, but got {x}")

    def _apply(self, module, device_mesh):
        local = lambda _, outputs, mesh: outputs.to_local() if self.use_local_output else outputs
        return distribute_module(module, device_mesh, self._replicate, self._prepare_input, local)

    def __repr__(self):
        return (
            f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, use_local_output={self.use_local_output})"
        )


def _tuple(layouts):
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(ParallelStyle):
    """Converts a module's inputs to DTensors with given layouts and redistributes them to the desired ones.

    Inputs whose layout is None are left unchanged.
    """

    def __init__(
        self,
        *,
        input_layouts=None,
        desired_input_layouts=None,
        input_kwarg_layouts=None,
        desired_input_kwarg_layouts=None,
        use_local_output=False,
    ):
        self.input_layouts, self.desired_input_layouts = _tuple(input_layouts), _tuple(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts, self.desired_input_kwarg_layouts = (
            input_kwarg_layouts or {},
            desired_input_kwarg_layouts or {},
        )
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _prepare_input_arg(self, input, mesh, input_layout, desired_layout):
        if input_layout is None:
            return input
        if isinstance(input, DTensor):
            made = input
        else:
            if not isinstance(input, torch.Tensor):
                raise AssertionError("expecting input to be a torch.Tensor!")
            made = DTensor.from_local(input, mesh, (input_layout,), run_check=False)
        if desired_layout is not None and input_layout != desired_layout:
            made = made.redistribute(placements=(desired_layout,))
        return made.to_local() if self.use_local_output else made

    def _prepare_input_fn(self, inputs, device_mesh):
        if self.input_layouts is None:
            return inputs
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(
            self._prepare_input_arg(x, device_mesh, a, b)
            for x, a, b in zip(inputs, self.input_layouts, self.desired_input_layouts)
        )

    def _prepare_input_kwarg_fn(self, inputs, kwarg_inputs, device_mesh):
        prepared = {
            name: self._prepare_input_arg(
                x, device_mesh, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name)
            )
            for name, x in kwarg_inputs.items()
        }
        return self._prepare_input_fn(inputs, device_mesh), prepared

    def _apply(self, module, device_mesh):
        if self.with_kwargs:
            module.register_forward_pre_hook(
                lambda _, inputs, kwargs: self._prepare_input_kwarg_fn(inputs, kwargs, device_mesh), with_kwargs=True
            )
        else:
            module.register_forward_pre_hook(lambda _, inputs: self._prepare_input_fn(inputs, device_mesh))
        return module

    def __repr__(self):
        return (
            f"PrepareModuleInput(input_layouts={self.input_layouts}, "
            f"desired_input_layouts={self.desired_input_layouts}, input_kwarg_layouts={self.input_kwarg_layouts}, "
            f"desired_input_kwarg_layouts={self.desired_input_kwarg_layouts}, "
            f"use_local_output={self.use_local_output})"
        )


class PrepareModuleOutput(ParallelStyle):
    """Converts a module's outputs to DTensors with given layouts and redistributes them to the desired ones."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.output_layouts, self.desired_output_layouts = _tuple(output_layouts), _tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _prepare_out_fn(self, outputs, device_mesh):
        single = not isinstance(outputs, tuple)
        outputs = (outputs,) if single else outputs
        if len(outputs) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        prepared = []
        for x, layout, wanted in zip(outputs, self.output_layouts, self.desired_output_layouts):
            if layout is not None:
                made = x if isinstance(x, DTensor) else DTensor.from_local(x, device_mesh, (layout,), run_check=False)
                made = made if layout == wanted else made.redistribute(placements=(wanted,))
                x = made.to_local() if self.use_local_output else made
            prepared.append(x)
        return prepared[0] if single else tuple(prepared)

    def _apply(self, module, device_mesh):
        module.register_forward_hook(lambda _, inputs, outputs: self._prepare_out_fn(outputs, device_mesh))
        return module

    def __repr__(self):
        return (
            f"PrepareModuleOutput(output_layouts={self.output_layouts}, "
            f"desired_output_layouts={self.desired_output_layouts}, use_local_output={self.use_local_output})"
        )


class PrepareModuleInputOutput(ParallelStyle):
    """Combines PrepareModuleInput and PrepareModuleOutput."""

    def __init__(
        self,
        *,
        input_layouts=None,
        desired_input_layouts=None,
        input_kwarg_layouts=None,
        desired_input_kwarg_layouts=None,
        use_local_input=False,
        output_layouts,
        desired_output_layouts,
        use_local_output=True,
    ):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module, device_mesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)

    def __repr__(self):
        return f"PrepareModuleInputOutput({self.prepare_module_input}, {self.prepare_module_output})"
