"""torch.utils, torch.testing, torch.masked, torch.library, torch.amp: programs that give what they give in PyTorch."""

import collections
import warnings

import numpy as np
from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def whole(f):
    """The same with the whole text."""
    try:
        return f()
    except Exception as e:
        return [type(e).__name__, str(e)]


class Squares:
    """A dataset that draws random numbers."""

    def __init__(self, torch, n):
        self.torch, self.n = torch, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"x": self.torch.full((2,), i), "y": i, "r": self.torch.rand(1), "n": np.random.rand(), "s": str(i)}

    def __reduce__(self):
        raise TypeError("workers are forked: nothing is pickled")


def stream(torch, n):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            w = torch.utils.data.get_worker_info()
            return iter(range(n)) if w is None else iter(range(w.id, n, w.num_workers))

    return Stream()


def case_items_of_datasets(torch):
    D, found = torch.utils.data, {}
    tensors = D.TensorDataset(torch.arange(4), torch.arange(4) * 2)
    for name, dataset in {
        "tensors": tensors,
        "concatenated": D.ConcatDataset([range(3), [], range(10, 12), tensors]),
        "subset": D.Subset(range(10, 20), [3, 1, 1, 9]),
        "stacked": D.StackDataset(range(4), tensors),
        "stacked by name": D.StackDataset(a=range(4), b=tensors),
        "added": tensors + tensors,
    }.items():
        found[f"{name} len"] = len(dataset)
        for i in range(-len(dataset) - 2, len(dataset) + 2):
            try:
                found[f"{name} {i}"] = dataset[i]
            except Exception as e:
                found[f"{name} {i}"] = f"{type(e).__name__}: {e}"
    return found


def case_numbers_of_batches(torch):
    D = torch.utils.data
    found = {}
    for n in range(10):
        for size in (1, 2, 3, 4):
            for drop in (False, True):
                sampler = D.BatchSampler(D.SequentialSampler(range(n)), size, drop)
                loader = D.DataLoader(range(n), size, drop_last=drop)
                found[f"{n} {size} {drop}"] = len(sampler), list(sampler), len(loader), [b.tolist() for b in loader]
    return found


def case_buckets_of_gradients(torch):
    assign = torch.distributed._compute_bucket_assignment_by_size
    found = {}
    for sizes in ([100] * 8, [100, 300, 50, 50, 400, 100], [400], [50, 1000, 50], [200, 200, 100, 100, 100]):
        tensors = [torch.empty(n // 4) for n in sizes]
        for limits in ([400], [200, 400], [100], [1 << 20], [401], [399]):
            found[f"{sizes} {limits}"] = assign(tensors, limits)
    mixed = [torch.empty(25, dtype=d) for d in (torch.float32, torch.float64, torch.float32, torch.float64) * 2]
    found["dtypes"] = assign(mixed, [200, 400])
    found["sparse"] = assign(mixed, [400], [False, True, False, False] * 2)
    return found


def case_data_orders(torch):
    D = torch.utils.data
    ds = D.TensorDataset(torch.arange(10), torch.arange(10) * 2.0)
    return [
        list(D.DataLoader(ds, 4, shuffle=True)),
        list(D.DataLoader(ds, batch_sampler=D.BatchSampler(D.SequentialSampler(ds), 3, True))),
        list(D.DataLoader(ds, 2, shuffle=True, generator=torch.Generator().manual_seed(3))),
        list(D.RandomSampler(range(10), replacement=True, num_samples=70)),
        list(D.RandomSampler(range(10), num_samples=25)),
        list(D.WeightedRandomSampler([1, 2, 3.0], 5)),
        list(D.SubsetRandomSampler([5, 6, 7])),
        list(D.DistributedSampler(range(10), 3, 1)),
        list(D.DistributedSampler(range(10), 3, 2, drop_last=True)),
        [len(D.DistributedSampler(range(n), 4, 2, drop_last=d)) for n in range(4, 13) for d in (False, True)],
        [s.indices for s in D.random_split(range(10), [0.3, 0.7])],
        [s.indices for s in D.random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(42))],
    ]


def case_data_workers(torch):
    D = torch.utils.data
    np.random.seed(0)
    persistent = D.DataLoader(
        Squares(torch, 7), 2, shuffle=True, num_workers=2, persistent_workers=True, prefetch_factor=3
    )
    again = D.DataLoader(stream(torch, 5), 2, num_workers=2, persistent_workers=True)
    return [
        list(D.DataLoader(Squares(torch, 6), 2, shuffle=True, num_workers=2)),
        list(persistent),
        list(persistent),
        list(D.DataLoader(stream(torch, 11), 2, num_workers=2)),
        list(D.DataLoader(stream(torch, 11), 2, num_workers=2, drop_last=True)),
        list(again),
        list(again),
        sorted(x for b in D.DataLoader(list(range(10)), 2, num_workers=2, in_order=False) for x in b.tolist()),
    ]


def case_data_worker_errors(torch):
    D = torch.utils.data

    class Bad(D.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            if i == 2:
                raise KeyError("boo")
            return i

    class Dies(Bad):
        def __getitem__(self, i):
            __import__("os")._exit(3)

    class Sleeps(Bad):
        def __getitem__(self, i):
            __import__("time").sleep(2)

    def init(i):
        raise ValueError("init")

    return [
        answer(lambda: list(D.DataLoader(Bad(), 2, num_workers=1))),
        answer(lambda: list(D.DataLoader(Bad(), 2))),
        answer(lambda: list(D.DataLoader(Dies(), num_workers=1)))[0],
        answer(lambda: list(D.DataLoader(Sleeps(), num_workers=1, timeout=0.5))),
        answer(lambda: list(D.DataLoader([1], num_workers=1, worker_init_fn=init))),
    ]


def case_data_collate_and_checks(torch):
    D = torch.utils.data
    P = collections.namedtuple("P", "a b")
    ds = D.TensorDataset(torch.arange(10), torch.arange(10) * 2.0)
    options = (
        dict(batch_size=0),
        dict(num_workers=-1),
        dict(timeout=-1),
        dict(prefetch_factor=2),
        dict(persistent_workers=True),
        dict(shuffle=True, sampler=[1]),
        dict(batch_sampler=[[1]], shuffle=True),
        dict(batch_size=None, drop_last=True),
        dict(multiprocessing_context="foo", num_workers=1),
        dict(multiprocessing_context="fork"),
    )
    return [
        answer(f)
        for f in (
            lambda: D.default_collate([P(1, 2.0), P(3, 4.0)]),
            lambda: D.default_collate([{"a": np.float32(1), "b": [1, 2]}] * 2),
            lambda: D.default_collate([[1], [1, 2]]),
            lambda: D.default_collate([object()]),
            lambda: D.default_collate([np.array(["a"])]),
            lambda: D.default_collate([True, False]),
            lambda: D.default_convert({"a": np.ones(2), "b": (1, np.float64(2)), "c": "x"}),
            lambda: D.ConcatDataset([range(3), range(5)])[-1],
            lambda: list(D.ChainDataset([stream(torch, 2), stream(torch, 3)])),
            lambda: D.StackDataset(a=range(3), b=range(3))[1],
            lambda: D.StackDataset(range(3), range(4)),
            lambda: D.StackDataset(ds, range(10)).__getitems__([1, 2]),
            lambda: D.Subset(ds, [3, 4])[1],
            lambda: D.random_split(range(10), [3, 8]),
            lambda: D.DataLoader(stream(torch, 3), shuffle=True),
            lambda: setattr(D.DataLoader(ds), "batch_size", 3),
            lambda: len(D.DataLoader(stream(torch, 5), 2)),
            lambda: list(D.DataLoader(stream(torch, 5), None)),
        )
    ] + [answer(lambda: list(D.DataLoader(ds, **o))) for o in options]


def case_pytree(torch):
    P = __import__("importlib").import_module("torch.utils._pytree")
    t = {
        "b": [1, 2],
        "a": (3, None, collections.OrderedDict(x=1)),
        "c": collections.deque([1], maxlen=3),
        "d": collections.defaultdict(list, a=(1,)),
    }
    leaves, spec = P.tree_flatten(t)
    return [
        leaves,
        repr(spec),
        P.treespec_dumps(spec),
        P.treespec_pprint(spec),
        P.treespec_loads(P.treespec_dumps(spec)) == spec,
        repr(P.tree_flatten_with_path(t)),
        [spec.num_nodes, spec.num_leaves, spec.num_children],
    ] + [
        whole(f)
        for f in (
            lambda: P.tree_unflatten([1], spec),
            lambda: P.tree_map(lambda a, b: 0, [1, 2], [1]),
            lambda: P.tree_map(lambda a, b: 0, [1, 2], (1, 2)),
            lambda: P.tree_map(lambda a, b: 0, {"a": 1}, {"b": 1}),
            lambda: P.register_pytree_node(list, None, None),
            lambda: P.treespec_dumps(1),
            lambda: P.treespec_loads("[3,{}]"),
            lambda: P.tree_map_only(3, lambda x: x, [1]),
            lambda: repr(P.tree_map(lambda a, b: (a, b), {"a": 1, "b": 2}, collections.OrderedDict(b=1, a=2))),
            lambda: list(P.tree_map(lambda x: x, torch.max(torch.eye(2), 0))),
            lambda: repr(P.tree_map_with_path(lambda p, x, y: (P.keystr(p), x, y), t, t)),
            lambda: P._broadcast_to_and_flatten([1, 2], P.tree_structure([[1, 2], 3])),
            lambda: repr(P.tree_map(lambda x: x + 1, torch.Size([1, 2]))),
            lambda: isinstance(P.tree_structure(1), P.LeafSpec),
        )
    ]


def case_assert_close(torch):
    t, nan, A = torch.tensor, float("nan"), torch.testing.assert_close
    pairs = [
        (1.0, 1.0 + 1e-7, {}),
        (1.0, 1.1, {}),
        (torch.ones(2), torch.ones(2).double(), {}),
        (torch.ones(2), torch.ones(2).double(), dict(check_dtype=False)),
        (torch.ones(2), torch.ones(3), {}),
        ([torch.ones(1)], [torch.ones(1)], {}),
        (t(nan), t(nan), {}),
        (t(nan), t(nan), dict(equal_nan=True)),
        (torch.ones(3), t([1, 1, 1.5]), dict(atol=1e-3, rtol=1e-3)),
        ({"a": 1}, {"a": 2}, {}),
        ({"a": 1, "b": 1}, {"a": 1, "c": 1}, {}),
        ([1, 2], [1], {}),
        ([1, [2, t([1.0, 2])]], [1, [2, t([1.0, 3])]], {}),
        (None, 1, {}),
        (True, False, {}),
        (1, 1.0, {}),
        ("a", "b", {}),
        (t([1, 2]), t([1, 3]), {}),
        (t([True]), t([False]), {}),
        (t([1, 2]), t([1, 3]), dict(rtol=0, atol=0)),
        (torch.ones(2), [1, 1], {}),
        (np.ones(2), np.ones(2) * 2, {}),
        (np.float32(1), np.float32(2), {}),
        (torch.ones(2), torch.ones(2), dict(rtol=1)),
        (t([0.0]), t([1e-3]), dict(msg="hey")),
        (t([0.0]), t([1e-3]), dict(msg=lambda m: "X" + m)),
        (torch.ones(2, 3).t(), torch.ones(3, 2), dict(check_stride=True)),
        (torch.ones(2, device="meta"), torch.ones(2), {}),
        (t([1 + 2j]), t([1 + 3j]), {}),
        (t(1e30), t(float("inf")), {}),
        (t([1e-6, 2.0], dtype=torch.bfloat16), t([0, 2.1], dtype=torch.bfloat16), {}),
        (torch.nn.Parameter(torch.ones(2)), torch.ones(2), dict(allow_subclasses=False)),
        ({1: t([1.0]), "a": 2}, {1: t([2.0]), "a": 2}, {}),
        (t([[1.0, 2], [3, 4]]), t([[1.0, 2], [3.5, 9]]), {}),
        (t(3), t(4), {}),
    ]
    return [whole(lambda: A(a, b, **k)) for a, b, k in pairs]


def case_make_tensor(torch):
    out = []
    for dtype in (torch.float32, torch.int64, torch.bool, torch.uint8, torch.bfloat16):
        for k in (
            {},
            dict(low=1, high=5),
            dict(noncontiguous=True),
            dict(exclude_zero=True),
            dict(low=5, high=1),
            dict(requires_grad=True),
        ):
            torch.manual_seed(0)
            out.append(answer(lambda: torch.testing.make_tensor(3, 4, dtype=dtype, device="cpu", **k)))
    return out


def case_checkpoint(torch):
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    nn, calls = torch.nn, [0]
    lin, drop = nn.Linear(4, 4), nn.Dropout(0.5)
    with torch.no_grad():
        lin.weight.copy_(torch.arange(16.0).reshape(4, 4) / 10), lin.bias.zero_()
    x = torch.linspace(0, 1, 8).reshape(2, 4).requires_grad_()
    f = lambda v: drop(torch.relu(lin(v))) ** 2

    def run(g, **k):
        lin.zero_grad()
        x.grad = None
        torch.manual_seed(0)
        checkpoint(g, x, **k).sum().backward()
        return [x.grad.clone(), None if lin.weight.grad is None else lin.weight.grad.clone()]

    def changes(v):
        calls[0] += 1
        return (v * v).sin() if calls[0] % 2 else v.sin()

    def early(v):
        calls[0] += 1
        y = v.sin().cos()
        calls[0] += 10
        return y

    def retain():
        torch.manual_seed(0)
        y = checkpoint(f, x, use_reentrant=False).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad.clone()

    def in_place():
        z = x * 2
        y = checkpoint(lambda v: v.sin(), z, use_reentrant=False)
        z.add_(1)
        y.sum().backward()

    seq = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)])
    for p in seq.parameters():
        p.data.fill_(0.1)

    def sequential(r):
        x.grad = None
        checkpoint_sequential(seq, 2, x, use_reentrant=r).sum().backward()
        return x.grad.clone()

    def keywords(v, a=None, b=2):
        return v * a[0] * b, {"u": v.exp()}

    def with_keywords():
        x.grad = None
        o = checkpoint(keywords, x, a=[x + 1], b=3, use_reentrant=False)
        (o[0].sum() + o[1]["u"].sum()).backward()
        return x.grad.clone()

    def second():
        (g,) = torch.autograd.grad(checkpoint(lambda v: v**3, x, use_reentrant=False).sum(), x, create_graph=True)
        return torch.autograd.grad(g.sum(), x)

    return [
        answer(g)
        for g in (
            lambda: run(f, use_reentrant=True),
            lambda: run(f, use_reentrant=False),
            lambda: run(f, use_reentrant=False, early_stop=False),
            lambda: run(
                lambda v: checkpoint(f, checkpoint(f, v, use_reentrant=False), use_reentrant=False) * v,
                use_reentrant=False,
            ),
            retain,
            second,
            lambda: run(changes, use_reentrant=False, early_stop=False),
            lambda: checkpoint(f, x, use_reentrant=True, foo=1),
            lambda: torch.autograd.grad(checkpoint(f, x, use_reentrant=True).sum(), x),
            lambda: checkpoint(f, x, use_reentrant=False, determinism_check="foo"),
            lambda: sequential(True),
            lambda: sequential(False),
            with_keywords,
            lambda: answer(in_place)[0],
            lambda: [calls.__setitem__(0, 0), checkpoint(early, x, use_reentrant=False).sum().backward(), calls[0]],
        )
    ]


def case_masked(torch):
    out = []
    for x in (torch.randn(3, 4), torch.randint(-3, 4, (3, 4)), torch.randint(0, 5, (3, 4), dtype=torch.uint8)):
        mask = torch.rand(3, 4) > 0.4
        for name in ("sum prod mean var std amax amin argmax argmin median logsumexp norm").split():
            f = getattr(torch.masked, name)
            out.append(
                [
                    name,
                    [
                        answer(lambda: f(x, *a, mask=mask, **k))
                        if name != "norm"
                        else answer(lambda: f(x, 2, *a, mask=mask, **k))
                        for a in ((), (0,), (-1,))
                        for k in ({}, {"keepdim": True})
                    ],
                ]
            )
        for name in ("softmax", "log_softmax", "softmin", "cumsum", "cumprod"):
            out.append([name, answer(lambda: getattr(torch.masked, name)(x, 1, mask=mask, dtype=torch.float32))])
        out.append(answer(lambda: torch.masked.normalize(x, 2.0, 1, mask=mask)))
    return out


def case_library(torch):
    L = torch.library

    @L.custom_op("cases::scaled_square", mutates_args=())
    def scaled_square(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
        return (x.detach() * k) ** 2

    out = [
        scaled_square(torch.ones(2)),
        torch.ops.cases.scaled_square(torch.ones(2), 3.0),
        torch.ops.cases.scaled_square.default(torch.ones(2), 3.0),
        answer(lambda: scaled_square(torch.ones(2, requires_grad=True)).sum().backward())[0],
    ]

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    scaled_square.register_autograd(lambda ctx, g: (g * 2 * ctx.saved_tensors[0] * ctx.k**2, None), setup_context=setup)
    x = torch.ones(2, requires_grad=True)
    scaled_square(x, 3.0).sum().backward()
    scaled_square.register_fake(lambda x, k=2.0: torch.empty_like(x))
    lib = L.Library("cases", "FRAGMENT")
    lib.define("plus_one(Tensor x) -> Tensor")
    lib.impl("plus_one", lambda x: x + 1, "CPU")
    # kernels may come before the definition
    L.impl("cases::early", ["CPU"])(lambda x, n: x + n)
    lib.impl("early_too", lambda x: x * 2, "CPU")
    L.register_fake("cases::early", lambda x, n: torch.empty_like(x))
    out.append(answer(lambda: torch.ops.cases.early))
    L.define("cases::early", "(Tensor x, int n) -> Tensor")
    lib.define("early_too(Tensor x) -> Tensor")
    out += [
        torch.ops.cases.early(torch.ones(1), 2),
        torch.ops.cases.early(torch.ones(1, device="meta"), 2).shape,
        torch.ops.cases.early_too(torch.ones(1)),
    ]
    return out + [
        x.grad,
        scaled_square(torch.ones(2, device="meta")).shape,
        torch.ops.cases.plus_one(torch.ones(1)),
        answer(lambda: torch.ops.cases.plus_one(torch.ones(1, device="meta")))[0],
        L.infer_schema(scaled_square._init_fn, mutates_args=()),
    ]


def case_amp(torch):
    A = torch.autocast
    a, b = torch.randn(3, 3), torch.randn(3, 3)

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.bfloat16)
        def forward(ctx, x):
            return x * 2, torch.tensor(torch.is_autocast_enabled("cpu"))

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g, _):
            return g * 2

    with A("cpu"):
        state = [
            (a @ b).dtype,
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_enabled("cpu"),
            (a + b).dtype,
            [o.dtype for o in Double.apply(a.clone().requires_grad_())],
        ]
        with A("cpu", enabled=False):
            state.append((a @ b).dtype)
    scaler, p = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2), torch.ones(2, requires_grad=True)
    optimizer, log = torch.optim.SGD([p], 0.1), []
    for bad in (False, False, True, False):
        optimizer.zero_grad()
        scaler.scale((p * (float("inf") if bad else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        log.append([p.detach().clone(), scaler.get_scale(), scaler.state_dict()])
    return (
        [str(s) for s in state]
        + log
        + [
            answer(lambda: A("meta"))[0],
            answer(lambda: A(torch.device("cpu"))),
            answer(lambda: A("cpu", torch.float32)._enabled),
            answer(lambda: A("cuda")._enabled),
            torch.amp.GradScaler("cuda").state_dict(),
        ]
    )


def case_absent_devices(torch):
    C, X, M = torch.cuda, torch.xpu, torch.mps

    def inside(c):
        with c:
            return "entered"

    return [
        answer(f)
        for f in (
            C.is_available,
            C.device_count,
            C.current_device,
            C.synchronize,
            C.get_device_name,
            C.get_rng_state,
            C.get_rng_state_all,
            C.empty_cache,
            lambda: C.manual_seed(0),
            C.memory_allocated,
            C.init,
            C.get_arch_list,
            C.is_bf16_supported,
            C.mem_get_info,
            lambda: inside(C.device(0)),
            lambda: inside(C.device(-1)),
            lambda: inside(C.stream(None)),
            lambda: C.FloatTensor(2),
            C.Stream,
            lambda: isinstance(torch.ones(1), C.FloatTensor),
            X.is_available,
            X.current_device,
            X.device_count,
            lambda: X.Stream(),
            M.is_available,
            M.empty_cache,
            M.current_allocated_memory,
            torch.backends.mps.is_available,
            torch.backends.cudnn.is_available,
            torch.accelerator.is_available,
            torch.accelerator.current_accelerator,
            torch.accelerator.current_device_index,
            lambda: torch.ones(1).cuda(),
            lambda: torch.ones(1).to("cuda"),
            torch.cpu.current_device,
            lambda: setattr(torch.backends.cudnn, "enabled", 3),
            lambda: setattr(torch.backends.cuda.matmul, "foo", 1),
            lambda: torch.backends.cuda.matmul.allow_tf32,
            torch.backends.cuda.flash_sdp_enabled,
            lambda: inside(torch.backends.cudnn.flags(enabled=False)),
        )
    ]


def case_futures_of_values(torch):
    F = torch.futures.Future
    f, log = F(), []
    g = f.then(lambda x: x.value() + 1)
    f.add_done_callback(lambda x: log.append(x.wait()))
    f.set_result(3)
    h = F()
    h.set_exception(ValueError("no"))
    return [g.wait(), log, f.done(), answer(h.wait), answer(lambda: f.set_result(4))[0], torch.futures.wait_all([f, g])]


def case_benchmark_comparisons(torch):
    from torch.utils import benchmark as b

    def measured(times, number=1, **about):
        return b.Measurement(number, times, b.TaskSpec("x+1", "pass", **about))

    some = [
        measured([1e-6, 1.1e-6, 1.2e-6], label="L", sub_label="s1", description="d1"),
        measured([2e-6, 2.1e-6], label="L", sub_label="s2", description="d1"),
        measured([5e-6], label="L", sub_label="s1", description="d2"),
        measured([9.123e-5] * 5, label="L", sub_label="s2", description="d2", num_threads=4),
        measured([1e-3, 2e-3], label="Other", description="zzz", sub_label="o"),
        measured([3e-3], label="L3", sub_label="s1", description="d1", env="E"),
    ]
    c = b.Compare(some)
    tables = [str(c)]
    for change in (c.trim_significant_figures, c.colorize, lambda: c.colorize(rowwise=True), c.highlight_warnings):
        change()
        tables.append(str(c))
    told = [
        [
            m.median,
            m.mean,
            m.iqr,
            m.significant_figures,
            m.has_warnings,
            m.title,
            m.as_row_name,
            m.env,
            repr(m).partition(chr(10))[2],
        ]
        for m in some
    ]
    return [
        tables,
        told,
        len(b.Measurement.merge(some + some)),
        b.select_unit(1.5e-5),
        b.trim_sigfig(123.456, 2),
        answer(lambda: b.Compare([1])),
    ]


def case_sobol(torch):
    engine = torch.quasirandom.SobolEngine
    s, out = engine(3), torch.empty(0)
    found = [
        s.draw(4),
        s.quasi,
        s.draw(3),
        s.fast_forward(5).draw(2),
        s.num_generated,
        s.draw(0),
        s.reset().draw_base2(2),
        answer(lambda: s.draw_base2(3).shape),
    ]
    for dtype in (torch.float32, torch.float64):
        q = engine(2, scramble=True, seed=3)
        found += [q.draw(3, dtype=dtype), q.shift, q.sobolstate, q.quasi, repr(q)]
    found += [
        engine(2).draw(2, out=out) is out,
        out,
        engine(2000).draw(9).double().sum(),
        engine(2).fast_forward(1000).draw(2),
    ]
    return found + [
        answer(lambda: engine(0)),
        answer(lambda: engine(21202)),
        answer(lambda: engine(2).draw(0)),
        answer(lambda: engine(2).draw(3) is engine(2).draw_base2(0)),
    ]


def case_flops(torch):
    from torch.utils import flop_counter as fc

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.ReLU())

        def forward(self, x):
            return self.b(torch.ones(1, 2, 5, 5)).sum() + self.a(x).sum()

    def count(f, **options):
        with fc.FlopCounterMode(display=False, **options) as counter:
            f()
        return [counter.get_total_flops(), {str(k): n for k, n in counter.get_flop_counts().get("Global", {}).items()}]

    def ones(*shape):
        return torch.ones(*shape, requires_grad=True)

    F, conv = (
        torch.nn.functional,
        lambda **k: F.conv2d(ones(1, 2, 5, 5), ones(4, 2 // k.get("groups", 1), 3, 3), **k).sum().backward(),
    )
    m, x = M(), ones(2, 3)
    calls = [
        lambda: m(x).backward(),
        lambda: (x @ ones(3, 4)).sum().backward(),
        lambda: F.linear(x[None], ones(4, 3), ones(4)).sum().backward(),
        lambda: torch.baddbmm(torch.ones(1), ones(2, 3, 4), ones(2, 4, 5)),
        lambda: ones(2, 3, 4) @ ones(2, 4, 5),
        lambda: ones(3, 4) @ ones(4),
        lambda: torch.einsum("bij,bjk->bik", ones(2, 3, 4), ones(2, 4, 5)),
        conv,
        lambda: conv(padding=1, groups=2),
        lambda: F.conv_transpose2d(ones(1, 2, 5, 5), ones(2, 3, 3, 3)).sum().backward(),
        lambda: torch.nn.GRU(3, 4)(torch.ones(2, 1, 3)),
    ]
    found = [count(f) for f in calls]

    def raw(*args, out_val=None, **kwargs):
        return out_val.numel() * 10

    raw._get_raw = True
    found += [
        count(lambda: x.sin(), custom_mapping={torch.ops.aten.sin: f})
        for f in (raw, lambda a, out_shape=None: a[0] + out_shape[1])
    ]
    fc.register_flop_formula(torch.ops.aten.cos)(lambda a, out_shape=None: 7)
    again = answer(lambda: fc.register_flop_formula(torch.ops.aten.cos)(raw))
    return [
        found,
        count(lambda: x.cos()),
        again,
        answer(lambda: fc.register_flop_formula(3)(raw)),
        fc.get_suffix_str(10**6),
        fc.convert_num_with_suffix(1234567, "M"),
    ]


def case_selective_checkpoints(torch):
    from torch.utils import checkpoint as c

    x, asked = torch.ones(2, 2, requires_grad=True), []

    def run(policy, f, **options):
        def decide(ctx, op, *args, **kwargs):
            asked.append([str(op), ctx.is_recompute, list(ctx.op_output.shape)] if "clone" not in str(op) else None)
            return policy

        wanted, x.grad = policy if isinstance(policy, list) else decide, None
        y = c.checkpoint(
            f, x, use_reentrant=False, context_fn=lambda: c.create_selective_checkpoint_contexts(wanted, **options)
        )
        return [answer(y.backward), x.grad]

    plain, changed, mm = (
        lambda a: (a @ a).sin().sum(),
        lambda a: (a @ a).mul_(2).sin().sum(),
        [torch.ops.aten.mm.default],
    )
    found = [run(p, plain) for p in [*c.CheckpointPolicy, True, False, mm]]
    found += [
        run(mm, changed),
        run(c.CheckpointPolicy.MUST_SAVE, changed)[0],
        run(c.CheckpointPolicy.MUST_SAVE, changed, allow_cache_entry_mutation=True),
    ]
    y = c.checkpoint(plain, x, use_reentrant=False, context_fn=lambda: c.create_selective_checkpoint_contexts(mm))
    found += [answer(lambda: y.backward(retain_graph=True)), answer(y.backward), [a for a in asked if a]]
    return (
        found
        + [answer(lambda: c.create_selective_checkpoint_contexts(bad)) for bad in (3, [torch.ops.aten.mm])]
        + [[p.name for p in c.CheckpointPolicy]]
    )


def case_modes_of_selective_checkpoints(torch):
    from torch.utils import _python_dispatch as d
    from torch.utils import checkpoint as c

    seen, storage, asked = [], {}, []

    class Hands(c._CachedTorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func not in c.SAC_IGNORED_OPS:  # how often they are called, nobody promises
                seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    def decide(ctx, op, *args, **kwargs):
        asked.append(str(op))
        return op is torch.ops.aten.exp.default

    def f(x):
        mode = d._get_current_dispatch_mode()
        y = x.cos().exp()
        entry = mode.storage[torch.ops.aten.exp.default][0]
        if isinstance(mode, c._CachingTorchDispatchMode):
            seen.append([entry.val.round(decimals=4), entry.val.requires_grad, entry.get_val(False) is entry.val])
        seen.append(
            [
                type(mode).__name__,
                mode.ignore_compile_internals(),
                mode.is_infra_mode(),
                sorted(mode.func_counter.values()),
            ]
        )
        return y.sin()

    x, storage = torch.ones(2, requires_grad=True), collections.defaultdict(dict)
    y = c.checkpoint(
        f,
        x,
        use_reentrant=False,
        early_stop=False,
        context_fn=lambda: (c._CachingTorchDispatchMode(decide, storage), Hands(decide, storage)),
    )
    y.sum().backward(retain_graph=True)
    again = answer(lambda: y.sum().backward())
    return seen, asked, x.grad.round(decimals=4), again


def case_operators_that_ask_for_geometry(torch):
    aten, x, found = torch.ops.aten, torch.ones(2, 3), []
    for packet in (aten.size, aten.sym_size, aten.stride, aten.sym_stride):
        found.append(
            [
                packet.default(x),
                packet.int(x, 1),
                packet(x),
                packet(x, 0),
                packet(x, dim=-1),
                packet.overloads(),
                str(packet.default._schema),
            ]
        )
    tensors = [x, x.t(), x[:, 1], x.expand(2, 2, 3), x[:1], torch.empty(0, 3), torch.empty(()), torch.ones(3)[::2]]
    found.append([aten.is_non_overlapping_and_dense(t) for t in tensors])
    ignored = sorted(map(str, torch.utils.checkpoint.SAC_IGNORED_OPS))
    return (
        found,
        str(aten.is_strides_like_format.default._schema),
        [name for name in ignored if name.startswith("aten")],
        answer(lambda: aten.size.int(x, 5)),
    )


def case_iterable_datasets_that_are_their_own_iterators(torch):
    class Restarting(torch.utils.data.IterableDataset):
        def __iter__(self):
            self.i = 0
            return self

        def __next__(self):
            if self.i == 5:
                raise StopIteration
            self.i += 1
            return self.i

    loaders = [
        torch.utils.data.DataLoader(Restarting(), batch_size=n, drop_last=d)
        for n, d in ((2, False), (2, True), (5, False))
    ]
    return [[[b for b, _ in zip(loader, range(6))] for _ in range(2)] for loader in loaders]


def case_reference_helpers(torch):
    import itertools

    import torch._prims_common as prims

    kinds = prims.ELEMENTWISE_TYPE_PROMOTION_KIND
    given = [
        torch.ones(2, dtype=d)
        for d in (torch.bool, torch.int32, torch.float16, torch.bfloat16, torch.float64, torch.complex64)
    ]
    given += [torch.ones((), dtype=d) for d in (torch.int64, torch.float64, torch.complex128)] + [True, 2, 1.5, 2j]
    tensors = [torch.ones(s) for s in ((2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 1, 1), (3, 4), (0, 3, 4, 5))]
    tensors += [
        torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.ones(2, 3, 4, 5).transpose(1, 2),
        torch.ones(4, 1, 3, 1).expand(4, 5, 3, 2),
    ]
    fake = torch.ones(2, 3).t()

    def raised(f):
        try:
            return f()
        except Exception as error:
            return type(error).__name__

    return [
        [
            [str(d) for d in prims.elementwise_dtypes(a, b, type_promotion_kind=k)]
            for a, b in itertools.combinations(given, 2)
            for k in kinds
        ],
        [str(prims.suggest_memory_format(t)) for t in tensors],
        [prims.is_contiguous_or_false(t) for t in tensors],
        [prims.make_contiguous_strides_for(t.shape) for t in tensors],
        [prims.compute_required_storage_length(t.shape, t.stride(), 3) for t in tensors],
        [
            prims.canonicalize_dims(3, (-1, 0)),
            prims.canonicalize_dims(3, -1),
            raised(lambda: prims.canonicalize_dim(2, 2)),
        ],
        [
            raised(lambda: prims.compare_tensor_meta(fake, o, check_strides=True))
            for o in (fake, fake.clone(), fake.contiguous(), fake.double(), fake[0])
        ],
        [str(prims.get_computation_dtype(d)) for d in (torch.half, torch.bfloat16, torch.float64)],
        [
            str(prims.corresponding_complex_dtype(torch.double)),
            raised(lambda: prims.make_contiguous_strides_for((2, -1))),
        ],
        [
            raised(lambda: prims.alert_not_deterministic("f"))
            for on in (False, True)
            if not torch.use_deterministic_algorithms(on)
        ],
        torch.use_deterministic_algorithms(False),
    ]


def case_metadata_of_tensors(torch):
    from torch._subclasses.meta_utils import assert_metadata_eq

    def differences(a, b, **options):
        found = []
        assert_metadata_eq(lambda x, y: x == y or found.append([str(x), str(y)]), a, b, **options)
        return sorted(found)

    x, y = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    return [
        differences(x, y),
        differences(x, x.t().contiguous().t()),
        differences(x[1:], x[:1]),
        differences(x, x[:1], skip_symbolic=True),
        differences(y, y),
    ]


def case_parts_and_batches_of_every_size(torch):
    """Splits, samplers, datasets and loaders over a grid of lengths: what is left over goes where PyTorch puts it."""
    D, found = torch.utils.data, {}
    for n in (1, 2, 5, 7, 10, 11, 13):
        data = D.TensorDataset(torch.arange(n))
        for parts in (
            [0.5, 0.5],
            [0.3, 0.3, 0.4],
            [0.25] * 4,
            [1.0],
            [0.1, 0.9],
            [0.7, 0.1, 0.1, 0.1],
            [n],
            [n - 1, 1],
            [0, n],
            [n, 1],
        ):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    split = D.random_split(data, parts, torch.Generator().manual_seed(0))
                    result = [list(s.indices) for s in split]
                except ValueError as e:
                    result = str(e)
            found[f"split {n} {parts}"] = [result, len(told)]
        for size in (1, 2, 3, 5, 20):
            for last in (False, True):
                loader = D.DataLoader(
                    data, size, drop_last=last, shuffle=True, generator=torch.Generator().manual_seed(1)
                )
                found[f"batches {n} {size} {last}"] = [len(loader), [b[0].tolist() for b in loader]]
        for replacement in (False, True):
            for count in (None, 1, n, n + 3, 2 * n, 40):
                s = D.RandomSampler(data, replacement, count, torch.Generator().manual_seed(2))
                found[f"random {n} {replacement} {count}"] = [len(s), list(s)]
        for replicas in (1, 2, 3, 4):
            for last in (False, True):
                for shuffle in (False, True):
                    ranks = [D.DistributedSampler(data, replicas, r, shuffle, 5, last) for r in range(replicas)]
                    for s in ranks:
                        s.set_epoch(3)
                    found[f"ranks {n} {replicas} {last} {shuffle}"] = [[len(s), list(s)] for s in ranks]
        joined = D.ConcatDataset([D.TensorDataset(torch.arange(k)) for k in (n, 1, 0, 3)])
        found[f"joined {n}"] = [
            len(joined),
            joined.cumulative_sizes,
            [joined[i][0].item() for i in range(-len(joined), len(joined))],
        ]
        for i in (len(joined), -len(joined) - 1):
            try:
                joined[i]
            except Exception as e:
                found[f"joined {n} {i}"] = type(e).__name__
        found[f"subset {n}"] = [
            [x[0].item() for x in D.Subset(data, list(range(n))[::-2])],
            len(D.Subset(data, [0, 0])),
        ]
        stack = D.StackDataset(a=data, b=D.TensorDataset(torch.arange(n) * 2))
        found[f"stack {n}"] = [len(stack), repr(stack[n - 1]), repr(stack.__getitems__([0, n - 1]))]
        found[f"weighted {n}"] = list(
            D.WeightedRandomSampler(range(1, n + 1), n, False, torch.Generator().manual_seed(3))
        )
        found[f"chosen {n}"] = list(D.SubsetRandomSampler(range(3, 3 + n), torch.Generator().manual_seed(4)))
    return found


def case_batches_of_streams(torch):
    """Iterable datasets of every length in batches of every size, with and without the rest, with workers too."""
    D, found = torch.utils.data, {}

    class Stream(D.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

        def __len__(self):
            return self.n

    for n in (0, 1, 4, 5, 6):
        for size in (None, 1, 2, 5, 9):
            for last in (False, True) if size else (False,):
                loader = D.DataLoader(Stream(n), size, drop_last=last)
                found[f"{n} {size} {last}"] = [len(loader), [b.tolist() if hasattr(b, "tolist") else b for b in loader]]
        found[f"chain {n}"] = list(D.ChainDataset([Stream(n), Stream(2)]))
    return found


class _Seeds:
    """What each worker's generators give first."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 6

    def __getitem__(self, i):
        import random

        import numpy as np

        info = self.torch.utils.data.get_worker_info()
        return [
            i,
            info.id,
            info.seed - info.id == self.base(info),
            info.num_workers,
            int(self.torch.randint(1000, ())),
            random.randrange(1000),
            int(np.random.randint(1000)),
        ]

    @staticmethod
    def base(info):
        return info.seed - info.id


def case_seeds_of_workers(torch):
    """Each worker of a loader has its own seed, and all generators follow it."""
    found = {}
    for workers in (1, 2, 3):
        for persistent in (False, True):
            loader = torch.utils.data.DataLoader(
                _Seeds(torch),
                1,
                num_workers=workers,
                persistent_workers=persistent,
                collate_fn=_first,
                generator=torch.Generator().manual_seed(7),
                multiprocessing_context="fork",
            )
            found[f"{workers} {persistent}"] = [list(loader) for _ in range(2)]
    return found


def _first(batch):
    return batch[0]


def _store_calls(torch):
    """Calls of a store one after another; each gives something, or raises."""
    return [
        ("set", lambda s: [s.set("a", "1"), s.set("b", b"xyz")]),
        ("get", lambda s: [s.get("a"), s.get("b")]),
        ("add", lambda s: [s.add("n", 3), s.add("n", -5), s.get("n")]),
        ("check", lambda s: [s.check(["a"]), s.check(["a", "zz"]), s.check([])]),
        ("wait", lambda s: s.wait(["a", "b"])),
        (
            "compare",
            lambda s: [
                s.compare_set("c", "", "first"),
                s.compare_set("c", "no", "second"),
                s.compare_set("c", "first", "third"),
                s.get("c"),
                s.compare_set("none", "some", "other"),
            ],
        ),
        ("append", lambda s: [s.append("b", "123"), s.get("b"), s.append("new", "q"), s.get("new")]),
        ("several", lambda s: [s.multi_set(["m1", "m2"], ["one", "two"]), s.multi_get(["m2", "m1"])]),
        ("count", lambda s: s.num_keys()),
        ("delete", lambda s: [s.delete_key("a"), s.delete_key("a"), s.check(["a"])]),
        (
            "queue",
            lambda s: [
                s.queue_push("q", "1"),
                s.queue_push("q", "2"),
                s.queue_push("q", "3"),
                s.queue_len("q"),
                s.queue_pop("q"),
                s.queue_pop("q"),
                s.queue_len("q"),
                s.queue_pop("q", False),
            ],
        ),
        ("empty queue", lambda s: s.queue_pop("q", False)),
        ("extended", lambda s: s.has_extended_api()),
        ("keys", lambda s: sorted(k for k in s.list_keys() if not k.endswith("count/"))),  # a file counts its users
    ]


def case_stores_of_one_process(torch):
    """Every method of every store, in one order."""
    import tempfile
    from datetime import timedelta

    D, found = torch.distributed, {}
    with tempfile.TemporaryDirectory() as folder:
        makers = {
            "hash": lambda: D.HashStore(),
            "file": lambda: D.FileStore(folder + "/store", 1),
            "prefixed": lambda: D.PrefixStore("p", D.HashStore()),
            "prefixed twice": lambda: D.PrefixStore("p", D.PrefixStore("q", D.HashStore())),
        }
        for name, make in makers.items():
            store = make()
            store.set_timeout(timedelta(seconds=1))
            for call, f in _store_calls(torch):
                try:
                    found[f"{name} {call}"] = repr(f(store))
                except Exception as e:
                    found[f"{name} {call}"] = type(e).__name__
    return found
