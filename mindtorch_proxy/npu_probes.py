"""What an NPU computes, probe by probe: `python -m mindtorch_proxy npu-report` runs each in a process of its own.

    python -m mindtorch_proxy -m mindtorch_proxy.npu_probes NAME [ARGUMENT]

A probe prints one line of JSON: "result" is "ok", "differs", "refused", or "seen" for what is only told; "what" tells
more.
Values are compared with the CPU's, whose kernels PyTorch's own tests check.
"""

import json
import math
import sys
import time

import torch
import torch.nn.functional as F

from .backends.ascend import BACKEND, chips, devices, table
from .backends.ascend.bindings import exists
from .backends.host import FLOATS, HALVES, INTS, dtype_set
from .runtime import dtypes as dt
from .runtime.registry import operators

NAN, INF = math.nan, math.inf
PROBES: dict = {}  # name: function without arguments that returns (result, what)
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def probe(fn):
    PROBES[fn.__name__] = fn
    return fn


def same(fn):
    """Decorate fn(device), whose value on the NPU must be that on the CPU."""
    PROBES[fn.__name__] = lambda: compared(fn)
    return fn


def spelled(e):
    """Return the first line of an error with its class."""
    text = str(e).strip().splitlines()
    return f"{type(e).__name__}: {text[0] if text else ''}"[:400]


def compared(fn, tolerance=1e-3):
    """Return ("ok", "") where fn gives the same on both devices, else how it parts."""
    expected = fn("cpu")
    try:
        got = fn("npu").cpu()
    except Exception as e:  # noqa: BLE001  (the report tells it)
        return "refused", spelled(e)
    try:
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as e:
        parts = [repr(t.flatten()[:8].tolist()) for t in (expected, got)]
        return "differs", f"{str(e).splitlines()[0]} expected {parts[0]}, got {parts[1]}"
    return "ok", ""


# ---------------------------------------------------------------- the device
@probe
def first_call():
    """A first sum, with how long the first and the second call take."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        found = (torch.ones(4).npu() + 1).cpu()
        times.append(time.perf_counter() - started)
    right = "ok" if found.tolist() == [2.0] * 4 else "differs"
    return right, f"first {times[0]:.2f} s, second {times[1] * 1e3:.2f} ms"


def chip():
    """Return what the product knows of the chip."""
    name, lines = devices.chip(), list(chips.limits().values())
    family = chips.family(name)
    return f"{name}, family {family or 'unknown'}, {len(lines)} lines in the table of what it lacks"


@probe
def what_is_known_of_the_chip():
    return ("seen" if chips.family(devices.chip()) else "differs"), chip()


@probe
def memory_is_counted():
    free, total = torch.npu.mem_get_info()
    before = torch.npu.memory_allocated()
    x = torch.ones(16 << 20, device="npu")
    torch.npu.synchronize()
    grown = torch.npu.memory_allocated() - before
    right = x.nbytes <= grown < 2 * x.nbytes and 0 < free <= total
    what = f"{grown >> 20} MB more for a tensor of 64 MB; {free >> 20} MB of {total >> 20} MB free"
    return ("ok" if right else "differs"), what


@probe
def launches():
    """Host time of an addition: with ASCEND_LAUNCH_BLOCKING=1 the driver runs it once more."""
    x = torch.ones(4, device="npu")
    for _ in range(20):
        x + x
    torch.npu.synchronize()
    started = time.perf_counter()
    for _ in range(500):
        x + x
    host = time.perf_counter() - started
    torch.npu.synchronize()
    whole = time.perf_counter() - started
    return "seen", f"{host * 2e3:.1f} us of the host an addition, {whole * 2e3:.1f} us until it is done"


# ---------------------------------------------------------------- precision
def kind_of_float32(product):
    """Return how the device computes a product of float32: "float32", "HF32" or "float16"."""
    fine, large = product(1 + 2.0**-12), product(70000.0)
    if fine == 1 + 2.0**-12:
        return "float32"
    return "HF32" if abs(large / 70000 - 1) < 2e-3 else "float16"


@probe
def float32_products():
    row = chips.limit("Mm", dt.float32)
    expected = "refused" if row and chips.refused(row) else "float16" if row else "float32"
    try:
        eye = torch.eye(16, device="npu")
        found = kind_of_float32(lambda x: (torch.full((16, 16), x, device="npu") * eye @ eye)[0, 0].item())
    except NotImplementedError as e:
        return ("seen" if expected == "refused" else "refused"), spelled(e)
    return ("ok" if found == expected else "differs"), f"computed in {found}; the table says {expected}"


@probe
def float32_convolutions():
    kernel = torch.zeros(16, 16, 1, 1, device="npu")
    kernel[range(16), range(16)] = 1
    expected = "HF32" if torch.npu.conv.allow_hf32 else "float32"
    found = kind_of_float32(lambda x: F.conv2d(torch.full((1, 16, 4, 4), x, device="npu"), kernel)[0, 0, 0, 0].item())
    # where HF32 is allowed, float32 is allowed too
    allowed = found in ("float32", expected)
    what = f"computed in {found}; torch.npu.conv.allow_hf32 is {torch.npu.conv.allow_hf32}"
    return ("ok" if allowed else "differs"), what


@probe
def overflow_in_float16():
    found = torch.full((4,), 12.0, device="npu", dtype=torch.float16).exp().cpu()[0].item()
    saturates = found == 65504
    right = saturates == devices.saturates() and (saturates or found == INF)
    return (
        "ok" if right else "differs"
    ), f"exp(12) is {found}; the product expects {65504 if devices.saturates() else INF}"


@probe
def bfloat16():
    expected = devices.has_bfloat16()
    try:
        right = torch.equal((torch.arange(9.0).bfloat16().npu() * 3).cpu(), torch.arange(9.0).bfloat16() * 3)
    except Exception as e:  # noqa: BLE001  (the report tells it)
        return ("refused" if expected else "seen"), spelled(e)
    return (
        "ok" if right and expected else "differs"
    ), f"works; the product expects that it {'does' if expected else 'fails'}"


# ---------------------------------------------------------------- layouts and errors
def _strided(fn):
    """Return ("ok", ...) where fn gives for strided operands what it gives for contiguous ones."""
    x = torch.linspace(-1, 1, 96).reshape(8, 12)
    views = {
        "transposed": lambda t: t.t(),
        "half of the columns": lambda t: t[:, ::2],
        "expanded": lambda t: t[:1].expand(8, 12),
    }
    bad = []
    for name, view in views.items():
        expected = fn(view(x))
        try:
            got = fn(view(x.npu())).cpu()
        except Exception as e:  # noqa: BLE001  (the report tells it)
            bad.append(f"{name}: {spelled(e)}")
            continue
        if not torch.allclose(got, expected, 1e-3, 1e-3):
            bad.append(f"{name}: other values")
    return bad


@probe
def strided_operands():
    functions = {
        "neg": torch.neg,
        "silu": F.silu,
        "exp": torch.exp,
        "add": lambda t: t + 1,
        "sum": lambda t: t.sum(0),
        "softmax": lambda t: t.softmax(-1),
        "cat": lambda t: torch.cat([t, t]),
        "mul": lambda t: t * t,
        "index": lambda t: t[:, torch.tensor([1, 0], device=t.device)],
        "layer_norm": lambda t: F.layer_norm(t, t.shape[-1:]),
        "bmm": lambda t: torch.bmm(t.half()[None], t.half().t()[None]).float(),
        "max": lambda t: t.max(-1)[0],
    }
    bad = {name: found for name, fn in functions.items() if (found := _strided(fn))}
    moves = BACKEND.moves()
    retried = moves.get("retried with contiguous operands", 0)
    what = f"{retried} layouts were refused and retried, {moves.get('made contiguous', 0)} calls got copies"
    return ("differs" if bad else "seen" if retried else "ok"), what + "".join(f"; {k}: {v}" for k, v in bad.items())


@probe
def an_error_does_not_spoil_the_next_call():
    try:
        (torch.ones(3, device="npu")[torch.tensor([7], device="npu")]).cpu()
        said = "an index beyond the end gave no error"
    except Exception as e:  # noqa: BLE001  (the report tells it)
        said = spelled(e)
    try:
        right = (torch.ones(3, device="npu") + 1).sum().item() == 6
    except Exception as e:  # noqa: BLE001  (the report tells it)
        return "differs", f"{said}; then {spelled(e)}"
    return ("ok" if right else "differs"), said


@probe
def gradients_that_overflow_are_seen():
    w = torch.ones(4, device="npu", requires_grad=True)
    scaler, optimizer = torch.amp.GradScaler("npu", init_scale=2.0**4), torch.optim.SGD([w], lr=1)
    try:
        scaler.scale((w.half() * 60000).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    except NotImplementedError as e:
        return ("seen" if devices.saturates() else "refused"), spelled(e)
    skipped = w.sum().item() == 4 and scaler.get_scale() == 8
    return (
        "ok" if skipped else "differs"
    ), f"the scale went from 16 to {scaler.get_scale()}, the sum of weights is {w.sum().item()}"


# ---------------------------------------------------------------- assumptions of the emulated CANN
@same
def a_row_that_sees_no_key_gives_zeros(device):
    q = torch.ones(1, 1, 2, 16, device=device)
    mask = torch.tensor([[True, False], [False, False]], device=device)[None, None]
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


@same
def causal_attention_starts_in_the_upper_left_corner(device):
    q, k = (
        torch.arange(32.0, device=device).reshape(1, 1, 2, 16) / 32,
        torch.arange(64.0, device=device).reshape(1, 1, 4, 16) / 64,
    )
    return F.scaled_dot_product_attention(q, k, k, is_causal=True)


@same
def cross_entropy_of_ignored_targets_alone_is_nan(device):
    return F.cross_entropy(torch.ones(2, 3, device=device), torch.tensor([-100, -100], device=device))


@same
def adam_takes_eight_steps_alike(device):
    p = torch.linspace(-1, 1, 32).to(device).requires_grad_()
    o = torch.optim.AdamW([p], lr=1e-2, weight_decay=0.1)
    for _ in range(8):
        o.zero_grad()
        (p**3).sum().backward()
        o.step()
    return p.detach()


@same
def an_index_may_be_absent_or_negative(device):
    return torch.arange(24.0, device=device).reshape(2, 3, 4)[:, torch.tensor([-1, 0], device=device)]


@same
def nan_wins_a_maximum(device):
    x = torch.tensor([[1.0, NAN, 3.0], [2.0, INF, -INF]], device=device)
    return torch.stack([x.amax(1), x.max(1)[0], x.sort(1)[0][:, -1]])


@same
def the_first_of_equal_values_is_the_maximum_s_place(device):
    return torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], device=device).argmax(1)


@same
def integers_divide_towards_minus_infinity(device):
    a, b = torch.tensor([7, -7, 7, -7], device=device), torch.tensor([2, 2, -2, -2], device=device)
    return torch.stack([a // b, a % b, torch.div(a, b, rounding_mode="trunc")])


@same
def halves_round_to_even(device):
    return torch.tensor([0.5, 1.5, 2.5, -0.5, 1e9], device=device).round()


@same
def bfloat16_keeps_eight_bits(device):
    return (torch.arange(1.0, 300.0, device=device).bfloat16() * 3).float()


@same
def writes_through_a_transposed_view_reach_the_base(device):
    x = torch.zeros(3, 4, device=device)
    x.t()[1:3].add_(2)
    x[1].mul_(3)
    return x


@same
def an_empty_tensor_sums_to_zero(device):
    return torch.empty(0, 3, device=device).sum(0)


@same
def layer_norm_trains(device):
    x = torch.linspace(-2, 3, 24).reshape(3, 8).to(device).requires_grad_()
    F.layer_norm(x, (8,), torch.linspace(1, 2, 8).to(device), torch.zeros(8, device=device)).pow(2).sum().backward()
    return x.grad


# ---------------------------------------------------------------- training
def losses(model, inputs, target, device, dtype=torch.float32, steps=4, lr=1e-3):
    """Return the losses of some steps of AdamW."""
    torch.manual_seed(0)
    net = model().to(device, dtype)
    x, y = inputs.to(device, dtype) if inputs.is_floating_point() else inputs.to(device), target.to(device)
    optimizer, found = torch.optim.AdamW(net.parameters(), lr=lr, eps=1e-4), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x).float(), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return torch.tensor(found)


def encoder():
    """Two layers of a transformer over words, and their mean."""

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(50, 32)
            layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, activation="gelu", batch_first=True)
            self.layers, self.head = (
                torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                torch.nn.Linear(32, 5),
            )

        def forward(self, x):
            return self.head(self.layers(self.words(x)).mean(1))

    return Encoder()


def images():
    """Convolutions with batch norm, a shortcut and pooling."""

    class Block(torch.nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.one, self.two = torch.nn.Conv2d(a, b, 3, 2, 1, bias=False), torch.nn.Conv2d(b, b, 3, 1, 1, bias=False)
            self.short, self.norms = (
                torch.nn.Conv2d(a, b, 1, 2),
                torch.nn.ModuleList([torch.nn.BatchNorm2d(b) for _ in "12"]),
            )

        def forward(self, x):
            return F.relu(self.norms[1](self.two(F.relu(self.norms[0](self.one(x))))) + self.short(x))

    parts = torch.nn.Conv2d(3, 8, 7, 2, 3), torch.nn.MaxPool2d(3, 2, 1), Block(8, 16), Block(16, 16)
    return torch.nn.Sequential(*parts, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 5))


def _trained(model, inputs):
    """Return how far the losses on the NPU are from the CPU's, in the first dtype that the chip multiplies in."""
    row = chips.limit("Mm", dt.float32)
    dtype = torch.float16 if row and chips.refused(row) else torch.float32
    target = torch.arange(len(inputs)) % 5
    expected = losses(model, inputs, target, "cpu")
    found = losses(model, inputs, target, "npu", dtype)
    apart = (expected - found).abs().max().item()
    limit = 2e-2 if dtype is torch.float16 or row else 5e-3
    lists = [[round(x, 5) for x in t.tolist()] for t in (found, expected)]
    return ("ok" if apart < limit else "differs"), f"{dtype}: losses {lists[0]}, on the CPU {lists[1]}"


@probe
def a_transformer_trains():
    return _trained(encoder, (torch.arange(64).reshape(8, 8) * 7) % 50)


@probe
def a_convolutional_network_trains():
    return _trained(images, torch.linspace(-1, 1, 4 * 3 * 32 * 32).reshape(4, 3, 32, 32).sin())


# ---------------------------------------------------------------- every elementwise operator
def elementwise():
    """Return the elementwise operators that a primitive computes on the NPU, by their full names."""
    found = {}
    for op in operators():
        tensors = [a for a in op.schema.arguments if a.is_tensor]
        others = [a for a in op.schema.arguments if not a.is_tensor and a.default is None and a.required]
        if op.promote is not None and op.fn is None and tensors and not others and not op.full.startswith("_C._"):
            kernel = table.kernel(op)
            if kernel.kind == "pyboost" and exists(kernel.primitive):
                found[op.full] = op
    return found


def operand(dtype, place, device):
    """Return an operand within the domain of most functions, apart for each argument."""
    x = torch.linspace(0.15, 0.85, 24).roll(5 * place).reshape(4, 6)
    if dtype is torch.bool:
        return (x > 0.5).to(device)
    return (x if dtype.is_floating_point else x * 9 + 1).to(dtype).to(device)


def one_operator(op, kernel):
    """Return {dtype: (result, what)} of an elementwise operator for every dtype that CANN states for its primitive."""
    every, found = dtype_set(f"bool {INTS} {HALVES} {FLOATS}"), {}
    for dtype in sorted(every & (table.stated(kernel) or every), key=str):
        if dtype is dt.bfloat16 and not devices.has_bfloat16():
            continue
        try:
            expected = op.call(*(operand(dtype, i, "cpu") for i in range(len(op.tensor_args))))
        except Exception:  # noqa: BLE001, S112  (PyTorch has no such call)
            continue
        try:
            got = op.call(*(operand(dtype, i, "npu") for i in range(len(op.tensor_args)))).cpu()
        except Exception as e:  # noqa: BLE001  (the report tells it)
            found[dtype.name] = "refused", spelled(e)
            continue
        tolerance = TOLERANCE.get(expected.dtype, 0)
        right = torch.allclose(got.double(), expected.double(), tolerance, tolerance, equal_nan=True)
        found[dtype.name] = ("ok", "") if right else ("differs", f"{got.flatten()[:4].tolist()}")
    return found


def main(name, *argument):
    """Run a probe and print its line."""
    if name == "names":
        print("PROBE", json.dumps({"probes": list(PROBES), "operators": sorted(elementwise()), "chip": chip()}))
        return
    if name == "operators":
        found, rows = elementwise(), {}
        for n in argument:
            kernel = table.kernel(found[n])
            rows[n] = {"primitive": kernel.primitive, "dtypes": one_operator(found[n], kernel)}
        print("PROBE", json.dumps(rows))
        return
    try:
        result, what = PROBES[name]()
    except Exception as e:  # noqa: BLE001  (the report tells it)
        result, what = "refused", spelled(e)
    print("PROBE", json.dumps({"result": result, "what": what}))


if __name__ == "__main__":
    main(*sys.argv[1:])
