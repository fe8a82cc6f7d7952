"""Short programs of libraries that stand on torch, as their users write them. `short_programs.py NAME...` prints their results as JSON, a line each.

A program's name is its library's as pip knows it, with _ for -; those of NIGHTLY run in the nightly workflow alone.
"""

import json
import sys

import torch

NIGHTLY = set()


def nightly(program):
    NIGHTLY.add(program.__name__)
    return program


def numbers(x):
    """Tensors as lists."""
    if isinstance(x, torch.Tensor):
        return x.detach().tolist()
    if isinstance(x, dict):
        return {str(k): numbers(v) for k, v in x.items()}
    return [numbers(v) for v in x] if isinstance(x, (list, tuple)) else x


def trained(model, loss, optimizer, steps=3):
    """The losses of a few steps."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def einops():
    from einops import einsum, rearrange, reduce, repeat
    from einops.layers.torch import Rearrange, Reduce

    x = torch.arange(48.0).reshape(2, 4, 6)
    layer = torch.nn.Sequential(Rearrange("b (h w) c -> b c h w", h=2), Reduce("b c h w -> b c", "mean"))
    return [
        rearrange(x, "b n c -> (b n) c").shape,
        reduce(x, "b n c -> n", "max"),
        repeat(x[0, 0], "c -> r c", r=2),
        layer(x),
        einsum(x, x, "b n c, b m c -> n m"),
    ]


def entmax():
    from entmax import entmax15, entmax15_loss, sparsemax

    x = torch.tensor([[1.0, 0.5, -1.0], [0.1, 0.2, 3.0]], requires_grad=True)
    loss = entmax15_loss(x, torch.tensor([0, 1])).sum()
    loss.backward()
    return [sparsemax(x, dim=-1), entmax15(x, dim=-1), loss, x.grad]


def jaxtyping():
    from jaxtyping import Float, Int

    x = torch.ones(2, 3)
    return [isinstance(x, Float[torch.Tensor, "2 n"]), isinstance(x, Int[torch.Tensor, "..."]), isinstance(x, Float[torch.Tensor, "a a"])]


def lion_pytorch():
    from lion_pytorch import Lion

    model = torch.nn.Linear(3, 1)
    x = torch.linspace(-1, 1, 12).reshape(4, 3)
    return [trained(model, lambda m: m(x).square().mean(), Lion(model.parameters(), lr=1e-2, weight_decay=1e-2)), model.weight]


def opt_einsum():
    from opt_einsum import contract, contract_path

    a, b, c = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4), torch.arange(8.0).reshape(4, 2)
    return [contract("ij,jk,kl->il", a, b, c), contract_path("ij,jk,kl->il", a, b, c)[0]]


def ptflops():
    from ptflops import get_model_complexity_info

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5))
    return [get_model_complexity_info(model, (3, 8, 8), as_strings=False, print_per_layer_stat=False, backend=kind) for kind in ("pytorch", "aten")]


def pytorch_msssim():
    from pytorch_msssim import SSIM, ms_ssim, ssim

    x = torch.linspace(0, 1, 2 * 3 * 176 * 176).reshape(2, 3, 176, 176)
    y = (x * 0.9 + 0.05 * torch.sin(40 * x)).requires_grad_()
    loss = 1 - SSIM(data_range=1.0, channel=3)(x, y)
    loss.backward()
    return [ssim(x, y, data_range=1.0), ms_ssim(x, y, data_range=1.0, size_average=False), loss, y.grad.abs().sum()]


def pytorch_optimizer():
    from pytorch_optimizer import load_optimizer

    results = {}
    for name in ("adamp", "lion", "sophiah", "adan", "lamb", "ranger21"):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        x = torch.linspace(-1, 1, 12).reshape(4, 3)
        more = {"num_iterations": 10} if name == "ranger21" else {}
        optimizer = load_optimizer(name)(model.parameters(), lr=1e-2, **more)
        if name == "sophiah":
            optimizer.zero_grad()
            model(x).square().mean().backward(create_graph=True)
            optimizer.step()
            results[name] = model.weight
        else:
            results[name] = trained(model, lambda m: m(x).square().mean(), optimizer)
    return results


def rotary_embedding_torch():
    from rotary_embedding_torch import RotaryEmbedding

    rope = RotaryEmbedding(dim=8, use_xpos=True)
    q, k = torch.linspace(-1, 1, 64).reshape(1, 2, 4, 8), torch.linspace(0, 1, 64).reshape(1, 2, 4, 8)
    return [rope.rotate_queries_and_keys(q, k), RotaryEmbedding(dim=8).rotate_queries_or_keys(q)]


def torch_ema():
    from torch_ema import ExponentialMovingAverage

    model = torch.nn.Linear(2, 1)
    ema = ExponentialMovingAverage(model.parameters(), decay=0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.tensor([[1.0, 2.0]])
    for _ in range(3):
        trained(model, lambda m: m(x).square().mean(), optimizer, 1)
        ema.update()
    with ema.average_parameters():
        inside = model.weight.clone()
    return [inside, model.weight, sorted(ema.state_dict())]


def torchdiffeq():
    from torchdiffeq import odeint, odeint_adjoint

    class Field(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.tensor([[0.0, 1.0], [-1.0, -0.1]]))

        def forward(self, t, y):
            return y @ self.a.T

    field, t = Field(), torch.linspace(0, 1, 4)
    y = odeint(field, torch.tensor([1.0, 0.0]), t, method="rk4")
    odeint_adjoint(field, torch.tensor([1.0, 0.0]), t, method="rk4", options={"step_size": 0.1})[-1].sum().backward()
    return [y, field.a.grad]


def torchinfo():
    from torchinfo import summary

    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten(), torch.nn.Linear(2 * 36, 3))
    s = summary(model, (1, 1, 8, 8), verbose=0)
    return [s.total_params, s.trainable_params, s.total_mult_adds, s.total_input, s.total_output_bytes, str(s)]


def torchmetrics():
    from torchmetrics import MetricCollection
    from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix, MulticlassF1Score
    from torchmetrics.regression import MeanSquaredError, R2Score

    metrics = MetricCollection([MulticlassAccuracy(3), MulticlassF1Score(3, average="macro"), MulticlassConfusionMatrix(3)])
    for p, y in (([0, 1, 2, 2], [0, 1, 1, 2]), ([1, 1, 0, 2], [1, 2, 0, 2])):
        metrics.update(torch.tensor(p), torch.tensor(y))
    a, b = torch.tensor([0.1, 0.4, 0.7]), torch.tensor([0.2, 0.3, 0.9])
    return [metrics.compute(), MeanSquaredError()(a, b), R2Score()(a, b)]


def torchsde():
    from torchsde import BrownianInterval, sdeint

    class Noise(torch.nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def f(self, t, y):
            return -y

        def g(self, t, y):
            return 0.1 * torch.ones_like(y)

    path = BrownianInterval(t0=0.0, t1=1.0, size=(2, 1), entropy=3)
    return [
        sdeint(Noise(), torch.ones(2, 1), torch.linspace(0, 1, 3), bm=path, dt=0.1, method="euler").shape,
        sdeint(Noise(), torch.ones(2, 1), [0.0, 0.5], dt=0.25).shape,
    ]


@nightly
def axial_positional_embedding():
    from axial_positional_embedding import AxialPositionalEmbedding

    torch.manual_seed(0)
    layer = AxialPositionalEmbedding(dim=8, axial_shape=(4, 4))
    return layer(torch.zeros(1, 16, 8))


@nightly
def geoopt():
    import geoopt

    ball = geoopt.PoincareBall(c=1.0)
    x, y = ball.projx(torch.tensor([[0.3, 0.4], [0.1, -0.2]])), torch.tensor([[0.2, 0.0], [0.5, 0.5]])
    p = geoopt.ManifoldParameter(x.clone(), manifold=ball)
    optimizer = geoopt.optim.RiemannianAdam([p], lr=1e-2)
    losses = trained(p, lambda q: ball.dist(q, y).sum(), optimizer)
    return [ball.dist(x, y), ball.expmap(x, y), ball.mobius_add(x, y), losses, p]


@nightly
def local_attention():
    from local_attention import LocalAttention

    q = torch.linspace(-1, 1, 2 * 2 * 32 * 8).reshape(2, 2, 32, 8)
    return LocalAttention(dim=8, window_size=8, causal=True, look_backward=1, autopad=True)(q, q.flip(-1), q * 0.5).sum(-1)


@nightly
def performer_pytorch():
    from performer_pytorch import SelfAttention

    torch.manual_seed(0)
    layer = SelfAttention(dim=16, heads=2, causal=False, nb_features=8).eval()
    return [layer(torch.linspace(-1, 1, 64).reshape(1, 4, 16)).shape, sorted(layer.state_dict())]


@nightly
def pytorch_tabnet():
    from pytorch_tabnet.tab_network import TabNet

    torch.manual_seed(0)
    groups = torch.eye(4)
    net = TabNet(input_dim=4, output_dim=2, n_d=4, n_a=4, n_steps=2, group_attention_matrix=groups)
    x = torch.linspace(-1, 1, 32).reshape(8, 4)
    losses = trained(net, lambda m: m(x)[0].square().mean(), torch.optim.Adam(net.parameters(), lr=1e-2))
    return [losses, net.eval()(x)[0]]


@nightly
def torchquad():
    from torchquad import Simpson, set_log_level, set_up_backend

    set_log_level("ERROR")
    set_up_backend("torch", data_type="float64")
    return Simpson().integrate(lambda x: torch.sin(x[:, 0]) + x[:, 1] ** 2, dim=2, N=1089, integration_domain=[[0, 1], [-1, 1]], backend="torch")


PROGRAMS = {name: f for name, f in list(globals().items()) if callable(f) and getattr(f, "__module__", None) == __name__}
for _name in ("nightly", "numbers", "trained"):
    del PROGRAMS[_name]

if __name__ == "__main__":
    for name in sys.argv[1:]:
        torch.manual_seed(0)
        print(json.dumps({name: numbers(PROGRAMS[name]())}))
