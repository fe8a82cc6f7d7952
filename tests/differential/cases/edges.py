"""What is decided at an edge: tolerances, the last window of a pool, the order of dimensions where nothing tells it,
odd numbers of random values.
"""

import itertools
import warnings

from attempts import answer, attempt


def case_tolerances(torch):
    x = torch.tensor([0.0, 1.0, 10.0, 100.0, -100.0, float("inf"), float("nan")], dtype=torch.float64)
    found = {}
    for rtol, atol in itertools.product((0, 1e-3, 0.1, 2.0), repeat=2):
        for away in (1e-4, 0.05, 0.5, 9.0):
            found[f"{rtol} {atol} {away}"] = [
                torch.isclose(x, y, rtol, atol).tolist() for y in (x + away, x - away, x * (1 + away))
            ]
        found[f"{rtol} {atol}"] = [
            torch.isclose(x, x, rtol, atol, equal_nan=True).tolist(),
            torch.allclose(x[:3], x[:3] + 0.05, rtol, atol),
            torch.isclose(x[:5].long(), x[:5].long() + 1, rtol, atol).tolist(),
        ]
    return found


def case_windows_of_pools(torch):
    F, found = torch.nn.functional, {}
    for n, kernel, stride, padding, ceil in itertools.product(range(3, 8), (1, 2, 3), (1, 2, 3), (0, 1), (False, True)):
        if 2 * padding <= kernel:
            x = torch.arange(2.0 * n).view(1, 2, n)
            name = f"{n} {kernel} {stride} {padding} {ceil}"
            found[name] = [
                F.max_pool1d(x, kernel, stride, padding, ceil_mode=ceil),
                F.avg_pool1d(x, kernel, stride, padding, ceil),
            ]
            whole = x.unsqueeze(2).expand(1, 2, n, n)
            found[name + " in two dimensions"] = [
                F.max_pool2d(whole, kernel, stride, padding, ceil_mode=ceil).shape,
                F.avg_pool2d(whole, kernel, stride, padding, ceil, False).sum((2, 3)),
                F.max_pool3d(
                    whole[None], (1, kernel, kernel), (1, stride, stride), (0, padding, padding), ceil_mode=ceil
                ).shape,
            ]
    return found


def case_strides_of_results_where_the_order_is_ambiguous(torch):
    found = {}
    for shape in ((1, 2, 1, 3), (2, 1, 3, 1), (3, 3, 1, 2)):
        for order in itertools.permutations(range(4)):
            x = torch.arange(18.0)[: torch.Size(shape).numel()].view(shape).permute(order)
            results = x + 1, x * x, x.exp(), x + x.clone(), torch.where(x > 1, x, 0.0), x + x[..., :1]
            found[f"{shape} {order}"] = [y.stride() for y in results]
    for size, stride in (
        ((2, 3), (1, 1)),
        ((3, 2), (1, 1)),
        ((2, 3, 4), (4, 4, 1)),
        ((3, 2, 4), (4, 4, 1)),
        ((2, 4, 3), (1, 2, 2)),
        ((4, 1, 3), (3, 3, 1)),
    ):
        x = torch.arange(40.0).as_strided(size, stride)
        results = x + 1, x * x, x.exp(), x + torch.ones(size), torch.ones(size) + x, x.sum(0), x.clone()
        found[f"{size} by {stride}"] = [y.stride() for y in results]
    return found


def case_random_numbers_that_follow(torch):
    found = {}
    for dtype in (torch.float32, torch.float64, torch.float16):
        for n in (1, 2, 3, 15, 16, 17, 31, 33):
            g = torch.Generator().manual_seed(n)
            first = torch.empty(n, dtype=dtype).normal_(generator=g)
            found[f"{n} {dtype}"] = [
                first,
                torch.empty(3, dtype=dtype).normal_(generator=g),
                torch.rand(2, generator=g),
                torch.empty(1).normal_(generator=g),
            ]
    g = torch.Generator().manual_seed(0)
    torch.empty(1).normal_(generator=g)
    copy = torch.Generator()
    copy.set_state(g.get_state())
    return found | {"of a copy": [torch.empty(1).normal_(generator=copy), torch.empty(1).normal_(generator=g)]}


def case_writing_to_expanded_tensors(torch):
    found = {}
    for name, write in {
        "masked_fill_": lambda x, mask: x.masked_fill_(mask, 5.0),
        "masked_fill_ by a tensor": lambda x, mask: x.masked_fill_(mask, torch.tensor(5.0)),
        "masked_scatter_": lambda x, mask: x.masked_scatter_(mask, torch.arange(12.0)),
        "index_put_": lambda x, mask: x.index_put_((mask,), torch.tensor(5.0)),
        "index": lambda x, mask: x.__setitem__(mask, 5.0),
        "add_": lambda x, mask: x.add_(mask),
        "fill_": lambda x, mask: x.fill_(5.0),
    }.items():
        for kind, mask in {
            "some": torch.tensor([[True, False, True, False], [False, False, True, False], [True, False, True, False]]),
            "all": torch.ones(3, 4).bool(),
            "none": torch.zeros(3, 4).bool(),
        }.items():
            for size in ((1, 4), (3, 1), (1, 1)):
                base = torch.arange(float(size[0] * size[1])).view(size)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        write(base.expand(3, 4), mask)
                        found[f"{name} {kind} {size}"] = base
                    except Exception as e:
                        found[f"{name} {kind} {size}"] = type(e).__name__, base
    return found


def case_callbacks_of_callbacks(torch):
    engine, order = torch.autograd.Variable._execution_engine, []

    def queue(depth, name):
        def callback():
            order.append((name, depth))
            if depth:
                queue(depth - 1, name)
                queue(0, name + "'")

        engine.queue_callback(callback)

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: queue(2, "first"))
    y.register_hook(lambda g: queue(0, "second"))
    y.sum().backward()
    return order


def case_least_squares_of_broadcast_matrices(torch):
    torch.manual_seed(0)
    found = {}
    shapes = [
        ((1, 3, 3), (2, 3, 3)),
        ((2, 1, 4, 3), (1, 5, 4, 2)),
        ((2, 3, 3), (1, 3, 2)),
        ((1, 3, 4), (2, 3, 2)),
        ((4, 3), (2, 4, 2)),
        ((3, 4, 3), (4, 2)),
        ((3, 4, 3), (3, 4)),
        ((4, 3), (4,)),
    ]
    for a, b in shapes:
        for driver in ("gelsy", "gelsd", "gelss", "gels"):
            A, B = torch.randn(a, dtype=torch.float64), torch.randn(b, dtype=torch.float64)
            try:
                result = [tuple(t.shape) for t in torch.linalg.lstsq(A, B, driver=driver)]
            except RuntimeError as error:
                result = str(error)
            found[f"{a} {b} {driver}"] = result
    return found


def case_reductions_of_sparse_products(torch):
    a = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse_csr()
    b = torch.tensor([[0, 1.0], [2, 0], [0, 0]])
    return {r: torch.sparse.mm(a, b, r) for r in ("sum", "mean", "max", "min", "amax", "amin")}


def case_negative_places_in_every_dimension(torch):
    x, found = torch.arange(60.0).view(3, 4, 5), {}
    i, j, k = torch.tensor([0, -1, -3]), torch.tensor([-4, 3, -1]), torch.tensor([-5, -1, 2])
    for name, index in {
        "0": (i,),
        "1": (slice(None), j),
        "2": (slice(None), slice(None), k),
        "0 1": (i, j),
        "0 2": (i, slice(None), k),
        "1 2": (slice(None), j, k),
        "0 1 2": (i, j, k),
        "columns": (i[:, None], j),
        "ellipsis": (..., j, k),
        "number": (-1, j, -2),
        "mask": (x[:, 0, 0] > 10, -1),
        "new": (None, i, None, j),
    }.items():
        y, p = x.clone(), x.clone().requires_grad_()
        y[index] = -1.0
        found[name] = x[index], y, torch.autograd.grad(p[index].square().sum(), p)[0]
        if all(isinstance(part, torch.Tensor) for part in index):
            found[f"{name}, added"] = x.index_put(index, torch.tensor(1.0), accumulate=True)
    found["take"] = torch.take(x, torch.tensor([-1, 0, -60])), x.clone().put_(torch.tensor([-1, -60]), torch.ones(2))
    return found


def case_strides_of_results_without_elements(torch):
    found = {}
    for shape in ((0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 2)):
        for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 1)):
            x = torch.empty(shape).permute(order)
            found[f"{shape} {order}"] = [
                x + 1,
                x * x,
                x.abs(),
                torch.empty_like(x),
                torch.zeros_like(x),
                x.clone(),
                x.to(torch.float64),
                x + torch.ones(()),
                torch.where(x > 0, x, x),
                x.contiguous(),
            ]
    return found


def case_errors_of_masks(torch):
    x, found = torch.zeros(2, 3, 4), {}
    masks = [torch.ones(s, dtype=torch.bool) for s in ((2,), (3,), (4,), (2, 3), (3, 2), (3, 4), (2, 4), (2, 3, 5))]
    for a in masks:
        for index in ((a,), (slice(None), a), (slice(None), slice(None), a), (0, a), (..., a), (None, a), (a, a)):
            name = [tuple(i.shape) if isinstance(i, torch.Tensor) else i for i in index]
            for way in ("get", "set"):
                y = x.clone()
                try:
                    found[f"{way} {name}"] = y[index].shape if way == "get" else y.__setitem__(index, 1.0)
                except (IndexError, RuntimeError) as e:
                    found[f"{way} {name}"] = f"{type(e).__name__}: {e}"
    return found


def case_memory_of_sorted_results(torch):
    found = {}
    x = ((torch.arange(120) * 37) % 101).float().view(4, 5, 6)
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 1)):
        y = x.permute(order)
        for dim in (0, 1, -1):
            for name, f in {
                "sort": lambda y, d: torch.sort(y, d),
                "sort down": lambda y, d: torch.sort(y, d, descending=True),
                "stable": lambda y, d: torch.sort(y, dim=d, stable=True),
                "argsort": lambda y, d: torch.argsort(y, d),
                "topk": lambda y, d: torch.topk(y, 2, d),
                "kthvalue": lambda y, d: torch.kthvalue(y, 2, d),
                "median": lambda y, d: torch.median(y, d),
                "mode": lambda y, d: torch.mode(y, d),
                "cummax": lambda y, d: torch.cummax(y, d),
                "max": lambda y, d: torch.max(y, d),
                "flip": lambda y, d: y.flip(d),
                "roll": lambda y, d: y.roll(2, d),
            }.items():
                found[f"{name} {order} {dim}"] = tuple(f(y, dim))
    return found


def case_norms_in_evaluation(torch):
    """Small variances, where epsilon counts, in small and large tensors."""
    F, found = torch.nn.functional, {}
    for n, c, size in ((2, 3, 4), (4, 40, 130), (3, 300, 64)):
        x = torch.linspace(-1, 1, n * c * size, dtype=torch.float64).view(n, c, size)
        mean, var = torch.linspace(-0.5, 0.5, c, dtype=torch.float64), torch.logspace(-9, 0, c, dtype=torch.float64)
        w, b = var.sqrt() + 0.1, mean * 3
        for eps in (1e-5, 1e-3, 0.5):
            p = x.clone().requires_grad_()
            out = F.batch_norm(p, mean.clone(), var.clone(), w, b, False, 0.1, eps)
            found[f"{n} {c} {size} {eps}"] = (
                out.sum((0, 2)),
                out[0, :, 0],
                torch.autograd.grad(out[:, ::2].sum(), p)[0].sum((0, 2)),
            )
    return found


def case_products_beside_nan(torch):
    """What is multiplied by 0 counts: NaN and infinities in thin and in square matrices; beta=0 leaves them out."""
    found, nan, inf = {}, float("nan"), float("inf")
    for value in (nan, inf):
        for m, k, n in ((1, 5, 1), (5, 1, 4), (1, 1, 3), (3, 2, 3), (1, 40, 30), (40, 40, 40), (200, 3, 2)):
            a, b = torch.zeros(m, k), torch.ones(k, n)
            a[0, 0], b[-1, -1] = value, 0
            c = torch.full((m, n), value)
            found[f"{value} {m} {k} {n}"] = [
                (a @ b).nan_to_num(-5, -6, -7),
                (b.t() @ a.t()).nan_to_num(-5, -6, -7),
                (a.unsqueeze(0).expand(2, m, k) @ b).nan_to_num(-5, -6, -7),
                torch.addmm(c, torch.ones(m, k), b, beta=0),
                torch.baddbmm(c[None], torch.ones(1, m, k), b[None], beta=0),
                torch.addmv(c[:, 0], torch.ones(m, k), b[:, 0], beta=0),
                (a @ b[:, 0]).nan_to_num(-5, -6, -7),
                torch.einsum("mk,kn->mn", a, b).nan_to_num(-5, -6, -7),
            ]
    return found


def case_windows_large_and_dilated(torch):
    F, found = torch.nn.functional, {}
    x = ((torch.arange(3600) * 37) % 101).double().view(1, 1, 60, 60) / 10
    for kernel in (1, 2, (1, 9), (9, 1), (7, 11), 30):
        for stride, padding in ((1, 0), (3, 0), (2, 1)):
            if padding and kernel == 1:
                continue
            if isinstance(kernel, tuple) and padding:
                continue
            for name, f in {
                "max": lambda p: F.max_pool2d(p, kernel, stride, padding),
                "average": lambda p: F.avg_pool2d(p, kernel, stride, padding),
                "lp": lambda p: F.lp_pool2d(p, 3, kernel, stride),
                "row": lambda p: F.max_pool1d(p.view(1, 1, 3600), 30, stride, dilation=7),
            }.items():
                p = x.clone().requires_grad_()
                out = f(p)
                g = torch.autograd.grad((out * torch.linspace(0, 1, out.numel()).view(out.shape)).sum(), p)[0]
                found[f"{name} {kernel} {stride} {padding}"] = out.sum(-1), g.sum(-2)
    for size, kernel, dilation in (
        ((3600, 1), (5, 1), (7, 1)),
        ((1, 3600), (1, 5), (1, 7)),
        ((60, 60), (3, 4), (9, 2)),
    ):
        p, w = x.view(1, 1, *size).clone().requires_grad_(), torch.linspace(-1, 1, 2 * kernel[0] * kernel[1]).double()
        w = w.view(2, 1, *kernel).requires_grad_()
        for stride in (1, 2):
            out = F.conv2d(p, w, dilation=dilation, stride=stride, padding=2)
            found[f"convolution {size} {stride}"] = out.sum(-1), torch.autograd.grad(out.square().sum(), (p, w))
    return found


def case_lists_as_indices_of_every_length(torch):
    """A list is one index, or stands for a tuple of them: its length and what is in it decide."""
    found, x = {}, torch.arange(24).view(2, 3, 4)
    for n in (1, 2, 3, 4, 30, 31, 32, 33, 40):
        for what, item in {
            "slices": slice(None),
            "none": None,
            "dots": ...,
            "lists": [0, 1],
            "ints": 0,
            "bools": True,
            "tensors": torch.tensor(1),
            "tensors of two": torch.tensor([0, 1]),
            "empty lists": [],
            "tuples": (0, 1),
        }.items():
            for place in (0, n - 1):
                if what == "empty lists" and n >= 32 and not place:
                    continue  # PyTorch reads the shape from the first element alone
                index = [0] * n
                index[place] = item
                found[f"{what} at {place} of {n}"] = attempt(lambda index=index: x[index])
    return found


def case_order_statistics_of_every_length(torch):
    """With NaN, infinities and equal numbers at every place, on rows of few and of many elements."""
    found, inf, nan = {}, float("inf"), float("nan")
    for n in (1, 2, 5, 100, 300, 1000):
        x = ((torch.arange(4 * n) * 37) % 101).reshape(4, n).double() - 50
        x[1, ::3] = nan
        x[2, -1], x[2, 0] = nan, -inf
        x[3, n // 2 :] = nan
        for k in sorted({1, 2, n // 3 + 1, n // 2 + 1, n - 1, n}):
            if not 1 <= k <= n:
                continue
            for dim, y in ((1, x), (0, x.t().contiguous())):
                values, at = y.kthvalue(k, dim)
                found[f"kth {n} {k} {dim}"] = [values, y.gather(dim, at.unsqueeze(dim)).squeeze(dim)]
                for largest in (True, False):
                    values, at = y.topk(k, dim, largest)
                    found[f"top {n} {k} {dim} {largest}"] = [values, y.gather(dim, at)]
        for name in ("median", "nanmedian", "min", "max", "cummax", "cummin"):
            values, at = getattr(x, name)(1)
            at = at if at.dim() == 2 else at.unsqueeze(1)
            found[f"{name} {n}"] = [values, x.gather(1, at)]
            found[f"{name} {n} at"] = at if name in ("min", "max", "cummax", "cummin") else None
        found[f"sort {n}"] = [torch.sort(x, dim=1, stable=True), x.sort(1, descending=True)[0]]
        found[f"mode {n}"] = x[0].mode()[0]
        for name in ("msort", "argmax", "argmin", "nansum", "amax", "aminmax"):
            found[f"{name} {n}"] = getattr(x, name)() if name == "msort" else getattr(x, name)(dim=1)
        found[f"quantile {n}"] = [
            f(x, torch.tensor([0.0, 0.3, 1.0]).double(), dim=1) for f in (torch.quantile, torch.nanquantile)
        ]
        found[f"unique {n}"] = torch.unique(x[0], return_inverse=True, return_counts=True)
    return found


def case_texts_at_bounds(torch):
    """What a tensor prints where its size, its numbers or its lines reach a bound, and right beside it."""
    found = {}
    for threshold in (1, 4, 6, 1000):
        for n in sorted({threshold - 1, threshold, threshold + 1, 7, 8}):
            for edgeitems in (0, 1, 3):
                torch.set_printoptions(threshold=threshold, edgeitems=edgeitems)
                for x in (torch.arange(n), torch.arange(2.0 * n).view(2, n), torch.arange(n).view(n, 1, 1)):
                    found[f"{threshold} {n} {edgeitems} {x.dim()}"] = repr(x)[:4000]
    torch.set_printoptions(profile="default")
    for high in (999.0, 1000.0, 1001.0, 1e8, 1.1e8, 99999.0, 1e5):
        for low in (1.0, 0.5, 1e-4, 9.9e-5):
            found[f"{high} {low}"] = [
                repr(torch.tensor([low, high])),
                repr(torch.tensor([low, high, float("inf")])),
                repr(torch.tensor([-low, high, 0.0]).double()),
            ]
    for width in (10, 11, 12, 20, 21, 80):
        for precision in (0, 1, 4, 8):
            torch.set_printoptions(linewidth=width, precision=precision)
            found[f"width {width} {precision}"] = [
                repr(torch.linspace(0, 3, 7)),
                repr(torch.arange(9)),
                repr(torch.tensor([1.5 + 2j, -1j])),
            ]
    torch.set_printoptions(profile="default")
    for sci_mode in (True, False, None):
        torch.set_printoptions(sci_mode=sci_mode)
        found[f"scientific {sci_mode}"] = [
            repr(torch.tensor(v)) for v in ([1.0, 2.0], [1e-9, 1.0], [float("nan")], [0.0, -0.0], [123456.0, 0.25])
        ]
    torch.set_printoptions(profile="default")
    return found


def case_versions_of_wrapped_tensors(torch):
    """An operator in place counts once."""
    from torch.utils._pytree import tree_map

    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            out = func(*tree_map(lambda a: a.inner if isinstance(a, Wrapped) else a, args), **(kwargs or {}))
            if func._schema.is_mutable:
                return args[0]
            return Wrapped(out) if isinstance(out, torch.Tensor) else out

    x = Wrapped(torch.ones(3))
    found = [x._version]
    for change in (lambda: x.add_(1), lambda: x.mul_(2), lambda: x.zero_(), lambda: x.copy_(torch.ones(3))):
        change()
        found += [x._version, x.inner.tolist()]
    return found


def case_strides_of_what_is_like_a_meta_tensor(torch):
    found = []
    for x in (
        torch.empty(3, 4, device="meta").t(),
        torch.empty(2, 3, 4, 5, device="meta").to(memory_format=torch.channels_last),
        torch.empty(6, 4, device="meta")[::2],
        torch.empty(3, 1, device="meta").expand(3, 4),
    ):
        for name in "zeros_like ones_like empty_like rand_like randn_like".split():
            y = getattr(torch, name)(x)
            found.append([name, y.stride(), y.shape, str(y.device), str(y.dtype)])
        found.append([torch.full_like(x, 2).stride(), torch.randint_like(x, 5).stride()])
        found.append([torch.zeros_like(x, memory_format=torch.contiguous_format).stride()])
    return found


def case_sums_of_long_rows(torch):
    """Sums of millions of equal numbers, which lose digits where they are added up one after the other."""
    found = []
    for shape, dim in (((2, 1 << 21), 1), ((1 << 21,), 0), ((1, 1 << 20, 2), 1), ((1 << 22,), None)):
        x = torch.full(shape, 0.1)
        total = x.sum() if dim is None else x.sum(dim)
        exact = 0.10000000149011612 * (x.numel() if dim is None else shape[dim])
        found += [
            bool(((total.double() - exact).abs() < 1e-5 * exact).all()),
            bool((x.mean(dim) - 0.1).abs().max() < 1e-6),
        ]
    return found


def case_refusals_of_shapes_and_limits(torch):
    x, cube = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, 4)
    return [
        answer(lambda: cube.t()),
        answer(lambda: torch.t(cube)),
        answer(lambda: torch.clamp(x, min=1 + 2j)),
        answer(lambda: torch.clamp(x, max=2j)),
        answer(lambda: x.clamp_min(1j)),
        answer(lambda: x.clamp_max(1j)),
        answer(lambda: x.clone().clamp_(1j, 2)),
        answer(lambda: torch.gradient(x, spacing=(torch.arange(2.0), torch.arange(3.0)))),
        answer(lambda: torch.gradient(x, spacing=(1.0, 2.0, 3.0))),
        answer(lambda: torch.gradient(x, dim=0, edge_order=3)),
    ]


def case_quotients_of_half_types_cut_off(torch):
    """The quotient is cut off or rounded down once, also by a number or a tensor without dimensions."""
    found = []
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.arange(-400, 400, 3).to(dtype) / 8
        for by in (0.3, -0.7, 3, torch.tensor(0.3), torch.tensor(0.3, dtype=dtype)):
            for mode in ("trunc", "floor", None):
                found.append(torch.div(x, by, rounding_mode=mode))
        found += [x % 0.3, x // 0.3, torch.fmod(x, 0.7), x // torch.tensor(0.3, dtype=dtype)]
    return found


def case_types_of_lists_with_none(torch):
    def written(value):
        found = torch._C._jit_try_infer_type(value)
        return [found.success(), str(found.type()) if found.success() else found.reason().split("\n")[0]]

    return [
        answer(lambda v=value: written(v), cut=200)
        for value in (
            [1, None],
            [None, 1.5],
            [None],
            [None, None],
            [1, 2],
            ["a", None, "b"],
            {"a": None},
            (1, None),
            [],
        )
    ]


def case_gradients_of_an_infinite_ctc_loss(torch):
    """A target that is longer than its input: NaN, or zeros with zero_infinity."""
    found = []
    for zero in (False, True):
        for reduction in ("none", "sum", "mean"):
            x = torch.arange(24.0).reshape(4, 2, 3).sin().requires_grad_()
            targets, lengths = torch.tensor([[1, 2, 1], [1, 1, 2]]), ((2, 4), (3, 2))
            loss = torch.nn.functional.ctc_loss(
                x.log_softmax(-1), targets, *map(torch.tensor, lengths), reduction=reduction, zero_infinity=zero
            )
            found += [loss, torch.autograd.grad(loss.sum(), x, retain_graph=True)[0]]
            if reduction == "none":
                found.append(torch.autograd.grad(loss[1], x)[0])
    return found
