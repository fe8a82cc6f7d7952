"""Sparse tensors of every layout: what expressions give, as text, or the type and the beginning of their error."""

import re
import warnings

from attempts import attempts


def told(torch, expressions, **names):
    """expression -> repr of its value, whether it is coalesced, or its error."""
    T = torch.tensor
    space = {
        "torch": torch,
        "T": T,
        "coo": torch.sparse_coo_tensor,
        "csr_tensor": torch.sparse_csr_tensor,
        "eye": torch.eye,
        "ones": torch.ones,
        **names,
    }
    space |= {n: getattr(torch, f"sparse_{n}_tensor") for n in ("csr", "csc", "bsr", "bsc")} | {
        "comp": torch.sparse_compressed_tensor
    }
    found = {}
    for e in filter(None, map(str.strip, expressions.splitlines())):
        try:
            value = eval(e, space)  # noqa: S307
            coalesced = isinstance(value, torch.Tensor) and value.layout is torch.sparse_coo and value.is_coalesced()
            found[e] = re.sub(r"\s+", " ", repr(value)) + (" coalesced" if coalesced else "")
        except Exception as error:
            found[e] = f"{type(error).__name__}: {str(error)[:90]}"
    return found


def coordinates(torch):
    coo, T = torch.sparse_coo_tensor, torch.tensor
    return dict(
        x=coo([[0, 1], [1, 0]], [3.0, 4.0], (2, 3)),
        xi=coo([[0, 1], [1, 0]], T([3, 4], dtype=torch.int32), (2, 3)),
        h=coo([[0, 2, 0]], torch.arange(6.0).view(3, 2), (3, 2)),
        b=coo([[0, 1], [1, 0]], [True, True], (2, 2)),
        one=coo([[0, 2]], T([1, 2], dtype=torch.int32), (3,)),
    )


def case_coo_indexing(torch):
    return told(
        torch,
        """x[0]
        x[:, 0]
        x[0:2, 1]
        x[:, T([0])]
        h[:, 0]
        h[0, 0:2]
        torch.sparse_coo_tensor(size=(2, 3))
        x[0, 1]
        x[..., 0]
        x[None]
        x[T(0)]
        x[5]
        x[0:1]
        x[[0]]
        x[T([0])]
        x.select(0, 5)
        h[0]
        h.select(1, 0)
        one[0]
        list(x)
        x.unbind(1)
        x.index_select(0, T([1, 0, 1]))
        h.index_select(0, T([0, 1]))
        h.index_select(1, T([1]))
        x.index_select(0, T([5]))
        x.index_select(0, T([0.0]))
        torch.narrow_copy(x, 0, 1, 1)
        x.__setitem__(0, 1.0)
        len(x)""",
        **coordinates(torch),
    )


def case_coo_shapes(torch):
    return told(
        torch,
        """torch.cat([x, x])
        torch.cat([x, x], 1)
        torch.cat([h, h], 1)
        torch.cat([x, ones(2, 3)])
        torch.cat([x, x.t()])
        torch.cat([x, eye(3).to_sparse(1)])
        torch.stack([x, x], -1)
        torch.hstack([x, x])
        h.unsqueeze(2)
        x.unsqueeze(0)
        x.unsqueeze(5)
        x.squeeze(0)
        h.permute(1, 0)
        x.permute(1, 0)
        x.permute(0, 0)
        x.permute(0)
        x.T
        x.mT
        h.t()
        h.transpose(0, 1)
        x.clone().t_()
        x.reshape(6)
        x.flatten()
        x.view(6)
        x.expand(3, 2, 3)
        x.chunk(2)
        x.clone().sparse_resize_((4, 5), 2, 0)
        x.clone().sparse_resize_((1, 5), 2, 0)
        x.clone().sparse_resize_((4, 5), 1, 1)
        x.clone().sparse_resize_((4, 5), 2, 1)
        x.clone().sparse_resize_and_clear_((4, 5), 1, 1)
        x.clone().resize_as_sparse_(coo((5, 5)))
        coo((2, 2)).sparse_resize_((3, 3, 3), 2, 1)""",
        **coordinates(torch),
    )


def case_coo_arithmetic(torch):
    return told(
        torch,
        """x + x
        torch.add(x, x, alpha=2)
        x + xi
        x + x.t()
        x + 1
        x + ones(2, 3)
        ones(2, 3) + x
        ones(3) + x
        ones(2, 3) - x
        1 - x
        x - x
        b + b
        eye(2).to_sparse(1) + eye(2).to_sparse()
        xi.clone().add_(x)
        x * ones(3)
        x * ones(5, 2, 3)
        x * T([[1.0, 2, 3], [4, 5, 6]])
        x * x.t()
        h * h
        h * ones(2)
        xi * 1.5
        xi * x
        x / 2
        xi / 2
        x / ones(2, 3)
        x / coo(torch.zeros(0, 1, dtype=torch.long), [2.0], ())
        1 / x
        torch.div(x, 2, rounding_mode="floor")
        x // 2
        x**2
        x**0
        x**x
        2**x
        xi**0.5
        -x
        x.sqrt()
        x.exp()
        torch.relu(-x)
        x == 0
        h.abs_()
        h.clone().neg_()
        x.float_power(2)
        x.clone().copy_(x * 3)
        x.clone().copy_(ones(2, 3))
        x.clone().fill_(1)
        torch.abs(x, out=x.clone())""",
        **coordinates(torch),
    )


def case_coo_reductions(torch):
    return told(
        torch,
        """x.sum()
        x.sum(0)
        x.sum(0, keepdim=True)
        x.sum((0, 1))
        h.sum(0)
        h.sum(1)
        xi.sum(0)
        b.sum()
        x.sum(dtype=torch.float64)
        torch.sparse.sum(x, 0)
        torch.sparse.sum(xi, 0)
        torch.sparse.sum(x, 0, dtype=torch.float64)
        torch.sparse.sum(h, [0])
        torch.sparse.sum(x, 5)
        torch.sparse.sum(x, (0, 0))
        torch.sparse.sum(ones(2, 2))
        torch.sparse.sum(ones(2, 2), 0)
        x.norm()
        x.norm(1)
        x.norm(dim=0)
        xi.norm()
        torch.linalg.norm(x)
        x.any()
        x.all()
        x.max()
        x.mean()
        torch.sparse.softmax(x, 1)
        torch.sparse.log_softmax(x, -1)
        torch.sparse.softmax(h, 0)
        torch.sparse.softmax(h, 1)
        torch.sparse.softmax(x, 1, dtype=torch.float64)
        torch.sparse.softmax(xi, 1)
        torch.sparse.softmax(ones(2, 2), 1)
        torch.sparse.softmax(x.to_sparse_csr(), 1)
        x.softmax(1)""",
        **coordinates(torch),
    )


def case_coo_products(torch):
    return told(
        torch,
        """x @ ones(3, 2)
        x @ ones(3)
        ones(2) @ x
        ones(2, 2) @ x
        x @ x
        x @ x.t()
        x @ ones(2, 2)
        x @ ones(2, 3, 2)
        x.mv(ones(2))
        x @ ones(3, 2).double()
        x @ x.t().double()
        x.long() @ ones(3, 2).long()
        x.long() @ x.t().long()
        eye(2).to_sparse(1) @ ones(2, 2)
        torch.sparse.mm(x, ones(3, 2), "sum")
        torch.sparse.mm(ones(2, 2), ones(2, 2))
        torch.addmm(ones(2), x, ones(3, 2), beta=2, alpha=3)
        torch.addmm(ones(3, 3), x, ones(3, 2))
        torch.addmm(ones(2, 3), ones(2, 2), x)
        torch.sparse.addmm(ones(2, 2), x, ones(3, 2), beta=2)
        torch.bmm(torch.stack([x, x]), ones(2, 3, 2))
        torch.smm(x, ones(3, 2))
        torch.hspmm(x, ones(3, 2))
        torch.sspaddmm(eye(2).to_sparse(), x, ones(3, 2))
        torch.nn.functional.linear(ones(2, 3), x, ones(2))
        torch.matrix_power(x @ x.t(), 3)
        torch.dot(x[0], x[0])
        torch.outer(x[0], x[0])
        torch.mm(x, ones(3, 2), out=torch.empty(0))
        torch.sparse.spdiags(torch.arange(9).reshape(3, 3), T([0, -1, 2]), (3, 3))
        torch.sparse.spdiags(torch.arange(9).reshape(3, 3), T([0, -1, 2]), (3, 3), layout=torch.sparse_csr)
        torch.sparse.spdiags(torch.arange(6).reshape(2, 3), T([1, 1]), (3, 4))
        torch.sparse.spdiags(torch.arange(6).reshape(2, 3), T([1]), (3, 4))
        torch.sparse.spsolve(x, ones(2))""",
        **coordinates(torch),
    )


def case_made_and_refused(torch):
    return told(
        torch,
        """coo([[0, 5]], [1.0, 2.0], (2,), check_invariants=True)
        coo([[0]], [1.0, 2.0], (2,))
        coo((2, 2))
        csr([0, 1, 2], [1, 0], [3.0, 4.0])
        csc([0, 1, 2], [1, 0], [3.0, 4.0])
        bsr([0, 1], [0], ones(1, 2, 3))
        bsc([0, 1], [0], ones(1, 2, 3))
        csr([0, 1], [0], [1], (1, 1), dtype=torch.float64)
        csr([0, 1], [0], [1.0], (1, 1), requires_grad=True)
        csr([[0, 1, 2], [0, 1, 2]], [[1, 0], [0, 1]], [[3.0, 4.0], [1, 2]])
        comp([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csc)
        comp([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2))
        comp([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=torch.sparse_coo)
        csr([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=torch.sparse_csc)
        csr(T([0, 1], dtype=torch.int32), T([0]), [1.0], (1, 1), check_invariants=True)
        csr(T([0.0, 1.0]), T([0.0]), [1.0], (1, 1), check_invariants=True)
        csr([[0, 1]], [0], [1.0], (1, 1), check_invariants=True)
        csr(0, [0], [1.0], (1, 1), check_invariants=True)
        csr([0, 1], [0], [1.0], (1,), check_invariants=True)
        csr([0, 1], [1, 0], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([1, 1, 2], [1, 0], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([0, 1, 3], [1, 0], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([0, 3, 2], [0, 1], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([0, 1, 2], [5, 0], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([0, 2, 2], [1, 0], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([0, 1, 2], [1, 0], [3.0], (2, 2), check_invariants=True)
        csr([[0, 1, 2], [0, 1, 2]], [[1, 0]], [[3.0, 4.0], [1, 2]], (2, 2, 2), check_invariants=True)
        bsr([0, 1], [0], ones(1), (2, 2), check_invariants=True)
        bsr([0, 1], [0], ones(1, 2, 2), (3, 2), check_invariants=True)
        csc([0, 1, 2], [5, 0], [3.0, 4.0], (2, 2), check_invariants=True)
        csr([0, 1, 2], [5, 0], [3.0, 4.0], (2, 2)).to_dense()
        torch._validate_sparse_csr_tensor_args(T([0, 1]), T([5]), T([1.0]), (1, 1))
        torch.zeros(2, 3, layout=torch.sparse_coo)
        torch.zeros(2, 3, layout=torch.sparse_csr)
        torch.zeros(2, 2, layout=torch.sparse_bsr)
        torch.ones(2, 3, layout=torch.sparse_coo)""",
    )


def case_conversions(torch):
    two = torch.stack([torch.eye(2)] * 2)
    return told(
        torch,
        """four.to_sparse_csr()
        four.to_sparse_csc()
        four.to_sparse_bsr((2, 2))
        four.to_sparse_bsc((1, 2))
        two.to_sparse_csr()
        ones(2, 2, 2).to_sparse_csr(dense_dim=1)
        ones(2, 2, 3).to_sparse_bsr((1, 2), dense_dim=1)
        torch.stack([eye(2), ones(2, 2)]).to_sparse_csr()
        ones(2, 2, 2).to_sparse_csr(dense_dim=5)
        ones(3, 3).to_sparse_bsr((2, 2))
        ones(2, 2).to_sparse_bsr((2,))
        four.to_sparse(layout=torch.sparse_bsr)
        four.to_sparse(layout=torch.sparse_csr, blocksize=(1, 2))
        four.to_sparse(layout=torch.sparse_coo, dense_dim=1)
        four.to_sparse(5)
        four.to_sparse(0)
        T(3.0).to_sparse()
        four.to_sparse().to_sparse_csr()
        four.to_sparse().to_sparse_bsr((2, 4))
        four.to_sparse().to_sparse_bsr((3, 4))
        four.to_sparse().to_sparse(1)
        ones(1, 2, 2).to_sparse().to_sparse_csr()
        ones(2, 2, 2).to_sparse(2).to_sparse_csr()
        four.to_sparse_csr().to_sparse_csc()
        four.to_sparse_csc().to_sparse_csr()
        four.to_sparse_csc().to_sparse()
        four.to_sparse_csr().to_sparse_bsc((2, 2))
        four.to_sparse_bsr((2, 2)).to_sparse()
        four.to_sparse_bsr((2, 2)).to_sparse_bsc((2, 2))
        four.to_sparse_bsr((2, 2)).to_sparse_bsr((1, 2))
        four.to_sparse_bsr((2, 2)).to_sparse_csr()
        two.to_sparse_csr().to_sparse_csc()
        two.to_sparse_csr().to_sparse()
        two.to_sparse_csr().to_sparse_bsr((2, 2))
        four.to_sparse_bsr((2, 2)).to_dense()
        four.to_sparse_bsc((1, 2)).to_dense()
        two.to_sparse_csc().to_dense()
        ones(2, 2, 2).to_sparse_csr(dense_dim=1).to_dense()
        four.to_sparse_csr().to_dense(torch.float64)
        four.to_sparse().indices()
        four.crow_indices()
        four.to_sparse_csr().ccol_indices()
        four.to_sparse_csc().crow_indices()
        four.to_sparse_csr().indices()
        four.values()
        four.sparse_mask(eye(4).to_sparse())
        four.sparse_mask(eye(4).to_sparse_bsr((2, 2)))
        four.to_sparse().sparse_mask(eye(4).to_sparse_csr())
        four.to_sparse_csr().sparse_mask(eye(4).to_sparse())
        four.sparse_mask(eye(2).to_sparse())""",
        four=torch.tensor([[0.0, 3, 0, 0], [4, 0, 0, 5], [0, 0, 0, 0], [0, 1, 0, 2]]),
        two=two,
    )


def case_compressed(torch):
    x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 3))
    return told(
        torch,
        """c + c
        c + ones(2, 3)
        torch.add(ones(2, 3), c, alpha=2)
        c + 1
        c + q
        c + c.double()
        b + b
        c - c
        c * 2
        c * c
        c * x
        c * ones(2, 3)
        c * ones(3)
        s * s
        b * b
        c / 2
        c**2
        c == c
        c.exp()
        c.sin()
        -c
        c.angle()
        c.clone().fill_(1.0)
        c.clone().zero_()
        torch.zeros_like(c)
        torch.zeros_like(b)
        torch.ones_like(c)
        c[0]
        c[0, 1]
        c[:, 1]
        s[0]
        b[0]
        two[0]
        two[0, 0]
        two.select(1, 0)
        c[0:1]
        c[None]
        c[5]
        list(c)
        c.sum()
        c.sum(0)
        c.sum(0, keepdim=True)
        c.sum((0, 1), keepdim=True)
        s.sum(0, keepdim=True)
        torch.sparse.sum(c)
        c.t()
        c.mT
        b.t()
        two.transpose(1, 2)
        two.transpose(0, 1)
        c.clone().t_()
        c.permute(1, 0)
        c.reshape(6)
        torch.cat([c, c])
        c.clone().resize_(3, 3)
        c.clone().copy_(c * 2)
        c.clone().copy_(x)
        c.stride()
        c.is_contiguous()
        c.data_ptr()
        c.untyped_storage()
        c.numpy()
        c.tolist()
        c.type()
        c.double()
        (c.is_sparse, c.is_sparse_csr, s.is_sparse_csr, c.sparse_dim(), c.dense_dim(), c._nnz(), c.layout)
        c @ ones(3, 2)
        c @ ones(3)
        ones(2, 2) @ c
        s @ ones(3, 2)
        b @ ones(4, 2)
        c @ c.t()
        q @ q
        q @ x
        ones(2, 4) @ b
        two @ ones(2, 2, 2)
        c @ ones(2, 2)
        c.long() @ ones(3, 2).long()
        torch.addmm(ones(2, 2), c, ones(3, 2), beta=2, alpha=3)
        torch.addmm(ones(2, 3), ones(2, 2), c)
        torch.addmm(q, q, q, beta=2)
        torch.addmm(q, ones(2, 2), ones(2, 2))
        torch.addmv(ones(2), c, ones(3), beta=2)
        torch.sparse.mm(c, torch.arange(6.0).view(3, 2), "mean")
        torch.sparse.mm(c, torch.arange(6.0).view(3, 2), "amax")
        torch.sparse.mm(c, ones(3, 2), "prod")
        torch.sparse.mm(s, ones(3, 2), "sum")
        torch.sparse.sampled_addmm(q, ones(2, 3), ones(3, 2), beta=2.0, alpha=0.5)
        torch.sparse.sampled_addmm(two, ones(2, 2, 3), ones(2, 3, 2))
        torch.sparse.sampled_addmm(q, ones(2, 3), ones(2, 2))
        torch.sparse.sampled_addmm(q, q, q)
        torch.sparse.sampled_addmm(x, ones(2, 3), ones(3, 3))
        torch.triangular_solve(ones(2, 1), T([[2.0, 1.0], [0, 4.0]]).to_sparse_csr())[0]
        torch.nn.functional.linear(ones(4, 3), c)""",
        x=x,
        c=x.to_sparse_csr(),
        s=x.to_sparse_csc(),
        q=torch.eye(2).to_sparse_csr(),
        b=torch.eye(4).to_sparse_bsr((2, 2)),
        two=torch.stack([torch.eye(2)] * 2).to_sparse_csr(),
    )


def case_gradients(torch):
    W, M = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 5.0], [2.0, 7.0]])
    leaves = {
        "dense": lambda: torch.tensor([[0.0, 3.0], [4.0, 0.0]], requires_grad=True),
        "coo": lambda: torch.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2), requires_grad=True),
        "uncoalesced": lambda: torch.sparse_coo_tensor(
            [[0, 1, 0], [1, 0, 1]], [3.0, 4.0, 1.0], (2, 2), requires_grad=True
        ),
        "csr": lambda: torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), requires_grad=True),
    }
    functions = {
        "mm": lambda x: x @ M,
        "mm on the right": lambda x: M @ x,
        "sparse.mm": lambda x: torch.sparse.mm(x, M),
        "mv": lambda x: x.mv(torch.tensor([1.0, 2.0])),
        "addmm": lambda x: torch.addmm(M, x, M),
        "sum": lambda x: x.sum(),
        "to_dense": lambda x: x.to_dense(),
        "twice": lambda x: x + x,
        "neg": lambda x: -x,
        "times": lambda x: x * 2,
        "times, mm": lambda x: (x * 2) @ M,
        "t, mm": lambda x: x.t() @ M,
        "clone": lambda x: x.clone(),
        "to a dense one": lambda x: M + x,
    }
    found = {}
    for leaf, make in leaves.items():
        for name, f in functions.items():
            x = make()
            y = f(x.to_sparse() if leaf == "dense" else x)
            y = y if y.layout is torch.strided else y.to_dense()
            (y * W if y.dim() == 2 else y).sum().backward()
            found[f"{leaf} {name}"] = re.sub(r"\s+", " ", repr(x.grad))
    return found


def case_nodes(torch):
    """The names of the nodes that sparse tensors hang on."""
    d = torch.tensor([[0.0, 3.0], [4.0, 0.0]], requires_grad=True)
    x, c = d.to_sparse(), d.to_sparse_csr()
    made = torch.sparse_coo_tensor([[0, 0]], d[0] + 1, (2,))
    outs = (
        x,
        d.to_sparse(1),
        c,
        d.to_sparse_csc(),
        made,
        made.coalesce(),
        x.to_dense(),
        c.to_dense(),
        x.values(),
        c.values(),
        x * 2,
        x + x,
        -x,
        x.t(),
    )
    outs += (
        x[0],
        x @ d,
        c @ d,
        torch.sparse.mm(x, d),
        x.sum(),
        torch.sparse.softmax(x, 0),
        x.to_sparse_csr(),
        c.to_sparse(),
        x.clone(),
        x.double(),
    )
    return [type(y.grad_fn).__name__ for y in outs] + [repr(c), repr(x)]


def case_call_forms(torch):
    """Arguments by PyTorch's names, out=, the legacy constructor, and what is composed of sparse products."""
    s = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 3))
    found = [
        s.permute(dims=(1, 0)),
        torch.permute(input=s, dims=(1, 0)),
        s.transpose(dim0=0, dim1=1),
        s.sum(dim=0),
        torch.sum(input=s),
        s.select(dim=0, index=1),
    ]
    found += [
        torch.add(input=s, other=s),
        torch.mm(s, mat2=torch.ones(3, 2)),
        s.unsqueeze(dim=0),
        s.mul(other=2),
        s.select(dim=0, index=1),
    ]
    out = s.clone()
    found += [
        torch.zeros((2, 3), out=out),
        out.clone(),
        torch.zeros((4,), out=out),
        torch.zeros((3, 3), out=s.clone(), requires_grad=True),
    ]
    found += [
        s.new(),
        s.new(2, 3),
        s.new().resize_as_(s),
        s.new(s._indices(), s._values()),
        torch.zeros(2, out=torch.ones(2), requires_grad=True),
    ]
    wide = torch.eye(8).to_sparse()
    shapes = [
        torch.pca_lowrank(wide, q=2)[1].shape,
        torch.pca_lowrank(wide, q=2, center=False)[1].shape,
        torch.svd_lowrank(wide, q=2, M=torch.ones(1, 8))[1].shape,
    ]
    empty = [
        (torch.ones(b, 5, 5, dtype=torch.cdouble) @ torch.ones(b, 5, 0, dtype=torch.cdouble).conj()).shape
        for b in (0, 1, 2)
    ]
    randoms = [torch.randn(2, dtype=torch.cfloat)._is_view(), torch.rand(2, dtype=torch.cdouble).real._base is None]
    empty.append(torch.add(torch.ones(3, 0), 1, out=torch.ones(1, 0).expand(3, 0)).shape)  # nothing is written twice
    capsule = torch.asarray(torch.utils.dlpack.to_dlpack(torch.ones(2)), dtype=torch.float32, copy=False)
    return [re.sub(r"\s+", " ", repr(t)) for t in found] + shapes + empty + randoms + [capsule]


def case_compressed_copies_and_views(torch):
    dense, found = torch.arange(24.0).reshape(4, 6), []
    for layout, other in ((torch.sparse_csr, torch.sparse_csc), (torch.sparse_bsc, torch.sparse_bsr)):
        blocks = {"blocksize": (2, 3)} if layout is torch.sparse_bsc else {}
        a = dense.to_sparse(layout=layout, **blocks)
        turned, wide = (
            a.transpose(0, 1),
            torch.ones(6, 4).to_sparse(layout=layout, **({"blocksize": (3, 2)} if blocks else {})),
        )
        torch.manual_seed(0)
        found += [
            turned._is_view(),
            turned._base is a,
            turned.values()._is_view(),
            a._is_view(),
            torch.randn_like(a).values(),
            torch.randn_like(a).shape,
        ]
        more = {"blocksize": (4, 2)} if blocks else {}
        for f in (
            lambda: torch.empty_like(a, layout=other),
            lambda: a.clone().copy_(wide if blocks else dense[:, :4].add(1).to_sparse(layout=layout)),
            lambda: a.clone().copy_(dense.to_sparse(layout=layout, **more)).shape,
            lambda: a.clone().copy_(dense),
        ):
            try:
                found.append(repr(f()))
            except Exception as e:
                found.append([type(e).__name__, str(e)])
    return found


def case_gradcheck_of_sparse_inputs(torch):
    """Masked: where the input holds values; else everywhere."""
    found, check = [], torch.autograd.gradcheck
    some, whole = (
        torch.tensor([[0.0, 1, 0], [2, 0, 3]], dtype=torch.double),
        torch.tensor([[4.0, 1, 5], [2, 6, 3]], dtype=torch.double),
    )
    for x in (some, whole):
        for make in (
            lambda x: x.to_sparse(),
            lambda x: x.to_sparse(1),
            lambda x: x.to_sparse_csr(),
            lambda x: x.to_sparse_bsr((1, 1)),
        ):
            for function in (lambda x: (x * 2).to_dense(), lambda x: x.to_dense() ** 2):
                for options in ({}, {"masked": True}, {"masked": True, "fast_mode": True}):
                    found.append(check(function, (make(x).requires_grad_(),), raise_exception=False, **options))
    try:
        check(lambda x: x * 2, (some.to_sparse().requires_grad_(),))
    except ValueError as e:
        found.append(str(e))
    return found


def case_permuted_and_coalesced(torch):
    x = torch.ones(2, 3, 4).to_sparse(2)
    return [x.permute(p).is_coalesced() for p in ((0, 1, 2), (1, 0, 2), (-3, 1, 2), (0, -2, 2), (-2, -3, 2))]


def case_a_gradient_nobody_holds_is_not_copied(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            Both.at = g._values().data_ptr()
            return g, g

    a, b = (torch.ones(10, 3, requires_grad=True) for _ in range(2))
    out = torch.nn.functional.embedding_bag(
        Both.apply(a, b), torch.tensor([1, 2, 4, 4]), torch.tensor([0, 2]), sparse=True
    ).sum()
    out.backward(retain_graph=True)
    at = [t.grad._values().data_ptr() for t in (a, b)]
    found = [at[0] == at[1], Both.at in at]
    out.backward()
    return [*found, a.grad.to_dense()]


def case_gradients_of_all_elements_of_a_leaf_by_grad(torch):
    x = torch.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse().requires_grad_()
    found = list(torch.autograd.grad(torch.sum(x) + torch.sum(x * 3), x))
    torch.sum(x).backward(inputs=[x])
    found.append(x.grad)
    for masked in (True, False):
        for fast in (True, False):
            found.append(
                torch.autograd.gradcheck(
                    torch.sum,
                    torch.ones(2, 2, dtype=torch.double).to_sparse().requires_grad_(),
                    masked=masked,
                    fast_mode=fast,
                    check_batched_grad=False,
                )
            )
    return found


def case_long_chains_of_sparse_tensors(torch):
    x = torch.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse().requires_grad_()
    y = x
    for _ in range(1500):
        y = y * 1.0
    (g,) = torch.autograd.grad(y.to_dense(masked_grad=False).sum(), x)
    return [g.to_dense()]


def case_indices_of_rows_converted(torch):
    to_csr, to_coo = torch._convert_indices_from_coo_to_csr, torch._convert_indices_from_csr_to_coo
    rows, lines, columns = torch.tensor([0, 1, 1]), torch.tensor([0, 1, 3]), torch.tensor([0, 1, 2])
    batch = (torch.tensor([[0, 1, 3], [0, 2, 3]]), torch.tensor([[0, 1, 2], [0, 1, 0]]))
    return attempts(
        lambda: to_csr(rows, 4, out_int32=True),
        lambda: to_csr(rows.int(), 2),
        lambda: to_csr(rows[:0], 3),
        lambda: to_csr(rows, 2, out=torch.empty(3, dtype=torch.int64)),
        lambda: to_csr(rows.float(), 3),
        lambda: to_csr(rows[None], 3),
        lambda: to_coo(lines, columns),
        lambda: to_coo(lines.int(), columns.int(), out_int32=True, transpose=True),
        lambda: to_coo(*batch),
        lambda: to_coo(*batch, transpose=True),
        lambda: to_coo(lines[:1], columns[:0]),
        lambda: to_coo(lines.float(), columns),
    )


def case_distinct_values_as_the_operators_give_them(torch):
    x = torch.tensor([3.0, 1.0, 3.0], requires_grad=True)
    found = [
        torch._unique(x),
        *(
            torch._unique2(x, True, inverse, counts)
            for inverse in (False, True)
            for counts in (False, True)
            if inverse or not counts
        ),
    ]
    return [
        *(t for parts in found for t in parts),
        torch._unique(x, False, True)[1],
        torch._unique2(x)[0].grad_fn.name(),
    ]


def case_out_that_is_an_argument(torch):
    s = torch.tensor([[2.0, 0.0], [0.0, 3.0]]).to_sparse()
    found = (
        [f(s, 2, out=s) for f in (torch.mul, torch.div, torch.pow)]
        + [f(s, out=s) for f in (torch.neg, torch.sqrt)]
        + [torch.add(s, s, out=s)]
    )
    before = s._version
    s.copy_(torch.eye(2).to_sparse())
    return [r is s for r in found], s.to_dense().nan_to_num(), s._version - before


def case_empty_tensors_of_other_dimensions_and_sizes(torch):
    s, nothing = torch.eye(3).to_sparse(), torch.sparse_coo_tensor(torch.zeros(1, 0).long(), torch.zeros(0, 3), (3, 3))
    rows = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2, 3), (3, 3))
    found = [
        s + nothing,
        nothing + s,
        nothing - s,
        s * nothing,
        s.clone().add_(nothing),
        nothing.clone().add_(s),
        nothing.clone().copy_(s),
    ]
    dims = [(nothing + nothing).sparse_dim(), torch.eye(3).to_sparse().permute(1, 0).is_coalesced()]
    one = torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.tensor([1.0]), (3, 3)).coalesce()
    return (
        [t.to_dense() for t in found],
        dims,
        one.permute(1, 0).is_coalesced(),
        one.permute(0, 1).is_coalesced(),
        attempts(
            lambda: s.clone().copy_(rows),
            lambda: s.clone().copy_(torch.eye(2).to_sparse()),
            lambda: s.clone().copy_(torch.eye(4).to_sparse()).to_dense(),
            lambda: s + rows,
            lambda: s.norm(p=2, dim=(0, 1, 2)),
            lambda: s.norm(p=2, dim=(), keepdim=True),
            lambda: s.norm(p=2, dim=(0, 1)),
            lambda: s.narrow_copy(10, 0, 3),
            lambda: s.narrow_copy(-1, 0, 1),
            lambda: s.narrow_copy(0, -1, 1),
            lambda: s.crow_indices(),
            lambda: s.row_indices(),
            lambda: s.new([1]),
            lambda: s.new(2, 3).shape,
            lambda: s.new(torch.tensor([[0]]).int(), torch.tensor([1.0])),
            lambda: torch.sparse.FloatTensor([2, 3]),
            lambda: torch.sparse.FloatTensor(2, 3).shape,
            lambda: torch.sparse.DoubleTensor(
                torch.tensor([[0]]), torch.tensor([1.0]).double(), torch.Size([3])
            ).to_dense(),
        ),
    )


def case_masked_reductions_to_one_element(torch):
    m, found = torch.ones(2, 2, dtype=torch.bool).to_sparse(), []
    for rows in ([[0.0, 2.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, -1.0]]):
        x = torch.tensor(rows).to_sparse()
        for f in (torch.masked.sum, torch.masked.prod, torch.masked.amax, torch.masked.amin):
            found += [f(x, dim=dim, keepdim=keep, mask=m) for dim in ((), (0, 1), 0) for keep in (True, False)]
    return [(t._nnz(), t.to_dense()) for t in found]


def case_undefined_gradients_of_sparse_tensors(torch):
    undefined, found = torch._C._functions.UndefinedGrad(), []
    for make in (
        lambda x: x.to_dense(),
        lambda x: torch.sparse.sum(x, 0).to_dense(),
        lambda x: torch.sparse.softmax(x, 1).to_dense(),
    ):
        x = torch.eye(3).to_sparse().requires_grad_()
        y = make(x)
        found += torch.autograd.grad(undefined(y), x, torch.ones_like(y), allow_unused=True)
    return found


def case_gradients_that_are_compressed(torch):
    found = []
    pattern, all_places = torch.eye(3).to_sparse_csr(), torch.arange(1.0, 10).view(3, 3).to_sparse_csr()
    for f in (torch.mul, torch.add):
        x, y = pattern.clone().requires_grad_(), all_places.clone().requires_grad_()
        f(x, y).backward(all_places)
        found += [x.grad.layout, x.grad.to_dense(), y.grad.layout, y.grad.to_dense()]
    for g in (all_places, all_places.to_dense()):
        x = pattern.clone().requires_grad_()
        torch.neg(x).backward(g)
        found += [x.grad.layout, x.grad.to_dense()]
        a, b = torch.ones(3, 2, requires_grad=True), torch.ones(2, 3, requires_grad=True)
        torch.sparse.sampled_addmm(pattern.clone(), a, b).backward(g)
        found += [a.grad, b.grad]
    x.grad = all_places
    out = pattern.clone()
    kept = torch.sparse.sampled_addmm(pattern, torch.ones(3, 2), torch.ones(2, 3), alpha=2, beta=3, out=out) is out
    return found, x.grad.to_dense(), kept, out.to_dense()


def case_sizes_of_compressed_tensors(torch):
    x = torch.arange(1.0, 7).view(2, 3).to_sparse_csr()
    found = [(x.resize_(size)._nnz(), x.crow_indices().clone(), x.values().clone()) for size in ((4, 5), (1, 5))]
    one = torch.sparse_csr_tensor(torch.tensor([0, 1]).int(), torch.tensor([0]).int(), torch.tensor([1.0]), (1, 2))
    one.resize_as_sparse_(torch.ones(2, 2).to_sparse_csr())
    refused = attempts(
        *(
            lambda name=n: getattr(torch.zeros(2, 0, 4, 4), f"to_sparse_{name}")(*[(2, 2)] * (name[0] == "b"))
            for n in ("csr", "csc", "bsr", "bsc")
        )
    )
    return found, one.crow_indices().dtype, one._nnz(), one.shape, refused


def case_complex32_at_repeated_places(torch):
    h, at = torch.tensor([1 + 1j, 2 - 1j]).to(torch.complex32), torch.tensor([0, 0])
    zeros = torch.zeros(2, 3, dtype=torch.complex32)
    found = [
        zeros.clone()[0].index_add_(0, at, h),
        zeros.clone().index_add_(1, at, h.expand(2, 2)),
        zeros.clone().index_add_(1, at, h.expand(2, 2), alpha=2),
    ]
    found += [
        zeros.clone()[0].index_put_((at,), h, accumulate=True),
        torch.conj_physical(h.diag().to_sparse_bsc((1, 1))).to_dense(),
    ]
    return [t.to(torch.complex64) for t in found], attempts(
        lambda: zeros.scatter_add(0, torch.zeros(1, 3).long(), zeros)
    )


def case_what_is_coalesced_and_products_of_numbers(torch):
    def number(n, dtype=torch.float):
        return torch.sparse_coo_tensor(torch.zeros(0, n).long(), torch.arange(1.0, n + 1).to(dtype), ())

    nothing, one = (
        torch.sparse_coo_tensor(size=(3, 3)),
        torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.tensor([1.0]), (3, 3)),
    )
    kept = [
        f(t).is_coalesced()
        for t in (nothing, one)
        for f in (
            torch.clone,
            torch.neg,
            torch.detach,
            lambda t: t * 2,
            lambda t: t.permute(0, 1),
            lambda t: t.permute(1, 0),
        )
    ]
    for t in (nothing, one):
        t._coalesced_(False)
        kept += [
            f(t).is_coalesced() for f in (torch.clone, torch.detach, lambda t: t.double(), lambda t: t.permute(0, 1))
        ]
    products = [
        (p._nnz(), p._values())
        for a, b in ((3, 1), (1, 3), (3, 2), (2, 3), (1, 1), (0, 0))
        for p in (number(a) * number(b),)
    ]
    for d, e in (
        (torch.float, torch.double),
        (torch.double, torch.float),
        (torch.int16, torch.int64),
        (torch.int16, torch.float),
        (torch.complex64, torch.double),
    ):
        products += [
            number(1, d) * number(3, e),
            number(2, d) * torch.tensor(2).to(e),
            torch.tensor(2).to(e) * number(3, d),
        ]
    grown = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.arange(12.0).view(2, 2, 3), (3, 2, 3))
    grown.resize_as_sparse_(torch.sparse_coo_tensor(torch.tensor([[0]]), torch.zeros(1, 2, 4), (4, 2, 4)))
    return (
        kept,
        [(p.dtype, p.to_dense()) if isinstance(p, torch.Tensor) else p for p in products],
        grown._values().reshape(-1)[:12],
    )


def case_sums_over_the_same_indices_and_reductions_of_nothing(torch):
    at = torch.tensor([[0, 0, 1]])
    x, y = (torch.sparse_coo_tensor(at.clone(), torch.tensor([1.0, 2.0, 3.0]), (3,)) for _ in range(2))
    other = torch.sparse_coo_tensor(torch.tensor([[2, 1, 1]]), torch.tensor([1.0, 2.0, 3.0]), (3,))
    sums = [x + x, x + y, x - y, x.add(y, alpha=2), other + other, x + other, x.clone().add_(y), x + y.double()]
    leaf = x.clone().requires_grad_()
    values = [(t._values().requires_grad, t._values().grad_fn is None) for t in (leaf, leaf * 2)]
    nowhere, found = torch.zeros(2, dtype=torch.bool).to_sparse(), []
    for f in (torch.masked.sum, torch.masked.prod, torch.masked.amax, torch.masked.amin):
        for dtype in (torch.float, torch.int8):
            for dim, keep in (((), False), (0, True)):
                r = f(torch.tensor([1, 2]).to(dtype).to_sparse(), dim=dim, keepdim=keep, mask=nowhere)
                found.append((r._nnz(), r.dtype, r.to_dense()))
    refused = attempts(
        lambda: x.norm(p=0, dtype=torch.double),
        lambda: torch.empty_like(x, memory_format=torch.preserve_format),
        lambda: torch.zeros_like(x, layout=torch.strided, memory_format=torch.preserve_format),
    )
    return [(s._nnz(), s.is_coalesced(), s._values()) for s in sums], values, found, refused


def case_sparse_tensors_that_are_made_to_require_gradients(torch):
    def required(t):
        t.requires_grad = True
        return t.requires_grad, t.requires_grad_().is_leaf, torch.nn.Parameter(t.detach()).requires_grad

    kinds = (
        torch.eye(2).to_sparse(),
        torch.eye(2).to_sparse_csr(),
        torch.eye(2),
        torch.eye(2).long().to_sparse(),
        torch.eye(2).long(),
    )
    return attempts(*(lambda t=t: required(t) for t in kinds))


def case_linear_with_sparse_weights(torch):
    return _linear_with_weights(torch, (("coo", None), ("csr", None), ("csc", None), ("bsr", (2, 2))))


def case_linear_with_weights_in_columns_of_blocks(torch):
    return _linear_with_weights(torch, [("bsc", (2, 2))])


def _linear_with_weights(torch, layouts):
    dense, found = torch.tensor([[1.0, 0, 0, 2], [0, 3, 0, 0], [0, 0, 0, 4], [0, 0, 5, 0]]), []
    for layout, block in layouts:
        for shape in ((4,), (2, 4), (2, 3, 4)):
            for bias in (None, torch.arange(4.0)):
                weight = dense.to_sparse(layout=getattr(torch, "sparse_" + layout), blocksize=block)
                found += attempts(lambda: torch.nn.functional.linear(torch.arange(4.0).expand(shape), weight, bias))
                found += attempts(lambda: torch.matmul(torch.arange(4.0).expand(shape), weight.t()))
                if layout[0] != "b":
                    weight, x = weight.requires_grad_(), torch.arange(4.0).expand(shape).clone().requires_grad_()
                    found += attempts(
                        lambda: [
                            g.contiguous()
                            for g in torch.autograd.grad(torch.nn.functional.linear(x, weight, bias).sum(), (weight, x))
                        ]
                    )
    return found


def case_gradients_of_products_of_coalesced_leaves(torch):
    found = []
    for make in (
        lambda: torch.tensor([[1.0, 0], [0, 2]]).to_sparse(),
        lambda: torch.sparse_coo_tensor([[0, 1, 1]], [1.0, 2.0, 3.0], (3,)),
    ):
        a = make().requires_grad_()
        (a * a).to_dense().sum().backward()
        with torch.autograd.graph.save_on_cpu():
            b = make().requires_grad_()
            (b * b).to_dense().sum().backward()
        found += [a.grad.coalesce(), b.grad.coalesce()]
    return found


def case_gradients_of_products_are_products(torch):
    """Gradients of a product with a sparse tensor are sparse products: with repeated indices, through a chain of
    products, and the strided factor's too.
    """

    def coo(indices, values, size=(2,)):
        return torch.sparse_coo_tensor([indices], values, size).requires_grad_()

    def parts(*gradients):
        return [
            (g.layout, g._indices().clone(memory_format=torch.contiguous_format), g._values()) if g.is_sparse else g
            for g in gradients
        ]

    grad, found, one = torch.autograd.grad, [], torch.ones(2)
    i, j = coo([1, 1], [1.0, 3.0]), coo([1, 1, 0], [1.0, 3.0, 4.0])
    found += parts(*grad(i * i, i, (i * i).detach()))
    found += parts(*grad(i * j, (i, j), torch.sparse_coo_tensor([[0, 1]], [7.0, 5.0])))
    found += parts(*grad(j * j * j, j, (j * j).detach()))
    found += parts(*grad(torch.sparse.sum(j * j), j), *grad((j * j).coalesce().values().sum(), j))
    (first,) = grad(j * j, j, j.detach(), create_graph=True)
    found += parts(first.detach(), *grad(first, j, j.detach()))
    c = torch.sparse_coo_tensor([[1, 1, 0]], [1j, 2.0, 3.0]).requires_grad_()
    found += parts(*grad(c * j, (c, j), (c * j).detach()))
    d = one.clone().requires_grad_()
    for product in (i * d, d * i, i * (d * 3).exp()):
        found += parts(*grad(product, (i, d), i.detach()))
    w = torch.ones(2, 2, requires_grad=True)
    mask = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    torch.sparse.mm(mask * w, torch.ones(2, 3)).sum().backward()
    (mask * (w @ w)).to_dense().sum().backward()
    found.append(w.grad)
    s, number = coo([0, 1], [3.0, 4.0]), torch.tensor(3.0, requires_grad=True)
    found += parts(*grad(s * number, (s, number), s.detach()))
    y = d * s
    found += parts(y.grad_fn._saved_self, y.grad_fn._saved_other) + [type(y.grad_fn).__name__]
    handle = s.register_hook(lambda g: found.append(g.to_dense()))
    (s * s).to_dense().sum().backward()
    handle.remove()
    (s * s).to_dense().sum().backward()
    z = s.clone()
    z *= s
    return [*found, s.grad, *(g.coalesce() for g in grad(z, s, z.detach()))]


def case_gradients_of_all_elements_are_sparse(torch):
    weight = torch.tensor([1.0, 0.0, 3.0, 4.0])
    s = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,)).requires_grad_()
    rows = torch.sparse_coo_tensor([[0, 2]], torch.ones(2, 3), (4, 3)).requires_grad_()
    found = []
    for masked in (False, False, True):
        (s.to_dense(masked_grad=masked) * weight).sum().backward()
        found.append(s.grad.clone())
    found.append(torch.autograd.grad((s.to_dense(masked_grad=False) ** 2 * weight).sum(), s)[0])
    rows.to_dense(masked_grad=False).sum().backward()
    made = torch.tensor([1.0, 3.0], dtype=torch.float64, requires_grad=True)
    checks = [
        torch.autograd.gradcheck(
            lambda x: x.to_dense(masked_grad=False), (made.to_sparse(),), fast_mode=f, check_batched_grad=False
        )
        for f in (True, False)
    ]
    made.to_sparse().to_dense(masked_grad=False).sum().backward()

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return None

    for f in (lambda: s.to_dense(masked_grad=False), lambda: (s * s).to_dense()):
        checks.append(torch.autograd.grad(Nothing.apply(f()).sum(), s, allow_unused=True))
    return [*((g._indices().tolist(), g._values()) for g in (*found, rows.grad)), checks, made.grad]


def case_sums_of_compressed_tensors_of_other_shapes_and_layouts(torch):
    """What is looked at first: the shapes of two sparse tensors, then their layouts, then their blocks."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        makers = {
            "csr": lambda t: t.to_sparse_csr(),
            "csc": lambda t: t.to_sparse_csc(),
            "bsr": lambda t: t.to_sparse_bsr((2, 2)),
            "bsr of ones": lambda t: t.to_sparse_bsr((1, 1)),
            "bsc": lambda t: t.to_sparse_bsc((2, 2)),
            "coo": lambda t: t.to_sparse(),
        }
        for a, first in makers.items():
            for b, second in makers.items():
                if "coo" in (a, b):
                    continue
                for n in (2, 4):
                    for dtype in (torch.float32, torch.int64):
                        if n == 4 and (a, b) != ("csr", "csr"):
                            continue  # PyTorch's errors of the sums themselves name its libraries
                        x, y = first(torch.ones(4, 4)), second(torch.ones(n, n, dtype=dtype))
                        for name in ("add", "add_"):

                            def run(x=x, y=y, name=name):
                                return getattr(x, name)(y).to_dense()

                            try:
                                found[f"{a} {b} {n} {dtype} {name}"] = run()
                            except RuntimeError as e:
                                found[f"{a} {b} {n} {dtype} {name}"] = str(e).partition("\n")[0]
    return found
