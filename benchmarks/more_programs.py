"""More small programs, as people write them: what programs.py was not shaped by.

`python benchmarks --sections more` measures them.
"""

import torch
import torch.nn.functional as F
from programs import program, training
from torch import nn


@program("logistic regression")
def logistic_regression():
    x, y = torch.randn(128, 20), torch.randint(0, 2, (128,)).float()
    m = nn.Linear(20, 1)
    return training(
        m, torch.optim.SGD(m.parameters(), lr=0.1), lambda: F.binary_cross_entropy_with_logits(m(x).squeeze(1), y)
    )


@program("softmax regression")
def softmax_regression():
    x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
    m = nn.Linear(64, 10)
    return training(m, torch.optim.SGD(m.parameters(), lr=0.1), lambda: F.cross_entropy(m(x), y))


@program("curve by hand")
def curve_by_hand():
    """A damped wave fitted by gradients, without modules or optimizers."""
    x = torch.linspace(0, 6, 2000)
    y = torch.exp(-0.3 * x) * torch.cos(2 * x)
    height, decay, pitch = (torch.full((), v, requires_grad=True) for v in (0.8, 0.2, 1.9))

    def step():
        loss = (height * torch.exp(-decay * x) * torch.cos(pitch * x) - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (height, decay, pitch):
                p -= 0.05 * p.grad
                p.grad = None
        return loss

    return step


@program("backward by hand")
def backward_by_hand():
    """Two layers whose gradients are written out."""
    x, target = torch.randn(64, 100), torch.randn(64, 10)
    first, second = torch.randn(100, 50) / 10, torch.randn(50, 10) / 7

    def step():
        before = x @ first
        hidden = before.clamp(min=0)
        error = (hidden @ second - target) / 64
        back = error @ second.t()
        back[before < 0] = 0
        second.sub_(0.01 * (hidden.t() @ error))
        first.sub_(0.01 * (x.t() @ back))
        return error

    return step


@program("dqn")
def dqn():
    q, target = (
        nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)) for _ in range(2)
    )
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    s, s2, act, r, done = (
        torch.randn(64, 4),
        torch.randn(64, 4),
        torch.randint(0, 2, (64, 1)),
        torch.randn(64),
        torch.rand(64).round(),
    )

    def step():
        value = q(s).gather(1, act).squeeze(1)
        with torch.no_grad():
            goal = r + 0.99 * (1 - done) * target(s2).max(1)[0]
        loss = F.smooth_l1_loss(value, goal)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 1.0)
        opt.step()
        for a, b in zip(target.parameters(), q.parameters()):
            a.data.mul_(0.99).add_(b.data, alpha=0.01)
        return loss

    return step


@program("policy act")
def policy_act():
    m = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    s = torch.randn(4)

    def step():
        with torch.no_grad():
            d = torch.distributions.Categorical(logits=m(s.unsqueeze(0)))
            a = d.sample()
            return a.item(), d.log_prob(a)

    return step


@program("policy gradient")
def policy_gradient():
    m = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    s, a, r = torch.randn(50, 4), torch.randint(0, 2, (50,)), torch.randn(50)
    return training(
        m,
        torch.optim.Adam(m.parameters(), lr=1e-3),
        lambda: -(torch.distributions.Categorical(logits=m(s)).log_prob(a) * r).mean(),
    )


@program("word2vec")
def word2vec():
    e, o = nn.Embedding(500, 32), nn.Embedding(500, 32)
    c, p, n = torch.randint(0, 500, (64,)), torch.randint(0, 500, (64,)), torch.randint(0, 500, (64, 5))
    ps = [*e.parameters(), *o.parameters()]

    def loss():
        v = e(c)
        pos = F.logsigmoid((v * o(p)).sum(1))
        neg = F.logsigmoid(-torch.bmm(o(n), v.unsqueeze(2)).squeeze(2)).sum(1)
        return -(pos + neg).mean()

    return training(e, torch.optim.Adam(ps, lr=1e-3), loss)


@program("matrix factorization")
def matrix_factorization():
    u, v, bu, bv = nn.Embedding(200, 16), nn.Embedding(300, 16), nn.Embedding(200, 1), nn.Embedding(300, 1)
    i, j, r = torch.randint(0, 200, (256,)), torch.randint(0, 300, (256,)), torch.randn(256)
    ps = [p for m in (u, v, bu, bv) for p in m.parameters()]
    return training(
        u,
        torch.optim.SGD(ps, lr=0.01),
        lambda: F.mse_loss((u(i) * v(j)).sum(1) + bu(i).squeeze(1) + bv(j).squeeze(1), r),
    )


@program("conv autoencoder")
def conv_autoencoder():
    m = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 3, 2, 1, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 3, 2, 1, 1),
        nn.Sigmoid(),
    )
    x = torch.rand(16, 1, 28, 28)
    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), lambda: F.mse_loss(m(x), x))


@program("cnn 1d")
def cnn_of_one_dimension():
    m = nn.Sequential(
        nn.Conv1d(4, 16, 5, padding=2),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.MaxPool1d(2),
        nn.Conv1d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(32, 5),
    )
    x, y = torch.randn(16, 4, 64), torch.randint(0, 5, (16,))
    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), lambda: F.cross_entropy(m(x), y))


@program("lenet forward")
def lenet_forward():
    m = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    ).eval()
    x = torch.randn(8, 1, 28, 28)

    def step():
        with torch.no_grad():
            return m(x).argmax(1)

    return step


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.enc, self.dec, self.out, self.a = (
            nn.Embedding(50, 32),
            nn.GRU(32, 32, batch_first=True),
            nn.GRUCell(64, 32),
            nn.Linear(32, 50),
            nn.Linear(32, 32),
        )

    def forward(self, s, t):
        h, last = self.enc(self.e(s))
        st = last[0]
        outs = []
        for k in range(t.size(1)):
            w = torch.softmax(torch.bmm(h, self.a(st).unsqueeze(2)), 1)
            ctx = (w * h).sum(1)
            st = self.dec(torch.cat((self.e(t[:, k]), ctx), 1), st)
            outs.append(self.out(st))
        return torch.stack(outs, 1)


@program("seq2seq attention")
def seq2seq_attention():
    m, s, t = Attend(), torch.randint(0, 50, (16, 10)), torch.randint(0, 50, (16, 8))
    return training(
        m, torch.optim.Adam(m.parameters(), lr=1e-3), lambda: F.cross_entropy(m(s, t).reshape(-1, 50), t.reshape(-1))
    )


@program("char rnn lm")
def char_rnn_lm():
    e, r, o = nn.Embedding(65, 32), nn.LSTM(32, 64), nn.Linear(64, 65)
    x = torch.randint(0, 65, (33, 16))
    ps = [p for m in (e, r, o) for p in m.parameters()]
    return training(
        r, torch.optim.Adam(ps, lr=1e-3), lambda: F.cross_entropy(o(r(e(x[:-1]))[0]).reshape(-1, 65), x[1:].reshape(-1))
    )


@program("vit")
def vit():
    patch, enc, head = (
        nn.Conv2d(3, 32, 4, 4),
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", norm_first=True),
            2,
            enable_nested_tensor=False,
        ),
        nn.Linear(32, 10),
    )
    cls, pos = nn.Parameter(torch.zeros(1, 1, 32)), nn.Parameter(torch.randn(1, 65, 32))
    x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    ps = [cls, pos, *patch.parameters(), *enc.parameters(), *head.parameters()]

    def loss():
        h = patch(x).flatten(2).transpose(1, 2)
        h = torch.cat((cls.expand(8, -1, -1), h), 1) + pos
        return F.cross_entropy(head(enc(h)[:, 0]), y)

    return training(enc, torch.optim.AdamW(ps, lr=1e-3), loss)


@program("ddpm")
def ddpm():
    m = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
    x = torch.randn(128, 2)
    ab = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)

    def loss():
        t = torch.randint(0, 100, (128,))
        e = torch.randn_like(x)
        a = ab[t].unsqueeze(1)
        z = a.sqrt() * x + (1 - a).sqrt() * e
        return F.mse_loss(m(torch.cat((z, t.unsqueeze(1) / 100), 1)), e)

    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), loss)


@program("siamese triplet")
def siamese_triplet():
    m = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
    a, p, n = (torch.randn(32, 32) for _ in range(3))
    f = lambda t: F.normalize(m(t), dim=1)
    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), lambda: F.triplet_margin_loss(f(a), f(p), f(n)))


@program("contrastive")
def contrastive():
    m = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
    x, y = torch.randn(32, 32), torch.randn(32, 32)

    def loss():
        a, b = F.normalize(m(x), dim=1), F.normalize(m(y), dim=1)
        return F.cross_entropy(a @ b.T / 0.1, torch.arange(32))

    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), loss)


@program("gcn dense")
def gcn_dense():
    a = (torch.rand(64, 64) > 0.9).float()
    a = a + torch.eye(64)
    d = a.sum(1).rsqrt()
    a = d[:, None] * a * d
    w1, w2 = nn.Linear(16, 32), nn.Linear(32, 4)
    x, y = torch.randn(64, 16), torch.randint(0, 4, (64,))
    ps = [*w1.parameters(), *w2.parameters()]
    return training(
        w1,
        torch.optim.Adam(ps, lr=1e-2),
        lambda: F.nll_loss(F.log_softmax(a @ w2(F.dropout(torch.relu(a @ w1(x)), 0.5)), 1), y),
    )


@program("kmeans")
def kmeans():
    x = torch.randn(500, 2)
    c = x[:8].clone()

    def step():
        i = torch.cdist(x, c).argmin(1)
        new = torch.zeros_like(c).index_add_(0, i, x)
        n = torch.bincount(i, minlength=8).clamp(min=1)
        return new / n[:, None]

    return step


@program("pca")
def pca():
    x = torch.randn(200, 20)

    def step():
        z = x - x.mean(0)
        u, s, v = torch.linalg.svd(z, full_matrices=False)
        return z @ v[:2].T, s.pow(2) / s.pow(2).sum()

    return step


@program("gaussian process")
def gaussian_process():
    x, y = torch.linspace(0, 1, 50)[:, None], torch.randn(50, 1)
    ls, noise = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)

    def loss():
        k = torch.exp(-0.5 * torch.cdist(x, x).pow(2) / ls.exp() ** 2) + noise.exp() * torch.eye(50)
        l = torch.linalg.cholesky(k)
        al = torch.cholesky_solve(y, l)
        return 0.5 * (y * al).sum() + l.diagonal().log().sum()

    return training(nn.Module(), torch.optim.Adam([ls, noise], lr=1e-2), loss)


@program("lbfgs rosenbrock")
def lbfgs_rosenbrock():
    p = torch.tensor([-1.5, 2.0], requires_grad=True)
    opt = torch.optim.LBFGS([p], max_iter=5)

    def step():
        with torch.no_grad():
            p.copy_(torch.tensor([-1.5, 2.0]))

        def closure():
            opt.zero_grad()
            value = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
            value.backward()
            return value

        return opt.step(closure)

    return step


@program("metrics loop")
def metrics_loop():
    logits, y = torch.randn(64, 10), torch.randint(0, 10, (64,))

    def step():
        pred = logits.argmax(1)
        acc = (pred == y).float().mean().item()
        conf = torch.zeros(10, 10, dtype=torch.long)
        conf.index_put_((y, pred), torch.ones(64, dtype=torch.long), accumulate=True)
        top = (logits.topk(3, 1)[1] == y[:, None]).any(1).sum().item()
        return acc, top, conf.diag().sum().item()

    return step


@program("normalizing flow")
def normalizing_flow():
    nets = nn.ModuleList(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2)) for _ in range(4))
    x = torch.randn(128, 2)

    def loss():
        z, ld = x, 0
        for n in nets:
            a, b = z.chunk(2, 1)
            s, t = n(a).chunk(2, 1)
            s = torch.tanh(s)
            z = torch.cat((b * s.exp() + t, a), 1)
            ld = ld + s.sum(1)
        return (0.5 * z.pow(2).sum(1) - ld).mean()

    return training(nets, torch.optim.Adam(nets.parameters(), lr=1e-3), loss)


@program("resnet block")
def resnet_block():
    m = nn.Sequential(
        nn.Conv2d(16, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
    )
    x = torch.randn(8, 16, 16, 16)
    return training(m, torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), lambda: F.relu(m(x) + x).mean())


@program("unet")
def unet():
    d1, d2, up, o = (
        nn.Conv2d(1, 8, 3, padding=1),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.Conv2d(24, 8, 3, padding=1),
        nn.Conv2d(8, 1, 1),
    )
    x, y = torch.randn(4, 1, 32, 32), (torch.rand(4, 1, 32, 32) > 0.5).float()
    ps = [p for m in (d1, d2, up, o) for p in m.parameters()]

    def loss():
        a = F.relu(d1(x))
        b = F.relu(d2(F.max_pool2d(a, 2)))
        c = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return F.binary_cross_entropy_with_logits(o(F.relu(up(torch.cat((a, c), 1)))), y)

    return training(d1, torch.optim.Adam(ps, lr=1e-3), loss)


@program("multihead attention")
def multihead_attention():
    m, x = nn.MultiheadAttention(64, 4, batch_first=True), torch.randn(4, 20, 64)
    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), lambda: m(x, x, x)[0].square().mean())


@program("physics informed")
def physics_informed():
    m = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    x = torch.linspace(0, 1, 64)[:, None].requires_grad_()

    def loss():
        u = m(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (d2u,) = torch.autograd.grad(du.sum(), x, create_graph=True)
        return (d2u + u).square().mean()

    return training(m, torch.optim.Adam(m.parameters(), lr=1e-3), loss)


@program("maml inner")
def maml_inner():
    m = nn.Linear(8, 8)
    x, y = torch.randn(16, 8), torch.randn(16, 8)
    opt = torch.optim.SGD(m.parameters(), lr=0.01)

    def loss():
        w, b = m.weight, m.bias
        for _ in range(3):
            g = torch.autograd.grad(F.mse_loss(F.linear(x, w, b), y), (w, b), create_graph=True)
            w, b = w - 0.1 * g[0], b - 0.1 * g[1]
        return F.mse_loss(F.linear(x, w, b), y)

    return training(m, opt, loss)


@program("image batch")
def image_batch():
    x = torch.randint(0, 256, (8, 32, 32, 3), dtype=torch.uint8)
    mean, std = torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1), torch.tensor([0.2, 0.2, 0.2]).view(3, 1, 1)

    def step():
        y = x.permute(0, 3, 1, 2).float().div(255).sub(mean).div(std)
        y = torch.flip(y, [3]) if torch.rand(()) > 2 else y
        y = F.pad(y, (4, 4, 4, 4), mode="reflect")
        return F.interpolate(y[:, :, 4:36, 4:36], size=(24, 24), mode="bilinear", align_corners=False)

    return step


@program("beam search step")
def beam_search_step():
    logits, scores, ids = torch.randn(4, 100), torch.zeros(4), torch.randint(0, 100, (4, 10))

    def step():
        lp = F.log_softmax(logits, -1) + scores[:, None]
        v, i = lp.view(-1).topk(4)
        beam, tok = torch.div(i, 100, rounding_mode="floor"), i % 100
        return torch.cat((ids[beam], tok[:, None]), 1), v

    return step


@program("mixture of experts")
def mixture_of_experts():
    ex = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(4))
    gate = nn.Linear(32, 4)
    x = torch.randn(64, 32)
    ps = [*ex.parameters(), *gate.parameters()]

    def loss():
        w, i = gate(x).softmax(-1).topk(2, -1)
        out = torch.zeros_like(x)
        for k, e in enumerate(ex):
            r, c = torch.where(i == k)
            out.index_add_(0, r, e(x[r]) * w[r, c, None])
        return out.square().mean()

    return training(ex, torch.optim.Adam(ps, lr=1e-3), loss)
