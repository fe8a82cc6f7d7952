"""Small programs, as a newcomer writes them first: each function makes a model and answers with one step of it, to be
called again and again.
"""

import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS = {}


def program(name):
    def deco(make):
        PROGRAMS[name] = make
        return make

    return deco


def training(model, optimizer, loss):
    """A step: gradients to zero, loss, backward, optimizer."""

    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value

    model.train()
    return step


def _mlp():
    return nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))


@program("linear regression")
def linear_regression():
    x = torch.randn(64, 8)
    y, model = x.sum(1, keepdim=True), nn.Linear(8, 1)
    return training(model, torch.optim.SGD(model.parameters(), lr=0.01), lambda: F.mse_loss(model(x), y))


@program("mlp")
def mlp():
    model, x, y = _mlp(), torch.randn(32, 16), torch.randint(0, 4, (32,))
    return training(model, torch.optim.Adam(model.parameters(), lr=1e-3), lambda: F.cross_entropy(model(x), y))


@program("mlp forward")
def mlp_forward():
    model, x = _mlp().eval(), torch.randn(32, 16)

    def step():
        with torch.no_grad():
            return model(x)

    return step


@program("cnn")
def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(784, 10),
    )
    x, y = torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,))
    return training(
        model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), lambda: F.cross_entropy(model(x), y)
    )


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layers = kind(8, 32, batch_first=True, **options)
        self.head = nn.Linear(64 if options.get("bidirectional") else 32, 1)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


def recurrent(kind, **options):
    model, x, y = Recurrent(kind, **options), torch.randn(16, 24, 8), torch.randn(16, 1)
    return training(model, torch.optim.Adam(model.parameters(), lr=1e-3), lambda: F.mse_loss(model(x), y))


program("rnn")(lambda: recurrent(nn.RNN))
program("lstm")(lambda: recurrent(nn.LSTM, num_layers=2))
program("gru")(lambda: recurrent(nn.GRU, num_layers=2))
program("bidirectional lstm")(lambda: recurrent(nn.LSTM, bidirectional=True))


@program("lstm forward")
def lstm_forward():
    model, x = Recurrent(nn.LSTM, num_layers=2).eval(), torch.randn(16, 24, 8)

    def step():
        with torch.no_grad():
            return model(x)

    return step


@program("lstm cell")
def lstm_cell():
    cell, head, x = nn.LSTMCell(8, 32), nn.Linear(32, 1), torch.randn(24, 16, 8)
    params = [*cell.parameters(), *head.parameters()]

    def loss():
        state = torch.zeros(16, 32), torch.zeros(16, 32)
        for t in x:
            state = cell(t, state)
        return head(state[0]).square().mean()

    return training(cell, torch.optim.Adam(params, lr=1e-3), loss)


@program("packed lstm")
def packed_lstm():
    model, x = nn.LSTM(8, 32, batch_first=True), torch.randn(16, 24, 8)
    lengths = torch.arange(24, 8, -1)

    def loss():
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(model(packed)[0], batch_first=True)[0].square().mean()

    return training(model, torch.optim.Adam(model.parameters(), lr=1e-3), loss)


@program("transformer")
def transformer():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(64, 8))
    x, y = torch.randn(8, 16, 64), torch.randint(0, 8, (8,))
    return training(model, torch.optim.AdamW(model.parameters(), lr=1e-3), lambda: F.cross_entropy(model(x).mean(1), y))


@program("gan")
def gan():
    g = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh())
    d = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    for_g, for_d = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (g, d))
    real, ones, zeros, loss = torch.randn(32, 32), torch.ones(32, 1), torch.zeros(32, 1), nn.BCEWithLogitsLoss()

    def step():
        fake = g(torch.randn(32, 16))
        for_d.zero_grad()
        (loss(d(real), ones) + loss(d(fake.detach()), zeros)).backward()
        for_d.step()
        for_g.zero_grad()
        loss(d(fake), ones).backward()
        for_g.step()

    return step


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.mean, self.scale = nn.Linear(64, 32), nn.Linear(32, 8), nn.Linear(32, 8)
        self.decode = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))

    def forward(self, x):
        h = F.relu(self.encode(x))
        mean, log_var = self.mean(h), self.scale(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        return torch.sigmoid(self.decode(z)), mean, log_var


@program("vae")
def vae():
    model, x = Vae(), torch.rand(32, 64)

    def loss():
        y, mean, log_var = model(x)
        return F.binary_cross_entropy(y, x, reduction="sum") - 0.5 * torch.sum(
            1 + log_var - mean.pow(2) - log_var.exp()
        )

    return training(model, torch.optim.Adam(model.parameters(), lr=1e-3), loss)


class Gnn(nn.Module):
    """Messages along edges, averaged at the nodes by scatter_add."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def spread(self, x, source, target):
        total = torch.zeros_like(x).scatter_add(0, target[:, None].expand(-1, x.size(1)), x[source])
        count = torch.zeros(x.size(0)).index_add(0, target, torch.ones(target.size(0)))
        return total / count.clamp(min=1)[:, None]

    def forward(self, x, source, target):
        return self.spread(self.second(torch.relu(self.spread(self.first(x), source, target))), source, target)


@program("gnn")
def gnn():
    model, x, y = Gnn(), torch.randn(64, 16), torch.randint(0, 4, (64,))
    source, target = torch.randint(0, 64, (2, 256))
    return training(
        model, torch.optim.Adam(model.parameters(), lr=1e-2), lambda: F.cross_entropy(model(x, source, target), y)
    )


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache=None):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(width, -1))
        if cache is not None:
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            cache[:] = k, v
        a = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(a.transpose(1, 2).reshape(n, length, width))
        return x + self.feed(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary=96, width=64, layers=2, heads=4, length=64):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, caches=None, past=0):
        x = self.tokens(ids) + self.positions(torch.arange(past, past + ids.size(1)))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return self.head(self.norm(x))


@program("gpt")
def gpt():
    model, ids = Gpt(), torch.randint(0, 96, (4, 33))

    def loss():
        return F.cross_entropy(model(ids[:, :-1]).reshape(-1, 96), ids[:, 1:].reshape(-1))

    return training(model, torch.optim.AdamW(model.parameters(), lr=1e-3), loss)


@program("gpt generation")
def gpt_generation():
    """Sixteen tokens, one at a time, with a cache."""
    model, prompt = Gpt().eval(), torch.randint(0, 96, (1, 8))

    def step():
        with torch.no_grad():
            ids, caches = prompt, [[] for _ in model.blocks]
            logits = model(ids, caches)
            for past in range(8, 24):
                token = torch.multinomial(F.softmax(logits[:, -1], -1), 1)
                ids = torch.cat((ids, token), 1)
                logits = model(token, caches, past)
        return ids

    return step
