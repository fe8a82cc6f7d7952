"""Sparse COO tensors: what the corpus does not reach."""

import io

import pytest
import torch


def example(**kw):
    return torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.tensor([3.0, 4.0, 5.0, 1.0], **kw), (2, 3))


DENSE = torch.tensor([[0.0, 0.0, 4.0], [4.0, 0.0, 5.0]])


def test_parts():
    s = example()
    assert s.is_sparse and s.layout is torch.sparse_coo and s._nnz() == 4 and not s.is_coalesced() and (s.sparse_dim(), s.dense_dim()) == (2, 0)
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()
    c = s.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [4, 4, 5] and torch.equal(s.to_dense(), DENSE)
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
    assert leaf.grad.is_sparse and leaf.grad.to_dense().tolist() == [[0, 0, 2], [1, 0, 1]]
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
    assert torch.equal(DENSE + a, 2 * DENSE) and a.sum() == DENSE.sum() and torch.equal(torch.sparse.sum(a, 0).to_dense(), DENSE.sum(0))


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
    with pytest.raises(NotImplementedError, match='"exp".*torch.sparse_coo.*float32.*cpu'):
        example().exp()
    with pytest.raises(NotImplementedError, match="sparse_coo"):
        example()[0]
    with pytest.raises(NotImplementedError, match="sparse_csr"):
        DENSE.to_sparse(layout=torch.sparse_csr)


def test_save():
    f = io.BytesIO()
    torch.save(example(), f)
    f.seek(0)
    assert torch.equal(torch.load(f).to_dense(), DENSE)
