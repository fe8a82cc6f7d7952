"""Names below torch's documented ones that many libraries use: programs that give what they give in PyTorch."""

import inspect
import sys

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def case_scatter_gather(torch):
    from torch.nn.parallel.scatter_gather import gather, is_namedtuple, scatter, scatter_kwargs

    return [
        scatter([1, (2, {"a": 3})], [0, 1]),
        scatter((), [0, 1]),
        scatter_kwargs((1,), {"a": 2}, [0]),
        scatter_kwargs((), {"a": 2}, [0, 1]),
        answer(lambda: gather([(torch.ones(1),)], "cpu")),
        is_namedtuple(torch.ones(2).max(0)),
        is_namedtuple((1,)),
    ]


def case_parse_to(torch):
    parse = torch._C._nn._parse_to
    return [
        [str(v) for v in parse(*args, **kwargs)]
        for args, kwargs in [
            (("cpu", torch.float64), {"non_blocking": True}),
            ((torch.zeros(2),), {}),
            ((torch.float16,), {}),
            ((), {"memory_format": torch.channels_last}),
        ]
    ] + [answer(lambda: parse("cpu", copy=True))]


def case_futures(torch):
    f, seen = torch.futures.Future(), []
    after = f.then(lambda done: done.value() + 1)
    f.add_done_callback(lambda done: seen.append(done.wait()))
    before = f.done()
    f.set_result(3)
    broken = torch.futures.Future[int]()
    broken.set_exception(ValueError("no"))
    return [
        before,
        f.done(),
        after.wait(),
        seen,
        isinstance(f, torch.Future),
        answer(broken.wait),
        torch.futures.wait_all([f, after]),
    ]


def case_storage_size(torch):
    return [sys.getsizeof(torch.zeros(n, dtype=torch.float64).untyped_storage()) for n in (0, 3, 100)]


def case_vmap_wrappers(torch):
    c, seen = torch._C._functorch, []
    x = torch.arange(6.0).reshape(2, 3)

    def f(t):
        seen.append(
            [
                c.is_batchedtensor(t),
                c.maybe_get_level(t),
                c.is_functorch_wrapped_tensor(t),
                c.is_gradtrackingtensor(t),
                c.current_level(),
            ]
        )
        seen.append([c.get_unwrapped(t).sum(), torch._C._are_functorch_transforms_active()])
        return t * 2

    y = torch.vmap(f, in_dims=1)(x)
    level = c._vmap_increment_nesting(2, "error")
    t = c._add_batch_dim(x, 0, level)
    values, dim = c._unwrap_batched(t * 3, level)
    removed = [c._remove_batch_dim(t * 2, level, 2, 1), c._remove_batch_dim(torch.ones(3), level, 2, 0)]
    ended = c._vmap_decrement_nesting()
    return [
        y,
        seen,
        level,
        t.shape,
        values,
        dim,
        removed,
        ended,
        c.is_batchedtensor(x),
        c.maybe_get_level(x),
        c.maybe_get_bdim(x),
        c.maybe_current_level(),
    ]


def case_vmap_seams(torch):
    """Programs replace these functions to teach vmap structures of their own."""
    from torch._functorch import vmap as module

    size, dims, leaves, spec = module._process_batched_inputs((1, None), (torch.ones(2, 3), 5), len)
    kept, calls = module._create_batched_inputs, []

    def counting(*args):
        calls.append(args[0])
        return kept(*args)

    module._create_batched_inputs = counting
    try:
        result = torch.vmap(lambda a, b: a * b, (1, None))(torch.ones(2, 3), 5)
    finally:
        module._create_batched_inputs = kept
    return [size, dims, len(leaves), calls, result, module._get_name(len)]


def case_functorch(torch):
    import functorch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    model[0].weight.data.copy_(torch.arange(6.0).reshape(2, 3) / 10)
    model[0].bias.data.fill_(0.5)
    x = torch.arange(6.0).reshape(2, 3)
    f, params, buffers = functorch.make_functional_with_buffers(model)
    g, weights = functorch.make_functional(model[0])
    many, stacked, _ = functorch.combine_state_for_ensemble([model[0], model[0]])
    return [
        f(params, buffers, x),
        len(buffers),
        functorch.grad(lambda p: g(p, x).sum())(weights),
        torch.vmap(many, (0, 0, None))(stacked, (), x),
        answer(lambda: functorch.make_functional(model)),
        isinstance(f, functorch.FunctionalModuleWithBuffers),
    ]


def case_named_members(torch):
    from torch.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor

    model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    a = NamedMemberAccessor(model)
    new = torch.full((1, 2), 7.0)
    old = a.swap_tensor("0.weight", new)
    missing = a.check_keys(["0.bias", "2.x"])
    before, absent = a.swap_tensors_dict({"0.extra": torch.ones(1)}, allow_missing=True)
    return [
        isinstance(old, torch.nn.Parameter),
        model[0].weight,
        list(dict(a.named_tensors())),
        missing,
        absent,
        answer(lambda: a.swap_tensors_dict({"0.bias": torch.ones(1), "0.nothing": torch.ones(1)})),
        model[0].bias.shape,
        answer(lambda: a.get_submodule("5")),
        answer(lambda: a.get_tensor("0.in_features")),
        answer(lambda: swap_tensor(model, "a.b", new)),
        [t.shape for t in a.get_tensors(["1.running_mean", "0.bias"])],
    ]


def case_foreach_groups(torch):
    from torch.utils import _foreach_utils as f

    a, b = torch.ones(1), torch.ones(1, dtype=torch.float64)
    groups = f._group_tensors_by_device_and_dtype([[a, b, a], [b, None, a], []], with_indices=True)
    rows = sorted([str(device), str(dtype), *found] for (device, dtype), found in groups.items())
    return [
        rows,
        f._has_foreach_support([a, None], torch.device("cpu")),
        f._has_foreach_support([torch.nn.Parameter(a)], torch.device("cuda")),
    ]


def case_autograd_profile(torch):
    profiler, states = torch.autograd.profiler, [torch.autograd._profiler_enabled()]
    with profiler.profile(record_shapes=True) as p:
        states.append(torch.autograd._profiler_enabled())
        with profiler.record_function("mine"):
            torch.ones(3).add(1)
    names = [e.name for e in p.function_events]
    again = answer(p.__enter__)
    return [
        states,
        isinstance(p.function_events, profiler.EventList),
        "mine" in names and "aten::add" in names,
        p.self_cpu_time_total > 0,
        {e.key: e.count for e in p.key_averages()}["mine"],
        "aten::add" in p.table(sort_by="cpu_time_total"),
        again,
        answer(lambda: str(profiler.profile())),
        answer(lambda: profiler.emit_nvtx().__enter__()),
    ]


def case_enumerations(torch):
    t = torch.autograd.DeviceType
    return [
        t.CUDA.value,
        t.PrivateUse1.name,
        str(torch.Tag.core),
        torch.Tag is torch._C.Tag,
        torch.Tag.pointwise in torch.ops.aten.add.Tensor.tags,
    ]


def case_flags(torch):
    from torch.backends import __allow_nonbracketed_mutation as allowed

    with allowed():
        inside = torch.backends.flags_frozen()
    return [inside, torch.backends.flags_frozen(), torch.serialization.MAP_LOCATION is not None]


def case_dispatch_keys(torch):
    k, s = torch._C.DispatchKey, torch._C.DispatchKeySet
    both = s(k.CPU) | s(k.AutogradCPU)
    kernels = [
        ("aten::add.Tensor", "CPU"),
        ("aten::add.Tensor", "CompositeImplicitAutograd"),
        ("aten::linear", "CompositeImplicitAutograd"),
    ]
    return [
        [str(k.CPU), int(k.Meta), int(k.AutogradXPU), int(k.SparseCUDA), k.QuantizedHPU.name],
        [
            repr(both),
            both.has(k.CPU),
            str(both.highestPriorityTypeId()),
            repr(both.remove(k.CPU)),
            repr(both - both),
            s(k.CPU) == s(k.CPU),
        ],
        repr(torch._C._dispatch_keys(torch.ones(2))),
        repr(torch._C._dispatch_keys(torch.ones(2, device="meta"))),
        [torch._C._dispatch_key_for_device("cpu"), str(torch._C._dispatch_key_parse("CPU"))],
        [torch._C._dispatch_has_kernel_for_dispatch_key(*a) for a in kernels],
        answer(lambda: torch._C._dispatch_has_kernel_for_dispatch_key("no_such::operator", "CPU")),
    ]


def case_operators_by_name(torch):
    x = torch.arange(9.0).reshape(1, 1, 3, 3)
    written = [
        a.alias_info.is_write
        for a in torch._C.parse_schema("f(Tensor! out, Tensor(b!)? c=None) -> ()").arguments
        if a.alias_info
    ]
    return [
        torch.ops.aten._convolution(
            x, torch.ones(1, 1, 2, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True
        ),
        torch.ops.aten._unsafe_index(x[0, 0], [torch.tensor([0, 2])]),
        torch.ops.aten.hardtanh_(x.clone(), 1, 4),
        torch.ops.aten._pin_memory.default._schema.name.partition("::")[2],
        written,
    ]


def case_foreach_rest(torch):
    a, b = [torch.tensor([1.0, -2.0])], [torch.tensor([0.0, 3.0])]
    results = [
        torch._foreach_clone(a),
        torch._foreach_powsum(a),
        torch._foreach_powsum(a, 3),
        torch._foreach_mm([torch.ones(2, 2)], [torch.ones(2, 1)]),
    ]
    for f in (torch._foreach_maximum_, torch._foreach_minimum_, torch._foreach_copy_):
        c = torch._foreach_clone(a)
        results.append([f(c, b), c] if f is torch._foreach_copy_ else [f(c, b) is None, c])
    torch._foreach_zero_(a)
    return [results[:4], [c for _, c in results[4:]], a]


def case_assert(torch):
    class Traced(torch.nn.Module):
        def forward(self, x):
            torch._assert(x.shape[0] == 2, "two rows")
            return x + 1

    traced = torch.fx.symbolic_trace(Traced())
    return [
        [n.name for n in traced.graph.nodes],
        answer(lambda: traced(torch.ones(3))),
        traced(torch.ones(2)),
        answer(lambda: torch._assert(torch.tensor(False), "m")),
    ]


def case_files(torch):
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x")
        t = torch.from_file(path, shared=True, size=4)
        t.fill_(2)
        del t
        errors = [
            answer(f) for f in (lambda: torch.from_file(path + "y", size=2), lambda: torch.from_file(path, size=20))
        ]
        return [
            os.path.getsize(path),
            torch.from_file(path, size=3),
            torch.from_file(path, False, 2, dtype=torch.float64),
            [e[1].replace(folder, "").split(":")[0] for e in errors],
        ]


def case_tangents(torch):
    ad = torch.autograd.forward_ad
    with ad.dual_level() as level:
        found = [level, ad.unpack_dual(torch.ones(2))]
    return [found, answer(lambda: ad.make_dual(torch.ones(2), torch.ones(2)))[0], ad.unpack_dual(torch.ones(1)).tangent]


def case_sparse_types(torch):
    i = torch.tensor([[0, 1], [1, 0]])
    s = torch.sparse_coo_tensor(i, torch.ones(2), (2, 2))
    made = torch.sparse.DoubleTensor(i, torch.ones(2, dtype=torch.float64), torch.Size([2, 2]))
    return [
        isinstance(s, torch.sparse.FloatTensor),
        isinstance(s, torch.sparse.DoubleTensor),
        isinstance(i, torch.sparse.LongTensor),
        made.to_dense(),
    ]


def case_kl_of_any_class(torch):
    from torch.distributions.kl import _KL_REGISTRY, register_kl

    class Mine:
        pass

    register_kl(Mine, torch.distributions.Normal)(lambda p, q: 1)
    return [
        (Mine, torch.distributions.Normal) in _KL_REGISTRY,
        answer(lambda: register_kl("x", torch.distributions.Normal))[0],
    ]


def case_cuda_names(torch):
    from torch.cuda import comm

    def profiled():
        with torch.cuda.profiler.profile():
            pass

    return [
        torch.cuda._lazy_call(print),
        answer(profiled),
        answer(torch.cuda.sparse.FloatTensor),
        callable(comm.gather),
    ]


def case_overrides_through_super(torch):
    """What a subclass of Parameter hands on with super() arrives as it was given."""

    class Mine(torch.nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    class Apart(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    p, a = Mine(torch.ones(2)), torch.ones(2).as_subclass(Apart)
    p.data = torch.full((2,), 3.0)
    return [
        p + 1,
        p.sum().item(),
        torch.stack([p, p]),
        a + 1,
        type(a + 1).__name__,
        a.__torch_function__(torch.add, (), (torch.ones(1), 1)),
        p.T.shape,
    ]


def case_numpy_where_nothing_is_recorded(torch):
    import numpy as np

    v = torch.nn.Parameter(torch.ones(2)).view(-1)
    with torch.no_grad():
        inside = [v.numpy(), np.asarray(v), v.requires_grad]
    return [inside, answer(v.numpy), answer(lambda: np.asarray(v)), v.numpy(force=True)]


def case_callbacks_of_a_pass_within_a_pass(torch):
    """Those queued within a nested backward (a reentrant checkpoint) run at its end, not at the end of the outer
    one.
    """
    engine, logs = torch.autograd.Variable._execution_engine, []

    def hook(name, log):
        def h(g):
            log.append("hook " + name)
            engine.queue_callback(
                lambda: (log.append("first " + name), engine.queue_callback(lambda: log.append("second " + name)))
            )

        return h

    for through in (lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=True), lambda f, x: f(x)):
        a, b, log = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), []
        a.weight.register_hook(hook("inner", log))
        b.weight.register_hook(hook("outer", log))
        b(through(a, torch.ones(1, 2, requires_grad=True))).sum().backward()
        logs.append(log)
    return logs


def case_fake_mode_in_use(torch):
    from torch._subclasses import FakeTensorMode

    before = torch._guards.active_fake_mode()
    with FakeTensorMode() as mode:
        t = torch.ones(2)
        inside = [torch._guards.active_fake_mode() is mode, torch._guards.detect_fake_mode() is mode]
    return [
        before,
        inside,
        torch._guards.detect_fake_mode([1, t]) is mode,
        torch._guards.detect_fake_mode([torch.ones(1)]),
    ]


def case_observers(torch):
    q = torch.ao.quantization
    x, y = torch.tensor([-1.0, 2.0, 3.0]), torch.tensor([[-1.0, 2.0, 5.0], [0.0, 1.0, 0.5]])
    results = []
    for make in (
        q.MinMaxObserver,
        q.MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric),
        q.MinMaxObserver.with_args(qscheme=torch.per_tensor_symmetric),
        q.MinMaxObserver.with_args(reduce_range=True),
        q.MovingAverageMinMaxObserver,
        q.default_observer,
        q.default_weight_observer,
    ):
        observer = make()
        unseen = answer(observer.calculate_qparams)
        same = observer(x) is x
        observer(y)
        results.append(
            [
                unseen,
                same,
                observer.calculate_qparams(),
                observer.quant_min,
                observer.quant_max,
                dict(observer.state_dict()),
                observer.extra_repr(),
            ]
        )
    channels = q.default_per_channel_weight_observer()
    channels(y)
    channels(y * 2)
    config = q.QConfig(activation=q.default_observer, weight=q.default_weight_observer)
    wrapped = q.QuantWrapper(torch.nn.Identity())
    functional = torch.ao.nn.quantized.FloatFunctional()
    return [
        results,
        channels.calculate_qparams(),
        answer(lambda: q.QConfig(q.MinMaxObserver(), None)),
        type(config.weight()).__name__,
        [n for n, _ in wrapped.named_modules()],
        wrapped(x),
        [functional.add(x, x), functional.add_relu(x, -2 * x), answer(lambda: functional(x))],
        torch.quantization.ObserverBase is q.ObserverBase,
    ]


def case_subclass_with_properties_of_its_own(torch):
    class Boxes(torch.Tensor):
        @property
        def dtype(self):
            with torch._C.DisableTorchFunctionSubclass():
                return super().dtype

        @property
        def device(self):
            with torch._C.DisableTorchFunctionSubclass():
                return super().device

    b = torch.ones(2, 3).as_subclass(Boxes)
    return [b.dtype, b.device, type(b + 1).__name__, (b * 2).sum().item(), b.detach().dtype, torch.Tensor(b).dtype]


def case_annotations_and_registrations(torch):
    from torch._custom_ops import get_ctx
    from torch.jit.annotations import BroadcastingList2
    from torch.onnx import register_custom_op_symbolic, symbolic_helper, symbolic_opset11
    from torch.utils.model_zoo import tqdm

    @symbolic_helper.parse_args("v", "i")
    def write(g, x, n):
        return x, n

    return [
        BroadcastingList2[int],
        write(None, 1, 2),
        register_custom_op_symbolic("own::operator", write, 11),
        callable(symbolic_opset11.select),
        torch.jit._script_if_tracing(lambda x: x + 1)(1),
        callable(tqdm),
        callable(get_ctx),
    ]


def case_named_results_of_out(torch):
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    r = torch.max(x, 1, out=(torch.empty(0), torch.empty(0, dtype=torch.int64)))
    plain = [c.__name__ for c in torch.return_types.all_return_types if not c.__name__.endswith("_out")]
    return [type(r).__name__, r.values, r.indices, isinstance(r, torch.return_types.max_out), plain]


def case_whether_backward_may_use_threads(torch):
    with torch.autograd.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    return [inside, torch.autograd.is_multithreading_enabled(), type(torch.autograd.kineto_available()).__name__]


def case_dim_order(torch):
    x = torch.empty(1, 2, 3, 4)
    formats = [torch.channels_last, torch.contiguous_format]
    checks = [True, "x", formats, [torch.channels_last]]
    orders = [
        t.dim_order()
        for t in (
            x,
            torch.empty(2, 3).t(),
            torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last),
            torch.empty(()),
        )
    ]
    return orders + [answer(lambda c=c: x.dim_order(ambiguity_check=c)) for c in checks]


def case_grad_dtype(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float16
    (x * 2).sum().backward()
    seen = [x.grad, answer(lambda: setattr(x, "grad_dtype", torch.float32))]
    x.grad = x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float64)
    y = x * 2
    return [
        *seen,
        x.grad,
        x.grad_dtype,
        answer(lambda: y.grad_dtype),
        answer(lambda: setattr(x, "grad_dtype", 3)),
        torch.ones(2, dtype=torch.int8).grad_dtype,
    ]


def case_grad_layout(torch):
    p, strides = torch.empty(2, 3, 4).permute(2, 0, 1).requires_grad_(), []
    for enforced in (False, True):
        with torch.autograd.enforce_grad_layout_policy(enforced):
            p.grad = None
            (p * 2).sum().backward()
        strides.append(p.grad.stride())
    return strides


def case_hash_tensor(torch):
    x = torch.arange(24).reshape(2, 3, 4)
    dims = (0, -1, (0, 2), [], (1,))
    wrong = [
        lambda: torch.hash_tensor(x, mode=1),
        lambda: torch.hash_tensor(torch.ones(0)),
        lambda: torch.hash_tensor(x.to(torch.complex64)),
    ]
    return [
        torch.hash_tensor(x.to(d), dim, keepdim=True).tolist() for d in (torch.int64, torch.bfloat16) for dim in dims
    ] + [answer(f) for f in wrong]


def case_rearrange(torch):
    x = torch.arange(144.0).reshape(2, 4, 6, 3)
    good = [(p, {}) for p in ("b h w c -> b (c h w)", "... c -> c ...", "b ... -> (b ...)", "b h w (c 1) -> b c h w")]
    good.append(("b (h k) (w l) c -> b h w (c k l)", {"k": 2, "l": 2}))
    bad = [
        ("b h -> b", {}),
        ("b h w c -> b h w c", {"z": 2}),
        ("b b w c -> b w c", {}),
        ("b (...) -> b", {}),
        ("b h w c", {}),
    ]
    values = [torch.func.rearrange(x, pattern, **sizes) for pattern, sizes in good]
    return [[v.shape, v] for v in values] + [answer(lambda p=p, k=k: torch.func.rearrange(x, p, **k)) for p, k in bad]


def case_causal_biases(torch):
    from torch.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left

    attention = torch.nn.functional.scaled_dot_product_attention
    q, k = torch.arange(24.0).reshape(1, 2, 3, 4) / 24, torch.arange(40.0).reshape(1, 2, 5, 4) / 40
    out = [[*CausalVariant], answer(lambda: causal_upper_left(3))]
    for make in (causal_lower_right, causal_upper_left):
        b = make(3, 5)
        out += [
            isinstance(b, CausalBias),
            b.variant,
            attention(q, k, k, attn_mask=b),
            repr(b),
            answer(lambda b=b: attention(q, k, k, attn_mask=b, is_causal=True)),
        ]
    return out


def case_monitor(torch):
    import datetime

    from torch import monitor

    seen, A = [], monitor.Aggregation
    handle = monitor.register_event_handler(seen.append)
    monitor.log_event(monitor.Event(name="x", timestamp=datetime.datetime(2020, 1, 1), data={"a": 1, "b": 2.5}))
    stat = monitor.Stat("s", [A.SUM, A.MEAN, A.COUNT, A.MIN, A.MAX], datetime.timedelta(days=9000), 3)
    for v in (1, 2, 6, 7):
        stat.add(v)
    monitor.unregister_event_handler(handle)
    monitor.log_event(seen[0])
    values = sorted((str(k), v) for k, v in stat.get().items())
    return [stat.count, stat.name, values, [(e.name, sorted(e.data.items())) for e in seen], monitor.STAT_EVENT]


def case_redispatch(torch):
    from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, redispatch_function

    seen = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args, kwargs=None):
            seen.append(func.__name__)
            return redispatch_function(func, types, args, kwargs)

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args, kwargs=None):
            seen.append(func.__name__)
            with self:
                return redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if has_torch_function((a, b)):
            return handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    r = scaled(Logging(torch.tensor([3.0])), Logging(torch.tensor([4.0])))
    with Mode():
        s = scaled(torch.tensor([3.0]), torch.tensor([4.0]))
    return [seen, r, type(r).__name__, s]


def case_star_imports(torch):
    """Names that are found when they are asked for come with `import *` too, and are listed by dir()."""
    wanted = {
        "torch": "add relu Tensor float32",
        "torch.nn.functional": "relu conv2d pad softmax one_hot grid_sample",
        "torch.linalg": "norm svd eigh",
        "torch.fft": "fft rfft fftshift",
        "torch.special": "expit i0 zeta",
        "torch.utils": "data checkpoint swap_tensors",
        "torch.nn.parallel": "DataParallel DistributedDataParallel",
        "torch.distributed": "all_reduce Backend ReduceOp init_process_group",
        "torch.distributed.distributed_c10d": "all_reduce Backend",
        "torch.return_types": "max svd all_return_types",
    }
    found = []
    for module, names in wanted.items():
        got: dict = {}
        exec(f"from {module} import *", got)
        listed = dir(__import__(module, fromlist=["x"]))
        found.append([[name in got, name in listed] for name in names.split()])
    return found


def case_tuned_parameters_of_sparse_kernels(torch):
    from torch.sparse._triton_ops_meta import get_meta, minimize, update

    op, version = "bsr_dense_addmm", (0, torch.float16, 0.25)
    for key, value in (((1, 2), (1, 2, 3, 4)), ((1, 3), (5, 6, 7, 8))):
        update(op, "a device", version, key, value)

    def target(p):
        if p["a"] > 4:
            raise RuntimeError("out of resource")
        return float((p["a"] - 3) ** 2 + (p["b"] + 1) ** 2 + 1)

    def step(name, value, direction, parameters):
        return value + direction if -2 <= value + direction <= 6 else value

    return [
        get_meta(op, (1, 2), "a device", version),
        get_meta(op, (1, "*"), "a device", version),
        get_meta(op, (9, 9), "a device", version),
        get_meta(op, (1, 2), "another", version),
        *minimize(target, {"a": 0, "b": 0}, {"a": 1, "b": 1}, step),
        answer(lambda: minimize(target, {"a": 9, "b": 0}, {"a": 8, "b": 1}, step)[0]),
    ]


def case_names_that_libraries_import(torch):
    import torch.utils._device
    from torch.utils.data.dataloader import _collate_fn_t, _worker_init_fn_t

    with torch.utils._device.DeviceContext("meta"):
        inside = torch.ones(2).device
    made = torch.utils._device.set_device("meta")(lambda: torch.ones(2))()
    script = lambda x: x + 1  # noqa: E731
    torch.jit._state.disable()
    try:
        off = torch.jit.script(script) is script, bool(torch.jit._state._enabled)
    finally:
        torch.jit._state.enable()
    types = torch.TensorType.get() == torch._C.TensorType.get(), torch.DeviceObjType.__name__
    return [str(_collate_fn_t), str(_worker_init_fn_t), inside, made.device, off, types]


def case_schema_of_optional_numbers(torch):
    from typing import Optional, Union

    def f(x: torch.Tensor, a: Optional[Union[int, float, bool]] = None, b: Union[int, float, bool] = 2) -> torch.Tensor:  # noqa: UP007, UP045
        return x

    return torch.library.infer_schema(f, mutates_args=())


def case_parts_of_data_loaders(torch):
    import os

    from torch.distributed.elastic.utils.distributed import get_free_port, get_socket_with_port
    from torch.utils.data._utils import HAS_NUMPY, signal_handling, worker
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    class Twice(_BaseDataLoaderIter):
        def _next_data(self):
            return [self._next_index()] * 2

    def failed(status):
        if (pid := os.fork()) == 0:
            os._exit(status)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        signal_handling._set_worker_pids(1, (pid,))
        try:
            return signal_handling._error_if_any_worker_fails()
        except RuntimeError as e:
            return str(e).replace(str(pid), "PID")  # whose length varies
        finally:
            signal_handling._remove_worker_pids(1)
            os.waitpid(pid, 0)

    loader = torch.utils.data.DataLoader(torch.arange(5), batch_size=2)
    with get_socket_with_port() as sock:
        free = sock.getsockname()[1] != get_free_port()
    watch = worker.ManagerWatchdog()
    unknown = answer(lambda: signal_handling._remove_worker_pids(7))[0]
    return [
        list(Twice(loader)),
        HAS_NUMPY,
        watch.is_alive(),
        failed(0),
        failed(3),
        unknown,
        free,
        "align_tensors" in torch.__all__,
    ]


def case_parameters_and_wrong_calls(torch):
    """Parameters, and wrong calls, of functions in Python."""
    import torch.nn.utils.prune

    prune, c, d, A = torch.nn.utils.prune, torch.distributions.constraints, torch.distributions, torch.accelerator
    scaler, linear = torch.amp.GradScaler("cpu"), torch.nn.Linear(2, 2)
    functions = [
        prune.Identity.apply,
        prune.RandomUnstructured.apply,
        prune.L1Unstructured.apply,
        prune.RandomStructured.apply,
        prune.LnStructured.apply,
    ]
    functions += [
        prune.CustomFromMask.apply,
        c.greater_than,
        c.less_than,
        c.interval,
        c.half_open_interval,
        c.integer_interval,
        c.multinomial,
    ]
    functions += [
        c.greater_than(0).check,
        c.unit_interval.check,
        d.MixtureSameFamily.log_prob,
        scaler.set_growth_factor,
        scaler.set_growth_interval,
    ]
    functions += [
        torch.multiprocessing.ProcessRaisedException,
        torch.random.fork_rng,
        torch.enable_grad,
        A.synchronize,
        A.empty_cache,
        A.set_stream,
    ]
    functions += [
        A.memory_stats,
        torch.fx.Graph.python_code,
        torch.fx.GraphModule.print_readable,
        torch.fx.Node.format_node,
        torch.library.register_fake,
    ]
    functions += [
        torch.library.Library.impl,
        torch.nn.NLLLoss2d.__init__,
        torch.utils.data.IterDataPipe.set_getstate_hook,
        torch.cuda.amp.custom_fwd,
    ]
    calls = [lambda: c.greater_than(), lambda: c.interval(1), lambda: c.less_than(1, 2), lambda: repr(c.multinomial(3))]
    calls += [
        lambda: A.empty_cache(1),
        lambda: A.memory_allocated(device_index=1),
        lambda: A.set_stream(),
        lambda: A.synchronize(1, 2),
        lambda: A.synchronize(),
    ]
    calls += [
        lambda: torch.UntypedStorage(foo=1),
        lambda: prune.Identity.apply(linear, "weight", 1),
        lambda: prune.L1Unstructured.apply(linear, "weight"),
    ]
    calls += [
        lambda k=k: torch.random.fork_rng(**k).__enter__()
        for k in ({"devices": [0]}, {"device_type": "cpu"}, {"device_type": "hpu"}, {"devices": 3})
    ]
    return [[(p.name, p.kind.name) for p in inspect.signature(f).parameters.values()] for f in functions], [
        answer(f) for f in calls
    ]


def case_kernels_that_replace_one_another(torch):
    first = torch.library.Library("replaced", "DEF")
    first.define("f(Tensor x) -> Tensor")
    found = []
    for n in (1, 2):
        first.impl("f", lambda x, n=n: x + n, "CPU")
        found.append(torch.ops.replaced.f(torch.ones(1)))
    second = torch.library.Library("replaced", "IMPL")
    found.append(answer(lambda: second.impl("f", lambda x: x, "CPU", allow_override=False)))
    second.impl("f", lambda x: x + 3, "CPU")
    found.append(torch.ops.replaced.f(torch.ones(1)))
    for _ in range(2):
        torch.library.register_fake("replaced::f", lambda x: x)
    refused = answer(lambda: torch.library.register_fake("replaced::f", lambda x: x, allow_override=False))
    return [*found, refused[0], refused[1].partition(" at ")[0]]


def case_pipes_hooks_and_streams(torch):
    import io
    import pickle

    from torch.utils.data import IterDataPipe, MapDataPipe
    from torch.utils.data.datapipes.iter import IterableWrapper
    from torch.utils.data.datapipes.utils.common import StreamWrapper

    found, pipe = [], IterableWrapper([1, 2])
    try:
        IterDataPipe.set_getstate_hook(lambda state: {"kept": sorted(state)})
        found.append(sorted(vars(pickle.loads(pickle.dumps(pipe)))))
        found.append(answer(lambda: IterDataPipe.set_getstate_hook(len)))
        IterDataPipe.set_reduce_ex_hook(lambda p: (list, ([3],)))
        found += [
            pickle.loads(pickle.dumps(pipe)),
            MapDataPipe.getstate_hook,
            answer(lambda: IterDataPipe.set_reduce_ex_hook(len)),
        ]
    finally:
        IterDataPipe.set_getstate_hook(None), IterDataPipe.set_reduce_ex_hook(None)
    archive, log = io.StringIO("a"), []
    parent = StreamWrapper(archive, name="archive")
    members = [StreamWrapper(io.StringIO("m"), parent, name=str(i)) for i in range(2)]
    parent.autoclose()
    log.append([parent.closed, parent.child_counter])
    for m in members:
        m.close()
        log.append([parent.closed, archive.closed, repr(m).partition(",")[0]])
    return [*found, *log, answer(lambda: StreamWrapper(archive, 3)), "read" in dir(members[0]), StreamWrapper(3).closed]


def case_dir_lists_submodules(torch):
    """What copies a module by its dir() gets them too; `import *` does not give them."""
    public = (
        "nn optim special linalg fft sparse autograd distributions jit fx func utils cuda distributed testing".split()
    )
    return [[n in dir(torch) for n in public], [n in torch.__all__ for n in public], dir(torch) == sorted(dir(torch))]


def case_callbacks_of_futures(torch):
    from torch.futures import Future

    failed, done = Future(), Future()
    failed.set_exception(KeyError("x"))
    done.set_result(1)
    calls = [
        failed.then(lambda f: f.wait()).wait,
        done.then(lambda f: 1 / 0).wait,
        done.then(lambda f: 1 / 0).value,
        failed.wait,
        done.then(lambda f: f.wait() + 1).wait,
    ]
    found = [answer(f) for f in [*calls, lambda: done.then(5), lambda: done.add_done_callback(5)]]
    return [f[:1] + [f[1].partition(" The following argument")[0]] if isinstance(f, list) else f for f in found]
