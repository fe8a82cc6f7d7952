"""Conjugates and negatives that are views: what they share, what is written through them, where they are refused."""

import copy
import io
import pickle

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT


def matrix(torch):
    return torch.tensor([[1 + 2j, 3 - 1j], [0 + 1j, 2 + 0j]])


def case_lazy_results(torch):
    x = matrix(torch)
    y = x.conj()
    lazy = [
        y,
        y.clone(),
        y.contiguous(),
        y.to(torch.complex128),
        y.detach(),
        y.data,
        y[0],
        y[:1],
        y.t(),
        y.reshape(4),
        y.t().reshape(4),
        y.flatten(),
    ]
    lazy += [
        y[torch.tensor([0])],
        y.unbind()[0],
        y.conj(),
        y + 1,
        -y,
        y.resolve_conj(),
        y.expand(2, 2, 2),
        y.mH,
        x.mH,
        y.squeeze(),
        y.diagonal(),
    ]
    parts = [y.imag, y.real, y.imag.clone(), torch._neg_view(torch.ones(2)), torch.neg(y.imag), y.imag.resolve_neg()]
    return [
        [[t.is_conj(), t.resolve_conj()] for t in lazy],
        [[t.is_neg(), t.resolve_neg()] for t in parts],
        [y._is_view(), y._base is x, y.data_ptr() == x.data_ptr(), y.conj() is x, repr(y), repr(y.imag)],
    ]


def case_lazy_writes(torch):
    found, x = [], matrix(torch)
    y, z = x.conj(), torch.zeros(2, 2, dtype=torch.complex64)
    for write in (
        lambda: y.add_(1),
        lambda: y.__setitem__(0, 5j),
        lambda: y.imag.__setitem__(1, 7),
        lambda: y.real.mul_(2),
        lambda: y.t()[1].copy_(torch.tensor([1j, 2.0])),
        lambda: torch.add(matrix(torch), 1, out=y),
        lambda: y.fill_(2j),
        lambda: y[0].zero_(),
        lambda: z.copy_(y),
        lambda: y.index_fill_(0, torch.tensor([0]), 3j),
    ):
        write()
        found += [x.clone(), y.resolve_conj(), y._version == x._version]
    return [*found, z]


def case_lazy_operators(torch):
    x = matrix(torch)
    y = x.conj()
    found = [
        y @ y,
        torch.einsum("ij,jk->ik", y, x),
        torch.dot(y[0], y[1]),
        torch.vdot(y[0], x[1]),
        torch.fft.fft(y),
        y.sum(),
        y.abs(),
        torch.cat([y, x]),
    ]
    found += [
        torch.stack([y, y]),
        torch.where(y.real > 0, y, x),
        y.repeat(1, 2),
        torch.equal(y, y.resolve_conj()),
        y.tolist(),
        y[0, 0].item(),
        y == x.conj(),
    ]
    w = x.clone().requires_grad_()
    (w * w.conj() + y).real.sum().backward()
    v = torch.ones(2, 2, requires_grad=True)
    (v * y.imag).sum().backward()
    return [*found, w.grad, v.grad, torch.conj_physical(y), y.numpy(force=True).tolist()]


def case_lazy_refusals(torch):
    y = matrix(torch).conj()
    return [
        answer(lambda: y.numpy()),
        answer(lambda: y.imag.numpy()),
        answer(lambda: torch.view_as_real(y)),
        answer(lambda: y.view(torch.float32)),
        answer(lambda: y.imag.view(torch.int32)),
        answer(lambda: y.__dlpack__())[0],
    ]


def case_lazy_copies(torch):
    y, file = matrix(torch).conj(), io.BytesIO()
    torch.save({"y": y, "n": matrix(torch).conj().imag}, file)
    file.seek(0)
    loaded = torch.load(file)
    made = [copy.deepcopy(y), pickle.loads(pickle.dumps(y)), copy.copy(y), loaded["y"]]
    return [[[t.is_conj(), t.resolve_conj()] for t in made], loaded["n"].is_neg(), loaded["n"].resolve_neg()]
