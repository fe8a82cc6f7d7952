"""Linear algebra: failures, layouts, names and gradients at the edge."""

import pytest
import torch


def test_the_matrix_that_fails_is_named():
    a = torch.stack([torch.eye(2), torch.zeros(2, 2)])
    with pytest.raises(torch.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 1 is zero"):
        torch.linalg.inv(a)
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 1"):
        torch.linalg.cholesky(a)
    assert torch.linalg.inv_ex(a).info.tolist() == [0, 1]


def test_return_types_keep_torch_and_linalg_apart():
    a = torch.randn(3, 2)
    assert torch.svd(a).__match_args__ == ("U", "S", "V") and torch.linalg.svd(a).__match_args__ == ("U", "S", "Vh")
    assert type(torch.linalg.eigh(torch.eye(2))).__name__ == "linalg_eigh"


def test_columns_lie_in_one_piece_as_lapack_leaves_them():
    a = torch.randn(2, 4, 3)
    assert torch.linalg.qr(a).Q.stride() == (12, 1, 4)
    assert torch.linalg.inv(a[:, :3]).stride() == (9, 1, 3)
    assert torch.linalg.qr(a.to("meta")).Q.stride() == (12, 1, 4)


def test_the_determinant_of_a_singular_matrix_has_a_gradient():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.linalg.det(a), a, create_graph=True)
    torch.testing.assert_close(g.detach(), torch.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=torch.float64))


def test_norms_of_nothing_and_of_zero():
    x = torch.zeros(3, requires_grad=True)
    for p in (1, 2, 3, float("inf")):
        assert not torch.autograd.grad(torch.linalg.vector_norm(x, p), x)[0].any()
    with pytest.raises(RuntimeError, match="does not have an identity"):
        torch.linalg.vector_norm(torch.empty(0), float("inf"))
    assert torch.linalg.vector_norm(torch.empty(0)) == 0


def test_removed_functions_say_what_replaced_them():
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.eigh"):
        torch.symeig(torch.eye(2))
