"""torch.masked's tensors: what they do with operators, layouts and gradients, what they refuse, and how they print."""

import warnings

from attempts import written
from comparing import STRICT

TOLERANCE = STRICT


def case_masked_tensors(torch):
    from torch.masked import as_masked_tensor, is_masked_tensor, masked_tensor

    warnings.simplefilter("ignore")
    data, mask = torch.arange(6.0).reshape(2, 3), torch.tensor([[True, False, True], [False, False, False]])
    m = masked_tensor(data, mask)
    at = torch.tensor([True, False, True])
    calls = [
        lambda: (m + m, 2 * m, 1 / m, -m, m < 3, m > 3, m**2, m.clamp(min=1), m.nan_to_num()),
        lambda: (
            m.sum(),
            m.sum(1),
            m.mean(dim=(0, 1)),
            m.mean((0, 1), keepdim=True),
            m.var(),
            m.std(dim=0),
            m.amax(0),
            m.prod(0),
            m.all(),
        ),
        lambda: (
            torch.argmax(m),
            m.argmin(dim=1),
            torch.masked.sum(m),
            torch.masked.mean(m, 1),
            torch.masked.softmax(m, 1),
            torch.softmax(m, 1),
        ),
        lambda: (
            m[0],
            m[:, 1:],
            m.view(3, 2),
            m.reshape(-1),
            m.unsqueeze(0),
            m.split(1),
            m.unfold(1, 2, 1),
            m.expand(2, 2, 3),
            torch.cat([m, m]),
        ),
        lambda: (
            m.to_sparse(),
            m.to_sparse_csr(),
            m.to_sparse().sum(),
            m.to_sparse().argmax(),
            m.to_sparse().to_dense(),
            m.to_sparse_csr() * 2,
        ),
        lambda: (
            torch.where(at, m, 1.0),
            torch.where(at, m, m * 2),
            m.to(torch.int64),
            m.clone(),
            m.detach(),
            torch.ones_like(m),
            m.sum().item(),
        ),
        lambda: (
            m.clone().add_(1),
            m.abs().sqrt_(),
            m.clone().copy_(m),
            m.t().contiguous(),
            m.t().is_contiguous(),
            m.to_sparse().is_contiguous(),
        ),
        lambda: (
            m.layout,
            m.is_sparse,
            m.to_sparse().layout,
            m.to_sparse().is_sparse_coo(),
            m.to_sparse_csr().is_sparse_csr(),
            is_masked_tensor(m),
            m.stride(),
        ),
        lambda: (
            masked_tensor(torch.tensor(3), torch.tensor(False)),
            masked_tensor(torch.tensor([3, 4]), torch.tensor([False, True])),
            m.to_tensor(-1),
        ),
        lambda: m.max(),
        lambda: m.cumsum(0),
        lambda: m.numpy(),
        lambda: m + masked_tensor(data, ~mask),
        lambda: m.add(m, alpha=2),
        lambda: m.to_sparse().is_contiguous(),
        lambda: masked_tensor(m, mask),
        lambda: masked_tensor(data, 0),
        lambda: masked_tensor(data, mask[0]),
        lambda: masked_tensor(data, mask.T),
        lambda: masked_tensor(data, mask.to_sparse()),
        lambda: masked_tensor(data, mask.float()),
        lambda: masked_tensor(data.bfloat16(), mask),
        lambda: masked_tensor(data.to_sparse_csc(), mask.to_sparse_csc()),
        lambda: torch.sum(masked_tensor(data.to_sparse_csr(), mask.to_sparse_csr()), 0),
        lambda: torch.tensor(3.0).sparse_mask(torch.tensor(False).to_sparse()),
    ]
    found = [written(f) for f in calls]
    for f in (
        lambda t: t.sum(),
        lambda t: t.mean(1).sum(),
        lambda t: (t * t).amax(),
        lambda t: torch.softmax(t, 1).square().sum(),
        lambda t: t.to_sparse().to_dense().prod(),
    ):
        leaf, values = masked_tensor(data + 1, mask, requires_grad=True), (data + 1).requires_grad_()
        f(leaf).backward()
        f(as_masked_tensor(values, mask)).backward()
        found += [repr(leaf.grad), repr(values.grad)]
    a, b = masked_tensor(data, mask, requires_grad=True), masked_tensor(data, ~mask, requires_grad=True)
    torch.where(mask, a.exp(), b).sum().backward()
    return [*found, repr(a.grad), repr(b.grad)]
