"""Sparse COO tensors: what the corpus does not reach."""

import io

import pytest
import torch


def example(**kw):
    return torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.tensor([3.0, 4.0, 5.0, 1.0], **kw), (2, 3))


DENSE = torch.tensor([[0.0, 0.0, 4.0], [4.0, 0.0, 5.0]])


def test_parts():
    s = example()
    assert (
        s.is_sparse
        and s.layout is torch.sparse_coo
        and s._nnz() == 4
        and not s.is_coalesced()
        and (s.sparse_dim(), s.dense_dim()) == (2, 0)
    )
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()
    c = s.coalesce()
    assert (
        c.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
        and c.values().tolist() == [4, 4, 5]
        and torch.equal(s.to_dense(), DENSE)
    )
    assert repr(c) == (
        "tensor(indices=tensor([[0, 1, 1],\n                       [2, 0, 2]]),\n       values=tensor([4., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=torch.sparse_coo)"
    )
    assert torch.equal(DENSE.to_sparse().to_dense(), DENSE) and torch.equal(DENSE.to_sparse(1).to_dense(), DENSE)


def test_arithmetic_and_gradients():
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    m = torch.ones(3, 2, requires_grad=True)
    s = torch.sparse_coo_tensor([[0, 1], [2, 0]], v, (2, 3))
    ((s * 2) @ m + s.to_dense().sum()).sum().backward()
    assert v.grad.tolist() == [8, 8] and m.grad.tolist() == [[8, 8], [0, 0], [6, 6]]
    leaf = example().requires_grad_()
    torch.sparse.mm(leaf, torch.ones(3, 1)).sum().backward()
    assert leaf.grad.is_sparse and leaf.grad.to_dense().tolist() == [[0, 0, 1], [1, 0, 1]]
    a, b = example(), torch.sparse_coo_tensor([[0, 1], [2, 1]], [2.0, 3.0], (2, 3))
    for got, want in (
        (a + b, DENSE + b.to_dense()),
        (a - b, DENSE - b.to_dense()),
        (a * b, DENSE * b.to_dense()),
        (DENSE * a, DENSE**2),
        (a.t(), DENSE.t()),
        (a.sqrt(), DENSE.sqrt()),
    ):
        assert torch.equal(got.to_dense(), want)
    assert (
        torch.equal(DENSE + a, 2 * DENSE)
        and a.sum() == DENSE.sum()
        and torch.equal(torch.sparse.sum(a, 0).to_dense(), DENSE.sum(0))
    )


def test_sparse_gradients_meet_dense_ones():
    w = torch.ones(4, 2, requires_grad=True)
    lookup = lambda sparse: torch.nn.functional.embedding(torch.tensor([1, 1, 3]), w, sparse=sparse).sum()  # noqa: E731
    (lookup(True) + lookup(False)).backward()
    assert not w.grad.is_sparse and w.grad.tolist() == [[0, 0], [4, 4], [0, 0], [2, 2]]
    w.grad = None
    lookup(True).backward()
    assert w.grad.is_sparse
    torch.optim.SGD([w], 0.5).step()
    assert w.tolist() == [[1, 1], [0, 0], [1, 1], [0.5, 0.5]]
    lookup(False).backward()
    assert not w.grad.is_sparse and w.grad[1].tolist() == [4, 4]


def test_what_is_not_supported_says_so():
    with pytest.raises(NotImplementedError, match="aten::exp.*SparseCPU.*torch.sparse_coo.*float32.*cpu"):
        example().exp()
    with pytest.raises(NotImplementedError, match="sparse_coo"):
        example()[0:1]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("make", [example, lambda: DENSE.to_sparse_csr(), lambda: DENSE.to_sparse_bsc((1, 3))])
def test_save(make, zipped):
    f = io.BytesIO()
    torch.save([make(), torch.ones(3)], f, _use_new_zipfile_serialization=zipped)
    f.seek(0)
    with torch.sparse.check_sparse_tensor_invariants():  # the old format has the indices behind the pickle
        loaded = torch.load(f)[0]
    assert loaded.layout is make().layout and torch.equal(loaded.to_dense(), DENSE)


def test_what_is_loaded_is_checked_where_that_is_wanted():
    f = io.BytesIO()
    torch.save(torch.sparse_coo_tensor([[5]], [1.0], (2,)), f)
    f.seek(0)
    assert torch.load(f)._indices().item() == 5
    f.seek(0)
    with (
        torch.sparse.check_sparse_tensor_invariants(),
        pytest.raises(RuntimeError, match="size is 2 but found index 5"),
    ):
        torch.load(f)
    assert torch.equal(torch.load(io.BytesIO(f.getvalue()))._values(), torch.ones(1)), (
        "a failed load leaves nothing behind"
    )


@pytest.mark.parametrize("name", ["csr", "csc", "bsr", "bsc"])
def test_round_trips(name):
    block = ((2, 3),) if name[0] == "b" else ()
    dense = torch.tensor([[0.0, 1, 0, 0, 0, 2], [0, 0, 0, 0, 3, 0], [0, 0, 0, 0, 0, 0], [4, 0, 0, 5, 0, 0]])
    x = getattr(dense, f"to_sparse_{name}")(*block)
    assert (
        torch.equal(x.to_dense(), dense)
        and torch.equal(x.to_sparse().to_dense(), dense)
        and torch.equal(x.t().to_dense(), dense.t())
    )
    assert torch.equal(getattr(dense.to_sparse(), f"to_sparse_{name}")(*block).values(), x.values())
    v = x.values().detach().clone().requires_grad_()
    indices = (x.crow_indices(), x.col_indices()) if name[2] == "r" else (x.ccol_indices(), x.row_indices())
    made = torch.sparse_compressed_tensor(*indices, v, x.shape, layout=x.layout, check_invariants=True)
    (made.to_dense() * torch.arange(24.0).view(4, 6)).sum().backward()
    got = torch.sparse_compressed_tensor(*indices, v.grad * (v != 0), x.shape, layout=x.layout)
    assert torch.equal(got.to_dense(), (dense != 0) * torch.arange(24.0).view(4, 6))


def test_gradients_reach_what_is_not_specified():
    d, m = torch.tensor([[0.0, 3.0], [4.0, 0.0]], requires_grad=True), torch.tensor([[1.0, 5.0], [2.0, 7.0]])
    ((d.to_sparse() * 2) @ m).sum().backward()
    assert torch.equal(d.grad, 2 * torch.ones(2, 2) @ m.t())
    d.grad = None
    torch.sparse.mm(d.to_sparse(), m).sum().backward()
    assert torch.equal(d.grad, (torch.ones(2, 2) @ m.t()) * (d != 0))
    leaf = DENSE.to_sparse().requires_grad_()
    (g,) = torch.autograd.grad((leaf * 3).to_dense().sum(), leaf)
    assert g.is_sparse and torch.equal(g.to_dense(), 3.0 * (DENSE != 0))
    assert torch.autograd.gradcheck(
        lambda v: torch.sparse.softmax(torch.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], v, (2, 2)), 1).to_dense(),
        (torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True),),
    )
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.mul_(2)


def test_nothing_switches_layouts_off():
    class Sub(torch.Tensor):
        pass

    x = DENSE.to_sparse()
    with torch._C.DisableTorchFunctionSubclass():
        assert torch.equal(x @ torch.ones(3, 1), DENSE @ torch.ones(3, 1))
    assert type(x @ torch.ones(3, 1).as_subclass(Sub)) is Sub


def test_invariants():
    check = torch.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="ncols"):
            torch.sparse_csr_tensor([0, 1, 2], [5, 0], [3.0, 4.0], (2, 2))
    context = check()
    with context, pytest.raises(RuntimeError, match="already activated"):
        context.__enter__()
    assert not check.is_enabled()
    with pytest.raises(IndexError):
        torch.sparse_csr_tensor([0, 1, 2], [5, 0], [3.0, 4.0], (2, 2)).to_dense()
