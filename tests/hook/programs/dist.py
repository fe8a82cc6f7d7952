import torch

torch.manual_seed(0)

from torch.distributions import Beta, Categorical, Normal, kl_divergence

n = Normal(torch.zeros(3), torch.ones(3))
x = n.rsample((4,))
print(n.log_prob(x).sum())
c = Categorical(logits=torch.randn(5))
print(c.sample((3,)), c.entropy())
print(Beta(torch.tensor(2.0), torch.tensor(3.0)).log_prob(torch.tensor(0.3)))
print(kl_divergence(n, Normal(torch.ones(3), torch.ones(3) * 2)))
