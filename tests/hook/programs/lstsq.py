import torch

torch.manual_seed(0)
print(torch.linalg.lstsq(torch.randn(8, 3), torch.randn(8, 2)).solution)
q, r = torch.linalg.qr(torch.randn(5, 3))
print(q @ r)
print(torch.linalg.pinv(torch.randn(4, 6)))
