"""Gradients of each sample by torch.nn.utils._per_sample_grad: values, errors."""

from attempts import answer
from comparing import STRICT

TOLERANCE = STRICT
STRIDES = False  # results of batched calls may lie in memory otherwise


def spread(torch, t):
    """Values that are the same on both sides to the last bit."""
    return ((torch.arange(t.numel(), dtype=torch.float64) * 7 % 11) / 11 - 0.4).reshape(t.shape)


def models(torch):
    nn = torch.nn
    return [
        (nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3, bias=False)), torch.randn(4, 6)),
        (nn.Linear(6, 2), torch.randn(3, 5, 6)),
        (
            nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, stride=2), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(36, 2)),
            torch.randn(3, 2, 6, 6),
        ),
        (nn.Sequential(nn.Embedding(7, 4), nn.LayerNorm(4)), torch.randint(0, 7, (3, 5))),
        (nn.Sequential(nn.Conv1d(2, 2, 3, groups=2), nn.InstanceNorm1d(2, affine=True)), torch.randn(3, 2, 9)),
    ]


def case_per_sample_gradients(torch):
    from torch.nn.utils._per_sample_grad import call_for_per_sample_grads

    found = []
    for module, x in models(torch):
        module, x = module.double(), spread(torch, x) if x.is_floating_point() else x
        for p in module.parameters():
            p.data.copy_(spread(torch, p))
        out = call_for_per_sample_grads(module)(x)
        (out.sin() * torch.arange(1.0, 1 + out.numel()).reshape(out.shape)).sum().backward()
        found += [out, [p.grad_sample for p in module.parameters()], [p.grad is None for p in module.parameters()]]
    return found


def case_per_sample_options(torch):
    from torch.nn.utils._per_sample_grad import call_for_per_sample_grads

    module, x = torch.nn.Linear(6, 2), torch.randn(4, 3, 6, requires_grad=True)
    call_for_per_sample_grads(module, loss_reduction="mean", batch_size=4)(x).square().mean().backward()
    found = [module.weight.grad_sample, module.bias.grad_sample, x.grad]
    module.weight.grad_sample, module.bias.grad_sample = None, None
    module.weight.requires_grad_(False)
    call_for_per_sample_grads(module)(input=x).square().sum().backward()
    return [*found, module.weight.grad_sample is None, module.bias.grad_sample]


def case_per_sample_refused(torch):
    from torch.nn.utils._per_sample_grad import call_for_per_sample_grads as call

    module, used = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    used.weight.grad_sample = torch.ones(1, 2, 2)

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2)

        def forward(self, x, y):
            return self.a(x)

    return [
        answer(lambda: call(module, loss_reduction="none")),
        answer(lambda: call(len)),
        answer(lambda: call(module, batch_size="3")),
        answer(lambda: call(module, batch_size=0)),
        answer(lambda: call(used)),
        answer(lambda: call(Two())(torch.ones(2, 2), torch.ones(3, 2))),
        answer(lambda: call(Two())(3, 4)),
        answer(lambda: call(torch.nn.BatchNorm1d(2))(torch.ones(2, 2))),
    ]
