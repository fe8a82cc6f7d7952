"""What the corpus of single operators does not ask of joining, copying and scattering."""

import pytest
import torch


def test_cat_of_channels_last_is_channels_last_and_differentiable():
    x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last).requires_grad_()
    y = torch.cat((x, x), 1)
    assert y.is_contiguous(memory_format=torch.channels_last)
    y[:, 3:].sum().backward()
    assert x.grad.eq(1).all()


def test_cat_promotes_and_skips_empty_vectors():
    y = torch.cat((torch.empty(0), torch.ones(1, 2, dtype=torch.int32), torch.ones(1, 2, dtype=torch.bfloat16)))
    assert y.shape == (2, 2) and y.dtype is torch.float32
    with pytest.raises(ValueError):
        torch.cat([])


def test_a_scatter_into_a_copy_leaves_its_input():
    x = torch.zeros(2, 3, requires_grad=True)
    src = torch.ones(3, requires_grad=True)
    y = torch.select_scatter(x, src, 0, 1)
    assert x.sum() == 0 and y.tolist() == [[0] * 3, [1] * 3] and y._version == 0
    (y * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2], [0, 0, 0]] and src.grad.tolist() == [3, 4, 5]


def test_copies_of_views_share_nothing():
    x = torch.zeros(2, 3)
    torch.transpose_copy(x, 0, 1).fill_(1)
    x.narrow_copy(0, 0, 1).fill_(1)
    for t in torch.unbind_copy(x):
        t.fill_(1)
    assert not x.any()


def test_a_source_that_is_too_short_fails_before_anything_is_written():
    x = torch.zeros(3)
    with pytest.raises(RuntimeError):
        x.masked_scatter_(torch.ones(3, dtype=torch.bool), torch.ones(2))
    assert not x.any() and torch.ones(3).sum() == 3


def test_expanded_tensors_may_be_filled_but_not_written_to():
    x = torch.zeros(3, 1)
    x.expand(3, 2).fill_(2)
    assert x.tolist() == [[2]] * 3
    with pytest.raises(RuntimeError, match="single memory location"):
        x.expand(3, 2).add_(1)


def test_searching_remembers_no_side():
    a, v = torch.tensor([1.0, 1, 2]), torch.tensor([1.0])
    assert [torch.searchsorted(a, v, right=r).item() for r in (False, True, False, True)] == [0, 2, 0, 2]
    assert torch.searchsorted(a, v, out_int32=True).dtype is torch.int32


def test_variadic_functions_take_a_list_and_tensors():
    a, b = torch.arange(2), torch.arange(3)
    assert [t.tolist() for t in torch.meshgrid(a, b, indexing="ij")] == [
        t.tolist() for t in torch.meshgrid([a, b], indexing="ij")
    ]
    assert torch.block_diag(a, b).shape == (2, 5) and torch.cartesian_prod(a, b).shape == (6, 2)
    assert isinstance(torch.atleast_2d(a), torch.Tensor) and len(torch.atleast_2d(a, b)) == 2


def test_gather_from_what_is_expanded_copies_nothing():
    table = torch.arange(65536.0).view(1, 1, -1)
    index = torch.randint(0, 65536, (3000, 50, 2))  # 73 GB if the table were copied
    assert torch.equal(torch.take_along_dim(table, index, dim=2), index.float())
    x = torch.arange(6.0).view(2, 1, 3).expand(2, 4, 3)
    index = torch.tensor([2, 0, 1]).expand(2, 4, 3)
    assert torch.equal(x.gather(2, index), x.contiguous().gather(2, index.contiguous()))
    index = torch.tensor([3, 0]).view(1, 2, 1).expand(2, 2, 3)
    assert torch.equal(x.gather(1, index), x[:, :2])


def test_rows_have_pytorch_s_geometry():
    x = torch.arange(24.0).reshape(2, 3, 4)
    for v, row, expected in (
        (x, 1, ((3, 4), (4, 1), 12)),
        (x, -2, ((3, 4), (4, 1), 0)),
        (x.mT, -1, ((4, 3), (1, 4), 12)),
        (x[:, 1:], 1, ((2, 4), (4, 1), 16)),
        (torch.zeros(3, 0), 1, ((0,), (1,), 1)),
        (torch.zeros(3, 0, 5), 2, ((0, 5), (5, 1), 10)),
        (torch.zeros(5)[1:], -1, ((), (), 4)),
    ):
        r = v[row]
        assert (tuple(r.shape), r.stride(), r.storage_offset()) == expected
    with pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"):
        x[2]
    with pytest.raises(IndexError, match="index -3 is out of bounds"):
        x[-3]


def test_rows_written_without_gradients_are_written_once_and_counted():
    x, r = torch.zeros(3, 4), torch.arange(4.0)
    view, version = x[1], x._version
    x[1], x[0], x[-1, 1:3], x[..., 0] = r, torch.tensor(5.0), r[:2], r[1]
    assert x.tolist() == [[1, 5, 5, 5], [1, 1, 2, 3], [1, 0, 1, 0]] and x._version == version + 4
    assert view.tolist() == [1, 1, 2, 3] and view._version == x._version
    x[0] = x[1]  # of the same memory
    x[1:] = r.double()
    x[2] = torch.ones(1, 4)
    assert x.tolist() == [[1, 1, 2, 3], [0, 1, 2, 3], [1, 1, 1, 1]]
    for wrong in (torch.ones(3), torch.ones(2, 4)):
        with pytest.raises(RuntimeError):
            x[0] = wrong
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.zeros(1, 4).expand(3, 4)[:, 0] = torch.ones(3)
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        leaf[0] = torch.tensor(1.0)
    with torch.no_grad():
        leaf[0] = torch.tensor(1.0)
    assert leaf.tolist() == [1, 0, 0] and leaf._version == 1
    with torch.inference_mode():
        y = torch.zeros(2, 2)
        y[0] = torch.ones(2)
    assert y.sum() == 2
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        y[1] = torch.ones(2)


def test_the_gradient_of_a_row_is_zero_elsewhere_and_differentiable():
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    (g,) = torch.autograd.grad((x[1] ** 3).sum() + x[0, 1:].sum(), x, create_graph=True)
    assert g.tolist() == [[0, 1], [12, 27], [0, 0]]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [[0, 0], [12, 18], [0, 0]]
    (g,) = torch.autograd.grad(x[-1].double().sum(), x)
    assert g.dtype is torch.float32 and g.tolist() == [[0, 0], [0, 0], [1, 1]]


def test_gradients_of_strided_views_and_diagonal_blocks():
    b = torch.zeros(10, requires_grad=True)
    for size, stride, start, expected in (
        ((3, 3), (2, 1), 0, [0, 1, 5, 4, 11, 7, 8, 0, 0, 0]),  # elements that occur twice
        ((2, 3), (1, 3), 1, [0, 0, 3, 0, 1, 4, 0, 2, 5, 0]),
        ((2, 2), (0, 3), 2, [0, 0, 2, 0, 0, 4, 0, 0, 0, 0]),
    ):
        weights = torch.arange(float(size[0] * size[1])).reshape(size)
        (g,) = torch.autograd.grad((b.as_strided(size, stride, start) * weights).sum(), b)
        assert g.tolist() == expected
    x, y, z = torch.ones(2, 3, requires_grad=True), torch.ones(2, requires_grad=True), torch.ones(()).double()
    out = torch.block_diag(x, y, z.requires_grad_())
    weights = torch.arange(24.0, dtype=torch.float64).reshape(4, 6)
    grads = torch.autograd.grad((out**2 * weights).sum(), (x, y, z), create_graph=True)
    assert [g.tolist() for g in grads] == [[[0, 2, 4], [12, 14, 16]], [30, 32], 46]
    assert [g.dtype for g in grads] == [torch.float32, torch.float32, torch.float64]
    assert torch.autograd.grad(grads[0].sum(), x)[0].tolist() == [[0, 2, 4], [12, 14, 16]]
