"""Constructors from before torch.tensor: torch.Tensor(...), torch.FloatTensor(...), t.new(...)."""

import numpy as np
from attempts import attempts


def case_sizes(torch):
    return [
        torch.Tensor(2, 3).shape,
        torch.FloatTensor(5).shape,
        torch.LongTensor(torch.Size([2, 3])).shape,
        torch.FloatTensor(np.int64(3)).shape,
        torch.HalfTensor(2, device="cpu").dtype,
        torch.Tensor().shape,
        torch.tensor([1]).new(2, 3).shape,
        torch.Tensor(torch.tensor(3), 2).shape,
    ]


def case_data(torch):
    return [
        torch.Tensor([1, 2]),
        torch.FloatTensor((2, 3)),
        torch.IntTensor([1.5]),
        torch.DoubleTensor(np.ones((2, 2), "f4")),
        torch.BoolTensor([1, 0]),
        torch.Tensor(range(3)),
        torch.tensor([1]).new([2.5]),
        torch.tensor([1]).new((2, 3)),
    ]


def case_memory(torch):
    t = torch.tensor([1, 2])
    p = torch.nn.Parameter(torch.ones(2))
    return [
        torch.Tensor(t),
        t.new(t).data_ptr() == t.data_ptr(),
        t.new(t.untyped_storage()),
        torch.LongTensor(t.untyped_storage())[0],
        torch.Tensor(p).requires_grad,
        type(p.new(2)).__name__,
    ]


def case_errors(torch):
    t, f = torch.tensor([1, 2]), torch.tensor([1.0])
    return attempts(
        lambda: torch.FloatTensor(2.5),
        lambda: torch.Tensor(True),
        lambda: torch.Tensor(None),
        lambda: torch.Tensor("a"),
        lambda: torch.Tensor({}),
        lambda: torch.LongTensor(f),
        lambda: t.new(f),
        lambda: torch.Tensor(2, 2.5),
        lambda: torch.Tensor(-1),
        lambda: torch.Tensor(2, device="meta"),
        lambda: torch.Tensor(t, device="cpu"),
        lambda: torch.FloatTensor(t.storage()),
    )
