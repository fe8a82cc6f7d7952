"""What is decided at an edge: tolerances, the last window of a pool, the order of dimensions where nothing tells it,
odd numbers of random values.
"""

import itertools
import warnings


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
