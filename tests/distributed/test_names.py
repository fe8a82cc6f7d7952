"""What libraries import from torch.distributed when they are imported: there without any process group."""

import importlib
import inspect

import pytest
import torch

# module: names that it has (accelerate, transformers, lightning, trl, diffusers, torchtitan)
NAMES = {
    "torch.distributed": "DeviceMesh init_device_mesh is_available is_initialized get_rank ReduceOp group",
    "torch.distributed.device_mesh": "DeviceMesh init_device_mesh _mesh_resources",
    "torch.distributed.tensor": "DTensor DeviceMesh Placement Replicate Shard Partial distribute_tensor "
    "distribute_module",
    "torch.distributed.tensor.placement_types": "Placement Replicate Shard Partial _StridedShard",
    "torch.distributed.tensor.parallel": "ColwiseParallel RowwiseParallel SequenceParallel PrepareModuleInput "
    "PrepareModuleOutput parallelize_module",
    "torch.distributed.tensor.parallel.style": "ParallelStyle",
    "torch.distributed.tensor.experimental": "context_parallel implicit_replication",
    "torch.distributed.tensor.experimental._attention": "context_parallel set_rotate_method",
    "torch.distributed.pipelining": "ScheduleGPipe SplitPoint pipeline PipelineStage build_stage",
    "torch.distributed._tensor": "DTensor Replicate Shard distribute_tensor DeviceMesh",
    "torch.distributed._tensor.experimental": "implicit_replication",
    "torch.distributed._functional_collectives": "AsyncCollectiveTensor all_reduce all_gather_tensor "
    "reduce_scatter_tensor all_to_all_single wait_tensor",
    "torch.distributed.nn": "RemoteModule all_reduce all_gather reduce_scatter",
    "torch.distributed.optim": "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    "torch.distributed.rpc.api": "_all_gather _barrier _wait_all",
    "torch.distributed.autograd": "DistAutogradContext backward context get_gradients is_available",
    "torch.distributed.nn.functional": "all_reduce all_gather all_to_all",
    "torch.distributed.fsdp": "FullyShardedDataParallel FSDPModule fully_shard MixedPrecision MixedPrecisionPolicy "
    "CPUOffload CPUOffloadPolicy OffloadPolicy ShardingStrategy BackwardPrefetch StateDictType FullStateDictConfig "
    "ShardedStateDictConfig FullOptimStateDictConfig FlatParameter",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "FullyShardedDataParallel StateDictType "
    "ShardedOptimStateDictConfig MixedPrecision",
    "torch.distributed.fsdp.api": "ShardingStrategy",
    "torch.distributed.fsdp._common_utils": "clean_tensor_name FSDP_PREFIX",
    "torch.distributed.fsdp._runtime_utils": "_post_backward_final_callback",
    "torch.distributed.fsdp.wrap": "transformer_auto_wrap_policy size_based_auto_wrap_policy ModuleWrapPolicy "
    "CustomPolicy wrap enable_wrap _recursive_wrap",
    "torch.distributed.fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "torch.distributed._composable": "checkpoint contract replicate",
    "torch.distributed._composable.contract": "contract _get_registry",
    "torch.distributed._composable.fsdp": "fully_shard MixedPrecisionPolicy",
    "torch.distributed._composable.fsdp.fully_shard": "fully_shard FSDPModule UnshardHandle "
    "register_fsdp_forward_method",
    "torch.distributed._composable_state": "_State _get_module_state",
    "torch.distributed.tensor.parallel.ddp": "_pre_dp_module_transform",
    "torch.distributed.checkpoint": "save load async_save FileSystemReader FileSystemWriter DefaultSavePlanner "
    "DefaultLoadPlanner",
    "torch.distributed.checkpoint.default_planner": "DefaultLoadPlanner _EmptyStateDictLoadPlanner",
    "torch.distributed.checkpoint.format_utils": "dcp_to_torch_save torch_save_to_dcp _load_state_dict "
    "_EmptyStateDictLoadPlanner",
    "torch.distributed.checkpoint.utils": "CheckpointException find_tensor_shard",
    "torch.distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "torch.distributed.checkpoint.state_dict": "StateDictOptions get_model_state_dict set_model_state_dict "
    "get_optimizer_state_dict get_state_dict",
    "torch.distributed.checkpoint.stateful": "Stateful",
    "torch.distributed.checkpoint.state_dict_loader": "_load_state_dict",
    "torch.distributed._shard.sharded_tensor": "Shard ShardedTensor ShardedTensorMetadata TensorProperties "
    "ShardMetadata init_from_local_shards",
    "torch.distributed._shard.sharded_tensor.metadata": "TensorProperties MEM_FORMAT_ENCODING",
    "torch.distributed._shard.sharding_spec": "ChunkShardingSpec EnumerableShardingSpec ShardingSpec ShardMetadata",
    "torch.distributed._shard.api": "_shard_tensor load_with_process_group",
    "torch.distributed.remote_device": "_remote_device",
}


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


def test_what_is_not_there_says_so():
    for module in ("_shard.sharded_tensor", "tensor.parallel"):
        importlib.import_module(f"torch.distributed.{module}")
    assert not torch.distributed.autograd.is_available()
    with pytest.raises(NotImplementedError, match="remote procedure calls"), torch.distributed.autograd.context():
        pass
    with pytest.raises(ValueError, match="Expecting ShardingSpec"):
        torch.distributed._shard.sharded_tensor.ShardedTensor("no spec", 2)
    with pytest.raises(NotImplementedError, match="loss_parallel"), torch.distributed.tensor.parallel.loss_parallel():
        pass
    from torch.distributed import autograd, optim, pipelining
    from torch.distributed.fsdp import _runtime_utils
    from torch.distributed.tensor.experimental import _attention
    from torch.numa.binding import AffinityMode, NumaOptions, _maybe_wrap_with_numa_binding

    for call, said in (
        (lambda: autograd.backward(0, []), "autograd.backward"),
        (lambda: autograd.get_gradients(0), "autograd.get_gradients"),
        (autograd.DistAutogradContext, "DistAutogradContext"),
        (lambda: optim.DistributedOptimizer(torch.optim.SGD, []), "DistributedOptimizer"),
        (lambda: _runtime_utils._post_backward_final_callback(None, None), "_post_backward_final_callback"),
        (lambda: _attention.set_rotate_method("ring"), "ring for kv shards"),
        (lambda: pipelining.pipeline(None, ()), "pipelining.pipeline"),
        (pipelining.pipe_split, "pipe_split"),
        (lambda: pipelining.build_stage(None, 0, None, "cpu"), "build_stage"),
        (pipelining.Pipe, "Pipe"),
        (
            lambda: _maybe_wrap_with_numa_binding(len, gpu_index=0, numa_options=NumaOptions(AffinityMode.NODE)),
            "processors near a GPU",
        ),
        (lambda: torch.profiler._memory_profiler.MemoryProfileTimeline(None), "MemoryProfileTimeline"),
    ):
        with pytest.raises(NotImplementedError, match=said):
            call()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.distributed.nothing")


def test_wrapping_policies():
    from torch.distributed.fsdp.wrap import (
        CustomPolicy,
        ModuleWrapPolicy,
        enable_wrap,
        size_based_auto_wrap_policy,
        wrap,
    )

    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.Linear(2, 2)))
    assert set(ModuleWrapPolicy({torch.nn.Linear})._run_policy(model, set(), {})) == {model[0], model[1][0]}
    chosen = CustomPolicy(lambda m: {"a": 2} if m is model[0] else False)._run_policy(model, set(), {"a": 1, "b": 3})
    assert chosen == {model[0]: {"a": 2, "b": 3}}
    assert size_based_auto_wrap_policy(model, True, 10, min_num_params=5) and not size_based_auto_wrap_policy(
        model, True, 4, min_num_params=5
    )
    with enable_wrap(wrapper_cls=lambda module, name: (module, name), name="x"):
        assert wrap(model) == (model, "x") and wrap(model, name="y") == (model, "y")
    assert wrap(model) is model and inspect.isfunction(wrap)
