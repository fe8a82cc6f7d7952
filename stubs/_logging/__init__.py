"""torch._logging: the levels of the loggers of torch's parts."""

import logging
import os

_COMPONENTS = {
    "dynamo": "torch._dynamo",
    "aot": "torch._functorch",
    "autograd": "torch.autograd",
    "inductor": "torch._inductor",
    "dynamic": "torch.fx.experimental",
    "distributed": "torch.distributed",
    "onnx": "torch.onnx",
    "export": "torch.export",
}
_OTHERS = set("c10d ddp fsdp dtensor".split())
_ARTIFACTS = set(
    """bytecode aot_graphs aot_joint_graph ddp_graphs graph graph_code graph_code_verbose graph_breaks side_effects
    graph_sizes guards recompiles recompiles_verbose trace_source trace_call trace_bytecode output_code kernel_code
    schedule perf_hints pre_grad_graphs post_grad_graphs ir_pre_fusion ir_post_fusion onnx_diagnostics fusion overlap
    cudagraphs sym_node compiled_autograd compiled_autograd_verbose cudagraph_static_inputs benchmarking autotuning
    incremental graph_region_expansion inductor_metrics hierarchical_compile compute_dependencies caching""".split()
)


def set_logs(*, all=None, modules=None, **settings):
    """Set the log levels of components by name; others return to their default.

    Settings of artifacts are accepted and ignored, because they concern compilation.
    """
    if "TORCH_LOGS" in os.environ:
        logging.getLogger(__name__).warning(
            "Using TORCH_LOGS environment variable for log settings, ignoring call to set_logs"
        )
        return
    for name in settings:
        if name not in _COMPONENTS and name not in _OTHERS and name not in _ARTIFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument {name!r}")
    for name, logger in _COMPONENTS.items():
        level = settings.get(name, all)
        logging.getLogger(logger).setLevel(logging.NOTSET if level is None else level)
    for name, level in (modules or {}).items():
        logging.getLogger(name).setLevel(level)


def getArtifactLogger(module_qname, artifact_name):
    """Return the logger of one artifact of a module."""
    return logging.getLogger(f"{module_qname}.__{artifact_name}")
