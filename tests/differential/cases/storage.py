"""Storages, typed and untyped, and masks over sparse tensors: what they hold, what they refuse and in which words."""

import copy
import io

from attempts import attempt, attempts


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
        [
            isinstance(torch.zeros(2).storage(), c)
            for c in (torch.FloatStorage, torch.DoubleStorage, torch.TypedStorage)
        ],
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
                r = getattr(torch.masked, name)(
                    x.to_sparse(layout=layout), dim, keepdim=True, mask=m.to_sparse(layout=layout)
                )
                found += [str(r.layout), r.to_dense()]
    r = torch.masked.sum(x.to_sparse(), 0, mask=m)
    hybrid = torch.masked.sum(x.to_sparse(1), 0, mask=m.to_sparse(1))
    return [
        *found,
        r.to_dense(),
        r.dtype,
        hybrid.to_dense(),
        torch.masked.prod(x.to(torch.cfloat).to_sparse(), 0, mask=m).to_dense(),
    ]


def case_dlpack(torch):
    from torch.utils.dlpack import from_dlpack, to_dlpack

    kinds = "bool uint8 uint16 uint64 float16 bfloat16 complex32 complex64 float8_e4m3fn".split()
    x, given = torch.arange(6.0).view(2, 3).T, to_dlpack(torch.ones(2))
    shared, copied = from_dlpack(x), from_dlpack(x, copy=True)
    shared[0, 0] = 9
    copied[0, 1] = 7
    from_dlpack(given)
    return [
        [str(from_dlpack(to_dlpack(torch.ones(2).to(getattr(torch, d)))).dtype) for d in kinds],
        x,
        torch.asarray(to_dlpack(x)),
        from_dlpack(to_dlpack(torch.arange(6)[2:])),
        from_dlpack(torch.ones(0, 3)),
        str(x.__dlpack_device__()),
        repr(x.__dlpack__(max_version=(1, 0)))[:36],
        *(
            _told(f)
            for f in (
                lambda: x.__dlpack__(stream=object()),
                lambda: x.__dlpack__(stream=3),
                lambda: from_dlpack(given),
                lambda: from_dlpack(3),
                lambda: torch.ones(3, device="meta").__dlpack__(),
                lambda: torch.ones(3, device="meta").__dlpack_device__(),
                lambda: torch.ones(3).to_sparse().__dlpack__(),
            )
        ),
    ]


def case_ranges_into_views(torch):
    x, y, z = torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(3, 2, dtype=torch.int8).T
    torch.linspace(0, 3, 4, out=x.narrow(1, 1, 2))
    torch.arange(0, 4, out=y.narrow(1, 1, 2))
    torch.linspace(0, 5, 6, out=z)
    return [x, y, z, torch.logspace(0, 3, 4, out=torch.zeros(2, 2))]


def case_what_data_may_be(torch):
    itself, first = [1, 2, 3], [1, 2]
    itself.append(itself)
    first[0] = first
    return [
        torch.tensor([2**64], dtype=torch.float64),
        torch.tensor([2**63], dtype=torch.uint64),
        torch.Tensor([2**64]),
        torch.cat((torch.tensor([]), torch.tensor([])), dim=1),
        *(
            _told(f)
            for f in (
                lambda: torch.tensor(itself),
                lambda: torch.tensor(first),
                lambda: torch.tensor([2**64]),
                lambda: torch.tensor([10**400], dtype=torch.float64),
                lambda: torch.randint(6, (0,), dtype=torch.cfloat),
                lambda: torch.rand((0,), dtype=torch.int8),
                lambda: torch.set_default_tensor_type(torch.float32),
                lambda: torch.all(torch.ones(3), out=torch.zeros((), dtype=torch.float16)),
            )
        ),
    ]


def case_hashes(torch):
    x = torch.arange(6).view(2, 3)
    hashes = [
        torch.hash_tensor(torch.arange(5.0)),
        torch.hash_tensor(x, 1),
        torch.hash_tensor(x.half(), 0, keepdim=True),
        x.bool().hash_tensor(dim=(0, 1)),
        torch.hash_tensor(torch.tensor([-1, 3], dtype=torch.int8)),
        torch.ones(3).bfloat16().hash_tensor(),
    ]
    return [h.tolist() for h in hashes] + [
        str(hashes[0].dtype),
        _told(lambda: torch.hash_tensor(torch.zeros(0))),
        _told(lambda: torch.hash_tensor(torch.ones(2, 0), 1)),
        _told(lambda: torch.hash_tensor(torch.ones(3, dtype=torch.cfloat))),
        _told(lambda: torch.hash_tensor(torch.ones(3), mode=1)),
    ]


def case_differentiable_steps(torch):
    found = []
    for name in ("Adagrad", "NAdam", "Adam"):
        p, g = (torch.rand(3, dtype=torch.double, requires_grad=True) for _ in range(2))
        q = p.clone()
        kwargs = {"amsgrad": True} if name == "Adam" else {}
        optimizer = getattr(torch.optim, name)([q], differentiable=True, **kwargs)
        for _ in range(2):
            q.grad = g.clone()
            optimizer.step()
        found += [_told(lambda q=q, p=p, g=g: list(torch.autograd.grad(q.sum(), (p, g))))]
    product, q = (
        torch.ones((), dtype=torch.double, requires_grad=True),
        torch.ones(2, dtype=torch.double, requires_grad=True).clone(),
    )
    optimizer, q.grad = torch.optim.NAdam([q], lr=0.1, differentiable=True), torch.full((2,), 0.5, dtype=torch.double)
    averages = {n: torch.full((2,), 0.1, dtype=torch.double) for n in ("exp_avg", "exp_avg_sq")}
    optimizer.state[q] = {"step": torch.tensor(1.0), "mu_product": product * 0.9, **averages}
    optimizer.step()
    found += [q.detach(), *torch.autograd.grad(q.sum(), product)]
    still = torch.zeros(3)
    still.grad = torch.zeros(3)
    optimizer = torch.optim.LBFGS([still], tolerance_grad=-float("inf"))
    return [
        *found,
        optimizer.step(lambda: torch.tensor(1.0)),
        torch.nn.functional.cross_entropy(torch.zeros(2, 0), torch.zeros(2, 0)),
    ]


def case_segments_with_nan(torch):
    found = []
    for reduce in ("max", "amax", "min", "amin", "prod", "mean", "sum"):
        d = torch.tensor([1, float("nan"), 3, 4, 5, 5], requires_grad=True)
        r = torch.segment_reduce(d, reduce, lengths=torch.tensor([1, 2, 3, 0]), initial=5.0)
        r.sum().backward()
        found += [r, d.grad]
    return found


def case_copies_of_subclasses(torch):
    """deepcopy: by clone() where a tensor has no memory, by its storage elsewhere; slots and attributes come along."""

    class Wrapping(torch.Tensor):
        __slots__ = ["elem"]

        @staticmethod
        def __new__(cls, elem):
            r = torch.Tensor._make_subclass(cls, elem.to("meta"), elem.requires_grad)
            r.elem = elem
            return r

        def clone(self):
            return type(self)(self.elem.clone())

    class Plain(torch.Tensor):
        pass

    w = Wrapping(torch.arange(2.0))
    w.more = [1]
    c = copy.deepcopy(w)
    found = [type(c).__name__, c.elem, c.elem is w.elem, c.more, c.more is w.more]
    for make in (lambda: torch.ones(2), lambda: torch.ones(0), lambda: torch.ones(2, device="meta")):
        found += attempts(
            lambda: type(copy.deepcopy(make().as_subclass(Plain))).__name__,
            lambda: type(copy.deepcopy(torch.nn.Parameter(make()))).__name__,
        )
    return found


def case_records_of_archives(torch):
    file = io.BytesIO()
    with torch.serialization._open_zipfile_writer(file) as out:
        for name in ("a", "c/d"):
            out.write_record(name, b"12345", 5)
        written = sorted(out.get_all_written_records())
    file.seek(0)
    with torch.serialization._open_zipfile_reader(file) as archive:
        found = [written, sorted(archive.get_all_records()), archive.get_record("c/d"), archive.has_record("b")]
    empty = torch.UntypedStorage(0)
    torch.save([torch.tensor([], dtype=d).set_(empty) for d in (torch.cdouble, torch.cfloat)], io.BytesIO())
    return found


def case_tensors_over_storages(torch):
    class Own(torch._C.StorageBase):
        pass

    s, typed = torch.UntypedStorage(16), torch.FloatStorage([1, 2, 3])
    file = io.BytesIO()
    s.fill_(1)._write_file(file, False, True, 4)
    a = torch.tensor(s)
    found = [
        a,
        a.untyped_storage() is s,
        torch.tensor(typed),
        torch.tensor(typed).data_ptr() == typed.data_ptr(),
        file.getvalue(),
    ]
    found += [
        torch.tensor(s, dtype=torch.int32),
        a.new_tensor(s).untyped_storage() is s,
        issubclass(torch.UntypedStorage, torch.storage._StorageBase),
    ]
    for f in (
        lambda: torch.tensor(typed, dtype=torch.float64),
        lambda: torch._C.StorageBase(),
        lambda: isinstance(Own(), torch._C.StorageBase),
        lambda: torch.UntypedStorage(device="meta").nbytes(),
        lambda: torch.UntypedStorage(3, device="meta")._share_filename_cpu_(),
        lambda: torch.UntypedStorage(3, device="meta")._write_file(file, False, True, 1),
        lambda: typed._setitem(slice(0, 3), 5) or typed.tolist(),
    ):
        found.append(_told(f))
    return found


def case_what_is_a_view_to_autograd(torch):
    def facts(t):
        return t._is_view(), t.requires_grad, t.is_leaf, None if t.grad_fn is None else type(t.grad_fn).__name__

    x = torch.arange(1.0, 7.0).view(2, 3)
    leaf = x.clone().requires_grad_()
    found = [facts(leaf.t().reshape(6)), facts(leaf.t().flatten()), facts(leaf.reshape(6))]
    # of another dtype: memory is shared, and autograd knows nothing of it
    found += [
        facts(t.view(d))
        for t in (x, leaf, x.to(torch.int32))
        for d in (torch.float32, torch.int32, torch.half, torch.complex64)
        if d.itemsize < 8
    ]
    y = (leaf * 1).t().reshape(6)
    y.mul_(2)
    y.sum().backward()
    with torch.no_grad():  # and written to with gradients afterwards: their memory is nobody else's
        made = [
            x.t().reshape(6),
            x.t().flip(0),
            x.t().sort(0)[0],
            x[0].dot(x[1]),
            x @ x[0],
            torch.kron(x, x).flatten(),
            torch.tril_indices(2, 2).double(),
        ]
    written = attempts(*(lambda t=t: t.mul_(torch.tensor(2.0, requires_grad=True)) for t in made))
    return {"facts": found, "gradient": leaf.grad, "written": written, "versions": [t._version for t in made]}


def case_results_lie_in_memory_of_their_own(torch):
    F = torch.nn.functional

    def shares(f, *shape):
        t = torch.ones(shape)
        return f(t).untyped_storage().data_ptr() == t.untyped_storage().data_ptr()

    images = [
        lambda t: F.pixel_shuffle(t, 2),
        lambda t: F.pixel_shuffle(t, 1),
        lambda t: F.channel_shuffle(t, 4),
        lambda t: F.channel_shuffle(t, 1),
    ]
    return (
        [shares(lambda t: t.flip(d), *shape) for shape in ((1,), (2, 1), (1, 1, 1), (3, 1, 2)) for d in (0, -1, ())],
        [shares(lambda t: t.rot90(k), 1, 1) for k in range(5)],
        [shares(f, 1, 4, 1, 1) for f in images] + [shares(lambda t: F.pixel_unshuffle(t, 2), 1, 1, 2, 2)],
        [
            shares(lambda t: t.roll(0), 1),
            shares(lambda t: t.repeat(1), 1),
            shares(lambda t: torch.cat([t]), 1),
            shares(lambda t: torch.einsum("ij->ji", t), 1, 1),
        ],
    )


def case_sizes_that_no_memory_has(torch):
    one, meta = torch.ones(1), torch.ones(1, device="meta")
    sizes = (
        [2, 4, 2**29, 2**29],
        [8, 8, 2**29, 2**29],
        [0, 4, 2**61],
        [2**62, 2],
        [2**63 - 1],
        [2**31, 2**31, 2],
        [2**44],
    )
    made = [
        lambda s: torch.empty((), dtype=torch.double).resize_(s),
        lambda s: torch.empty(s),
        lambda s: one.repeat(s),
        lambda s: (one.expand(s) + 1).shape,
        lambda s: one.expand(s).contiguous(),
        lambda s: torch.zeros(s, dtype=torch.double),
        lambda s: one.as_strided(s, [0] * len(s)).shape,
    ]
    unseen = [lambda s: torch.empty(s, device="meta").shape, lambda s: (meta.expand(s) + 1).shape]
    counts = [lambda n: torch.arange(n), lambda n: torch.linspace(0, 1, n), lambda n: torch.ones(2).repeat(n)]
    last = torch.tensor([2**63 - 1])
    return attempts(
        *(lambda f=f, s=s: f(s) for s in sizes for f in made),
        *(lambda f=f, s=s: f(s) for s in sizes[:-1] for f in unseen),
        *(lambda f=f, n=n: f(n) for n in (2**62, 2**44) for f in counts),
        lambda: torch.bincount(last),
        lambda: torch.empty_strided([2**62, 2], [2**40, 2**40], device="meta"),
    )


def case_sections_of_tensors_and_sizes_in_tensors(torch):
    t, m = torch.arange(10.0), torch.ones(4, 4, 4)
    sections = (
        3,
        (2, 5),
        (1, -1),
        torch.tensor(3),
        torch.tensor([2, 5]),
        torch.tensor(1.5),
        torch.tensor([[1]]),
        torch.tensor(0),
        torch.tensor(True),
        1.5,
        "a",
        0,
    )
    two = torch.tensor([0, 1])
    refused = [
        lambda v: t.view(2, 5).flip(v),
        lambda v: m.sum(v),
        lambda v: m.permute(v),
        lambda v: torch.ones(v),
        lambda v: t.repeat(v),
        lambda v: m.roll(v),
        lambda v: m.amax(v),
        lambda v: torch.nn.functional.pad(m, v),
        lambda v: torch.empty(v),
        lambda v: m.mean(v),
        lambda v: torch.nn.functional.layer_norm(m, v),
    ]
    return attempts(
        *(lambda s=s: torch.tensor_split(t, s) for s in sections),
        lambda: t.tensor_split(torch.tensor(2), 3),
        lambda: torch.ones(()).tensor_split(torch.tensor(1)),
        *(
            lambda s=s, f=f: [p.shape for p in f(m, s)]
            for s in (2, 3, 0, (1,), "a", 1.5)
            for f in (torch.hsplit, torch.vsplit, torch.dsplit)
        ),
        *(lambda f=f, v=v: f(v) for f in refused for v in (two, two.numpy())),
        lambda: torch.unravel_index(torch.tensor([1]), torch.tensor([1, 2])),
        lambda: torch.unravel_index(torch.tensor([1]), (1, 2.0)),
        lambda: torch.unravel_index(torch.tensor([5, 3]), 8),
    )


def case_outputs_over_the_memory_of_inputs(torch):
    def memory():
        return torch.linspace(0.5, 2, 16)

    def written(f, *slices):
        b = memory()
        f(*(b[s] for s in slices))
        return b

    a, later, behind, empty = slice(0, 6), slice(1, 7), slice(6, 12), slice(0, 0)
    one = [torch.neg, torch.round, torch.exp, lambda x, out: torch.clamp(x, 0.6, 1.0, out=out)]
    two = [
        torch.add,
        torch.div,
        torch.pow,
        torch.maximum,
        torch.floor_divide,
        lambda x, y, out: torch.where(x > 0.6, x, y, out=out),
    ]

    def resized():
        # a view that is resized stays one
        b = memory()
        view = b[3:3]
        torch.add(torch.zeros(2), 9.0, out=view)
        return b, view.untyped_storage().data_ptr() == b.untyped_storage().data_ptr(), view.storage_offset()

    return attempts(
        *(lambda f=f, o=o: written(lambda x, y: f(x, out=y), a, o) for f in one for o in (a, later, behind, empty)),
        *(
            lambda f=f, o=o: written(lambda x, y, z: f(x, y, out=z), a, behind, o)
            for f in two
            for o in (a, later, behind, empty)
        ),
        resized,
        lambda: torch.topk(b := memory(), 2, out=(b[:2], torch.empty(0, dtype=torch.long)))[0],
        lambda: torch.max(b := memory(), 0, out=(b[0], torch.tensor(0)))[0],
        lambda: torch.stack([(b := memory())[:2], b[4:6]], out=b[:4].view(2, 2)),
        lambda: torch.sort((b := memory()).flip(0), out=(b, torch.empty(0, dtype=torch.long)))[0],
        lambda: torch.ones(1).expand(3).__setitem__(slice(0, 2), 5),
        lambda: torch.ones(1).expand(3).__setitem__(0, 5),
        lambda: torch.ones(1).expand(3).__setitem__(slice(0, 2), torch.ones(2)),
    )


def _sources(torch):
    """Tensors with an offset, other strides, sizes of 1 and of 0: what a view may start from."""
    x = torch.arange(96.0).view(4, 6, 4)
    return {
        "whole": x,
        "behind": x[1:],
        "behind and narrow": x[1:, 2:],
        "columns": x[:, :, 2:],
        "one": x[2],
        "one column": x[1, :, 3],
        "steps": x[::2, 1::2],
        "transposed": x[1:].transpose(0, 2),
        "permuted": x[:, 3:].permute(2, 0, 1),
        "expanded": x[2:3].expand(3, 6, 4),
        "single": x[3:, 5:, 2:],
        "empty": x[1:, 3:3],
        "empty at the end": x[4:],
        "number": x[1, 2, 3],
        "diagonal": x[1].diagonal(1),
    }


def _views(torch):
    D = torch.float64
    return {
        "view dtype narrower": lambda t: t.view(torch.int16),
        "view dtype": lambda t: t.view(torch.int32),
        "view dtype wider": lambda t: t.view(D),
        "view complex": lambda t: t.view(torch.complex64),
        "as complex": lambda t: torch.view_as_complex(t.unflatten(-1, (-1, 2))),
        "view flat": lambda t: t.view(-1),
        "view split": lambda t: t.view(*t.shape[:-1], 2, -1),
        "reshape": lambda t: t.reshape(-1, 2),
        "none first": lambda t: t[None],
        "none last": lambda t: t[..., None],
        "none between": lambda t: t[:, None],
        "none and a number": lambda t: t[None, 0, ..., None],
        "unsqueeze": lambda t: t.unsqueeze(1),
        "unsqueeze last": lambda t: t.unsqueeze(-1),
        "squeeze": lambda t: t.squeeze(),
        "squeeze first": lambda t: t.squeeze(0),
        "select": lambda t: t.select(-1, -1),
        "narrow": lambda t: t.narrow(-1, 1, 1),
        "narrow nothing": lambda t: t.narrow(0, 0, 0),
        "slice": lambda t: t[..., 1:],
        "slice steps": lambda t: t[..., ::2],
        "slice beyond": lambda t: t[5:],
        "transpose": lambda t: t.transpose(0, -1),
        "movedim": lambda t: t.movedim(0, -1),
        "flatten": lambda t: t.flatten(),
        "flatten last": lambda t: t.flatten(-2),
        "unflatten": lambda t: t.unflatten(-1, (2, -1)),
        "diagonal": lambda t: t.diagonal(),
        "diagonal below": lambda t: t.diagonal(-1, -2, -1),
        "unfold": lambda t: t.unfold(-1, 2, 1),
        "unfold whole": lambda t: t.unfold(0, t.shape[0], 3),
        "expand": lambda t: t.expand(2, *t.shape),
        "expand none": lambda t: t.expand(*[-1] * t.dim()),
        "as_strided": lambda t: t.as_strided((2, 2), (3, 1)),
        "as_strided from 0": lambda t: t.as_strided((2, 2), (3, 1), 0),
        "split": lambda t: t.split(2, -1)[-1],
        "chunk": lambda t: t.chunk(2)[-1],
        "unbind": lambda t: t.unbind()[-1],
        "tensor_split": lambda t: t.tensor_split((1,))[-1],
        "mT": lambda t: t.mT,
        "detach": lambda t: t.detach(),
        "swapaxes": lambda t: t.swapaxes(0, 1),
        "view_as": lambda t: t.view_as(t),
        "alias": lambda t: torch.ops.aten.alias(t),
    }


def case_views_of_views(torch):
    """Every view of every source: shape, strides and offset, the values, and what writing into it changes."""
    found = {}
    for source in _sources(torch):
        for name, view in _views(torch).items():
            if source == "number" and name in ("as complex", "unflatten"):
                continue  # another class of error in PyTorch
            for again in ("", "again"):

                def run(source=source, view=view, again=again):
                    t = _sources(torch)[source]
                    v = view(view(t)) if again else view(t)
                    told = [v, v.storage_offset(), v.stride(), v.is_contiguous(), v._is_view(), v._version]
                    if v.dtype.is_floating_point:
                        v.fill_(-1)  # the same where elements share memory
                    return [*told[1:], told[0].clone(), t.sum(), t._version]

                found[f"{name} of {source} {again}"] = attempt(run)
    return found
