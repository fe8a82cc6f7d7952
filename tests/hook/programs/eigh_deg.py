import torch

torch.manual_seed(0)

a = torch.eye(4)
a[3, 3] = 2
w, v = torch.linalg.eigh(a)
print(w, (v @ torch.diag(w) @ v.T))
u, s, vh = torch.linalg.svd(torch.ones(4, 4))
print(s)
