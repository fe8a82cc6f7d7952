"""Storages, typed and untyped, and masks over sparse tensors: what they hold, what they refuse and in which words."""


def _told(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__, str(e).split("\n")[0][:120]


def case_typed_storages(torch):
    kinds = ["float64", "complex128", "float16", "bool", "bfloat16", "int8"]
    s = torch.FloatStorage([1, 2, 3, 4])
    s[1:3] = 7
    return [
        [torch.zeros(2, dtype=getattr(torch, d)).storage_type() for d in kinds],
        [isinstance(torch.zeros(2).storage(), c) for c in (torch.FloatStorage, torch.DoubleStorage, torch.TypedStorage)],
        type(torch.FloatStorage(2)),
        torch.Storage,
        s.tolist(),
        str(torch.TypedStorage([1, 2], dtype=torch.int8).float()),
        str(torch.zeros(2, device="meta").storage()),
        *(
            _told(f)
            for f in (
                lambda: s[1:3],
                lambda: s[9],
                lambda: s["a"],
                lambda: torch.FloatStorage(3, 3),
                lambda: torch.FloatStorage(3, dtype=torch.double),
                lambda: torch.TypedStorage(wrap_storage=torch.UntypedStorage(8)),
                lambda: torch.TypedStorage([1, 2], dtype=torch.int8).copy_(torch.FloatStorage([3, 4])),
                lambda: torch.UntypedStorage([1, 2, 3])[::2],
                lambda: torch.UntypedStorage("a"),
                lambda: torch.zeros(2, device="meta").storage()[0],
                lambda: torch.zeros(2, device="meta").storage().cpu(),
            )
        ),
    ]


def case_tensors_of_storages(torch):
    ints = torch.ones(4, dtype=torch.int32)
    return [
        torch.tensor(ints.untyped_storage(), dtype=torch.int32),
        torch.tensor(ints.untyped_storage()),
        torch.tensor(ints.storage(), dtype=torch.int32),
        _told(lambda: torch.tensor(ints.storage())),
        _told(lambda: torch.zeros(2).set_(ints.storage())),
        torch.zeros(2).set_(ints.untyped_storage()).shape,
    ]


def case_storage_deprecation(torch):
    import warnings

    torch.storage._reset_warn_typed_storage_removal()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.FloatStorage()
        torch.ones(3).storage()
    return [(w.category.__name__, str(w.message), w.filename == __file__) for w in told]


def case_indexing_refusals(torch):
    x, empty = torch.zeros(4, 4), torch.empty(10, 0)
    byte = lambda v: torch.tensor(v, dtype=torch.uint8)  # noqa: E731
    a, b = torch.zeros(2, 3), torch.tensor(3)
    a[byte(1)] = torch.ones(1, 1, 2, 3)
    a[byte(0)] = 5
    b[byte(1)] = 4
    return [
        a,
        b,
        *(
            _told(f)
            for f in (
                lambda: empty[:, [0, 1]],
                lambda: x[:, [0, 5]],
                lambda: x["0":"1"],
                lambda: x[torch.tensor(1.5) : 3],
                lambda: torch.rand([]).index_put([], torch.tensor([1.0]), True),
                lambda: torch.randn(0, 3).index_select(0, torch.tensor([0, 1])),
                lambda: torch.randn(0, 3).index_select(1, torch.tensor([0, 5])),
                lambda: torch.tensor(1.0).index_select(0, torch.tensor([0, 0])),
            )
        ),
    ]


def case_layout_of_nothing(torch):
    x = torch.zeros(2, 3, 4, 5)[:, :, :, 1][:, 1:1, :]
    return [x.is_contiguous(), x.stride(), torch.empty(0, 3).T.is_contiguous()]


def case_foreach_extremes(torch):
    x = [torch.tensor([1, 5])]
    found = [torch._foreach_maximum(x, 3), torch._foreach_minimum([torch.tensor([1.0, 5])], [torch.tensor(3.0)])]
    torch._foreach_maximum_(x, 3)
    names = [n for n in ("_foreach_zero", "_foreach_copy", "_foreach_zero_", "_foreach_copy_") if hasattr(torch, n)]
    return [*found, x, names, torch._segment_reduce(torch.arange(6.0), "sum", lengths=torch.tensor([2, 4]))]


def case_results_cast_as_they_are_drawn(torch):
    return [
        torch.bernoulli(torch.ones(3), out=torch.zeros(3, dtype=torch.uint8)),
        _told(lambda: torch.arange(3).apply_(lambda v: "a")),
        _told(lambda: torch.rand(3).apply_(lambda v: "a")),
        _told(lambda: torch.use_deterministic_algorithms(False, warn_only=1)),
        torch.ones(2)._neg_view(),
    ]


def case_masked_sparse(torch):
    import torch.masked

    x = torch.tensor([[1.0, 2, 0], [0, 3, 4], [5, 0, 6]])
    m = torch.tensor([[1, 0, 1], [1, 1, 1], [1, 1, 0]], dtype=torch.bool)
    found = []
    for name in ("sum", "prod", "amax", "amin", "mean"):
        for layout in (torch.sparse_coo, torch.sparse_csr)[name == "mean" :]:
            for dim in (0, 1, None):
                r = getattr(torch.masked, name)(x.to_sparse(layout=layout), dim, keepdim=True, mask=m.to_sparse(layout=layout))
                found += [str(r.layout), r.to_dense()]
    r = torch.masked.sum(x.to_sparse(), 0, mask=m)
    hybrid = torch.masked.sum(x.to_sparse(1), 0, mask=m.to_sparse(1))
    return [*found, r.to_dense(), r.dtype, hybrid.to_dense(), torch.masked.prod(x.to(torch.cfloat).to_sparse(), 0, mask=m).to_dense()]
