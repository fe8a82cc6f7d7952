"""Names below torch's documented ones that some libraries import or call: what they are, and what they say."""

import os
import queue
import sys
import tempfile
import threading
import types
import typing
import warnings

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT
OF_THE_MACHINE = ("case_processors",)

__warningregistry__ = {}


def case_bases_of_operators(torch):
    from torch._ops import HigherOrderOperator, OperatorBase, OpOverload

    operators = [torch.ops.aten.add.Tensor, torch.ops.aten.relu.default, torch.ops.aten.add, torch.add]
    bare = OperatorBase()
    return [isinstance(o, OperatorBase) for o in operators] + [
        issubclass(OpOverload, OperatorBase),
        issubclass(HigherOrderOperator, OperatorBase),
        answer(bare),
        answer(bare.name),
        torch.ops.aten.add.Tensor.name(),
    ]


def case_arguments_of_graphs(torch):
    from torch.fx.node import Argument as same
    from torch.fx.proxy import Argument

    return [Argument is same, typing.get_origin(Argument) is typing.Union, type(None) in typing.get_args(Argument)]


def case_names_of_checkpoints(torch):
    from torch.distributed.checkpoint import api, format_utils, state_dict_loader, utils
    from torch.distributed.fsdp._common_utils import FSDP_PREFIX, FSDP_WRAPPED_MODULE, clean_tensor_name

    names = [
        "a.weight",
        "_fsdp_wrapped_module.a._fsdp_wrapped_module.weight",
        "a._checkpoint_wrapped_module.b",
        "module.a",
    ]
    return [
        utils.CheckpointException is api.CheckpointException,
        format_utils._load_state_dict is state_dict_loader._load_state_dict,
        [clean_tensor_name(n) for n in names],
        FSDP_PREFIX,
        FSDP_WRAPPED_MODULE,
    ]


def case_modules_beneath(torch):
    """What is reached as an attribute without an import."""
    return [
        isinstance(torch._C._distributed_c10d, types.ModuleType),
        torch._C._distributed_c10d.Reducer.__name__,
        torch._C._get_cudnn_enabled(),
    ]


def case_operations_by_name(torch):
    function, overloads = torch._C._jit_get_operation("aten::relu")
    return [
        function(torch.tensor([-1.0, 2.0])),
        sorted(overloads),
        torch._C._jit_get_operation("aten::no_such_operator"),
    ]


def case_folders_of_extensions(torch):
    from torch.utils.cpp_extension import _get_build_directory, get_default_build_root

    kept = {n: os.environ.pop(n, None) for n in ("TORCH_EXTENSIONS_DIR", "XDG_CACHE_HOME")}
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            root, first = get_default_build_root(), _get_build_directory("one", verbose=False)
            os.environ["TORCH_EXTENSIONS_DIR"] = os.path.join(folder, "other")
            found = [
                os.path.relpath(p, folder)
                for p in (root, first, _get_build_directory("two", True), _get_build_directory("two", False))
            ]
            return [*found, os.path.isdir(first)]
    finally:
        os.environ.pop("TORCH_EXTENSIONS_DIR")
        del os.environ["XDG_CACHE_HOME"]
        os.environ.update({n: v for n, v in kept.items() if v is not None})


def case_compiling(torch):
    return [torch._dynamo.is_dynamo_supported(), torch._dynamo.eval_frame.is_dynamo_supported()]


def case_names_of_threads(torch):
    from torch.multiprocessing import _get_thread_name, _set_thread_name

    found = []

    def run():
        for name in ("short", "a name that is too long for the system", "", "é"):
            _set_thread_name(name)
            found.append(_get_thread_name())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return [*found, _get_thread_name() in found]


def case_processors(torch):
    names = (
        "_is_amx_fp16_supported _is_amx_tile_supported _is_avx2_supported _is_avx512_bf16_supported "
        "_is_avx512_supported _is_vnni_supported"
    )
    has = torch.cpu.get_capabilities()
    flags = (
        "aes amx_bf16 amx_int8 avx avx512_f avx512_vl avx512_vnni bmi bmi2 f16c fma3 lzcnt popcnt sha sse sse3 "
        "sse4_2 sse4a ssse3"
    ).split()
    return [getattr(torch.cpu, n)() for n in names.split()] + [
        has["architecture"],
        [has.get(f) for f in flags],
        torch.backends.cpu.get_cpu_capability(),
    ]


def case_mixin_of_convolutions(torch):
    from torch.nn.modules.conv import _ConvTransposeMixin, _ConvTransposeNd

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made = _ConvTransposeMixin(2, 3, (3,), (1,), (0,), (1,), True, (0,), 1, True, "zeros")
    kinds = [(w.category.__name__, str(w.message)) for w in seen]
    return [
        issubclass(_ConvTransposeMixin, _ConvTransposeNd),
        isinstance(torch.nn.ConvTranspose1d(1, 1, 1), _ConvTransposeMixin),
        kinds,
        made.weight.shape,
    ]


def case_memory_of_a_device_that_is_not_there(torch):
    memory = torch.cuda.memory
    calls = [
        lambda: torch.cuda._sleep(10),
        memory._snapshot,
        memory._dump_snapshot,
        lambda: memory._record_memory_history("all", max_entries=3),
        lambda: memory._record_memory_history(False),
        lambda: memory._record_memory_history(enabled=None),
    ]
    return [answer(f) for f in calls] + [hasattr(torch.cuda, "_snapshot")]


def case_kinds_of_memory(torch):
    from torch.profiler import _memory_profiler as m

    return [[k and k.name, color, m._CATEGORY_TO_INDEX[k]] for k, color in m._CATEGORY_TO_COLORS.items()] + [
        [k.value for k in m.Category]
    ]


def case_binding_to_processors(torch):
    from torch.numa.binding import AffinityMode, NumaOptions, _maybe_wrap_with_numa_binding

    options = NumaOptions(AffinityMode.NODE)
    return [
        [(m.name, m.value) for m in AffinityMode],
        repr(options),
        options == NumaOptions(AffinityMode("node"), False),
        answer(lambda: setattr(options, "affinity_mode", 3))[0],
        _maybe_wrap_with_numa_binding(len, gpu_index=0, numa_options=None) is len,
    ]


def case_a_thread_that_pins(torch):
    """Without an accelerator the thread ends at once, by the error of that."""
    loop, errors, kept = torch.utils.data._utils.pin_memory._pin_memory_loop, [], threading.excepthook
    threading.excepthook = lambda args: errors.append(args.exc_type.__name__)
    threads = torch.get_num_threads()
    try:
        thread = threading.Thread(target=loop, args=(queue.Queue(), queue.Queue(), 0, threading.Event(), None))
        thread.start()
        thread.join(30)
    finally:
        threading.excepthook = kept
        torch.set_num_threads(threads)
    return [thread.is_alive(), errors]


def case_points_of_pipelines(torch):
    from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline

    return [
        [(p.name, p.value) for p in SplitPoint],
        callable(pipeline),
        isinstance(ScheduleGPipe, type),
        "torch.distributed.pipelining" in sys.modules,
    ]


def case_attributes_of_graph_modules(torch):
    import copy

    from torch.fx.graph_module import (
        _USER_PRESERVED_ATTRIBUTES_KEY,
        _assign_attr,
        _CodeOnlyModule,
        _copy_attr,
        _get_attr,
    )

    source, target = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2))), torch.nn.Module()
    source[0].extra = torch.ones(1)
    for name in ("0.0.weight", "0.extra"):
        _copy_attr(source, target, name)
    _assign_attr(torch.zeros(2), target, "a.b.c")
    traced = torch.fx.symbolic_trace(source)
    traced.meta[_USER_PRESERVED_ATTRIBUTES_KEY] = {"kept": 3}
    return [
        sorted(target.state_dict()),
        _get_attr(target, "0.0.weight") is source[0][0].weight,
        answer(lambda: _get_attr(target, "a.x.c")),
        sorted(dict(_CodeOnlyModule(dict(source.__dict__)).named_parameters())),
        copy.deepcopy(traced).kept,
    ]


def case_sizes_as_tensors(torch):
    from torch.onnx.operators import reshape_from_tensor_shape, shape_as_tensor

    x = torch.arange(6.0).reshape(2, 3)
    return [shape_as_tensor(x), reshape_from_tensor_shape(x, torch.tensor([3, 2]))]


def case_nodes_of_gradients(torch):
    find = torch.autograd.graph._get_grad_fn_or_grad_acc
    leaf = torch.ones(2, requires_grad=True)
    other = leaf * 2
    found = [
        find(leaf).name(),
        find(other) is other.grad_fn,
        find(torch.autograd.graph.get_gradient_edge(other)) is other.grad_fn,
    ]
    return [*found, answer(lambda: find(torch.ones(2)))]


def case_small_names(torch):
    from torch.nn.attention.flex_attention import _mask_mod_signature, _score_mod_signature
    from torch.optim.optimizer import DeviceDict, StateDict, _stack_if_compiling, _view_as_real

    real, complex_, grads = (
        torch.ones(2),
        torch.ones(2, dtype=torch.complex64),
        [torch.ones(2), torch.zeros(2, dtype=torch.complex64)],
    )
    params = [real, complex_]
    _view_as_real(params, grads)
    cast = torch.cuda.amp.autocast_mode._cast({"a": [real, 3]}, torch.float16)
    torch.manual_seed(1)
    filled = torch.nn.init._no_grad_uniform_(torch.nn.Parameter(torch.zeros(3)), 2.0, 3.0)
    return [
        str(_mask_mod_signature),
        str(_score_mod_signature),
        str(DeviceDict).replace("typing.Optional[torch.device]", "torch.device | None"),
        str(StateDict),
        [p.shape for p in params],
        [g.shape for g in grads],
        _stack_if_compiling([real, real]),
        cast,
        bool(((filled >= 2) & (filled <= 3)).all()),
        filled.requires_grad,
        torch.random.Generator.__module__,
        torch.utils._device.__name__,
    ]


def case_shapes_of_attention(torch):
    check = torch.nn.functional._mha_shape_check
    one, two, three, four = torch.ones(2), torch.ones(4, 6), torch.ones(2, 4, 6), torch.ones(2, 2, 4, 6)
    cases = [
        (three, three, three, None, None),
        (two, two, two, None, None),
        (four, two, two, None, None),
        (three, two, three, None, None),
        (two, two, three, None, None),
        (three, three, three, one, None),
        (two, two, two, two, None),
        (three, three, three, two, one),
        (two, two, two, one, one),
        (two, two, two, one, torch.ones(2, 4, 5)),
        (two, two, two, one, torch.ones(2, 4, 4)),
        (two, two, two, one, two),
    ]
    return [answer(lambda case=case: check(*case, 2)) for case in cases]


def case_aliases_and_modes(torch):
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x, found = torch.ones(3, 3), [torch._C._is_torch_function_mode_enabled()]
    with Mode():
        found.append(torch._C._is_torch_function_mode_enabled())
        with torch._C.DisableTorchFunctionSubclass():
            found.append(torch._C._is_torch_function_mode_enabled())
        with torch._C.DisableTorchFunction():
            found.append(torch._C._is_torch_function_mode_enabled())
    alias = torch._C._is_alias_of
    return [*found, alias(x, x[0]), alias(x, x.clone()), alias(x.detach(), x.view(9))]


def case_building_of_extensions(torch):
    from torch.utils import cpp_extension as c

    ready = c.is_ninja_available()
    return [
        isinstance(ready, bool),
        (answer(c.verify_ninja_availability) is None) == ready,
        callable(c.SyclExtension),
        callable(c._get_cuda_arch_flags),
    ]
