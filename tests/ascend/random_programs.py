"""Random numbers that the NPU draws by itself; each line names a property and says whether it holds."""

import torch
from torch.utils.checkpoint import checkpoint

import mindtorch_proxy


def show(name, *found):
    print(name, *found)


# ---- one seed, one stream
torch.manual_seed(3)
a = torch.rand(5, device="npu"), torch.randn(4, device="npu")
torch.manual_seed(3)
b = torch.rand(5, device="npu"), torch.randn(4, device="npu")
show("again", all(torch.equal(x, y) for x, y in zip(a, b)), not torch.equal(a[0], torch.rand(5, device="npu")))
torch.npu.manual_seed(3)
show("of the device", torch.equal(a[0], torch.rand(5, device="npu")))
cpu = torch.get_rng_state()
torch.randn(9, device="npu")
show("not the host's", torch.equal(cpu, torch.get_rng_state()))

# ---- states
state = torch.npu.get_rng_state()
x = torch.randn(3, device="npu")
torch.npu.set_rng_state(state)
show("state", len(state), torch.equal(x, torch.randn(3, device="npu")))
torch.npu.set_rng_state(state)
with torch.random.fork_rng(device_type="npu"):
    torch.randn(7, device="npu")
show("forked", torch.equal(x, torch.randn(3, device="npu")))
own = torch.Generator(device="npu").manual_seed(5)
y = torch.rand(3, device="npu", generator=own)
show(
    "own",
    own.initial_seed(),
    own.get_offset(),
    torch.equal(y, torch.rand(3, device="npu", generator=own.manual_seed(5))),
)
copy = own.clone_state()
show("copy", torch.equal(torch.rand(2, device="npu", generator=own), torch.rand(2, device="npu", generator=copy)))
own.set_offset(0)
show("offset", torch.equal(y, torch.rand(3, device="npu", generator=own)))
wrongs = (
    lambda: own.set_offset(3),
    lambda: own.set_state(torch.zeros(3, dtype=torch.uint8)),
    lambda: torch.rand(2, generator=own),
)
for wrong in wrongs:
    try:
        wrong()
    except RuntimeError as e:
        show("refused", e)
show("default", torch.npu.default_generators[0].device, len(torch.npu.get_rng_state_all()))

# ---- distributions
n = 20000


def near(t, mean, std):
    t = t.double()
    return abs(t.mean().item() - mean) < 0.05 * max(std, 1) and abs(t.std().item() - std) < 0.05 * max(std, 1)


def new(dtype=torch.float32):
    return torch.empty(n, device="npu", dtype=dtype)


show(
    "uniform",
    near(new().uniform_(2, 4), 3, 2 / 12**0.5),
    near(torch.rand(n, device="npu", dtype=torch.float16), 0.5, 0.289),
)
show("normal", near(new().normal_(1, 2), 1, 2), near(torch.randn(n, device="npu", dtype=torch.bfloat16), 0, 1))
show(
    "bernoulli",
    near(new().bernoulli_(0.3), 0.3, 0.458),
    near(torch.full((n,), 0.3, device="npu").bernoulli(), 0.3, 0.458),
)
show(
    "integers", near(torch.randint(2, 12, (n,), device="npu"), 6.5, 2.872), new(torch.int64).random_().min().item() >= 0
)
show("exponential", near(new().exponential_(2), 0.5, 0.5), near(new().log_normal_(0, 0.5), 1.133, 0.604))
show("cauchy", abs(new().cauchy_(3, 1).median().item() - 3) < 0.1)
show("complex", near(torch.view_as_real(torch.randn(n, device="npu", dtype=torch.complex64)), 0, 0.7071))
show(
    "of the host",
    sorted(torch.randperm(5, device="npu").tolist()),
    near(torch.poisson(torch.full((n,), 4.0, device="npu")), 4, 2),
)
show("empty", torch.rand(0, 3, device="npu").shape)
p = torch.tensor([[0.0, 1.0, 0.0]], device="npu")
show("multinomial", torch.multinomial(p, 1).tolist())


# ---- dropout
def copies():
    return mindtorch_proxy.report()["moves"].get("from host", 0)


x = torch.ones(3, 1001, device="npu", requires_grad=True)
before = copies()
out = torch.nn.functional.dropout(x, 0.25)
out.sum().backward()
show("copies", copies() - before)
kept = out != 0
show("dropout", near(kept.float(), 0.75, 0.433), torch.equal(out, kept / 0.75), torch.equal(x.grad, kept / 0.75))
for dtype in (torch.float16, torch.bfloat16):
    show(dtype, set(torch.nn.functional.dropout(torch.ones(64, device="npu", dtype=dtype), 0.5).tolist()) == {0.0, 2.0})
x.grad = None
layer = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Dropout1d(0.5))
for reentrant in (False, True):
    torch.npu.manual_seed(1)
    plain = torch.autograd.grad(layer(x).sum(), x)[0]
    torch.npu.manual_seed(1)
    x.grad = None
    checkpoint(layer, x, use_reentrant=reentrant).sum().backward()
    show("checkpoint", torch.equal(plain, x.grad), (plain != 0).any().item())
g = torch.autograd.grad(torch.nn.functional.dropout(x * x, 0.5).sum(), x, create_graph=True)[0]
show("twice", torch.equal(torch.autograd.grad(g.sum(), x)[0], g.detach()))
