import torch
import torch.nn.functional as F

torch.manual_seed(0)

x = torch.randn(8, 8).bfloat16()
w = torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = F.linear(x, w)
    z = F.softmax(y, -1)
z.float().sum().backward()
print(z.dtype)
h = torch.randn(4, 4).half()
print((h * 2).sum())
