import torch

torch.manual_seed(0)

x = torch.arange(24.0).reshape(2, 3, 4)
x[0, 1] = 5
x[:, ::2] += 1
m = x > 6
print(x[m].sum(), x[[0, 1], [1, 2]], torch.where(m, x, -x).sum(), x.gather(2, torch.zeros(2, 3, 1, dtype=torch.long)))
y = torch.zeros(5).index_add_(0, torch.tensor([0, 1, 1]), torch.ones(3))
y.scatter_(0, torch.tensor([4]), 3.0)
print(y, x.topk(2), x.sort(descending=True)[0].sum())
