"""For people with an NPU: what of the emulated CANN's assumptions holds on the hardware. Exit 77 without one, 1 where
something differs.

    python -m mindtorch_proxy tools/npu_report.py [REPORT.json]

Nothing counts as hardware but a device node that MindSpore's own probe confirms; MINDTORCH_NPU has to be unset. Each
assumption is a small program whose result is known; the report holds the versions, the chip, and for each what was
expected and what came, to be sent back with an issue.
"""

import json
import math
import os
import sys
import tempfile
import traceback

import torch
import torch.nn.functional as F

from mindtorch_proxy.backends.ascend import devices
from mindtorch_proxy.backends.ascend.primitives import TAKES
from mindtorch_proxy.backends.host import FLOATS, HALVES, INTS, dtype_set
from mindtorch_proxy.runtime import pyboost

NAN, INF = math.nan, math.inf


def assumption(fn):
    """A function of the device whose value on the CPU is what the emulator assumes of the NPU."""
    ASSUMPTIONS[fn.__name__] = fn
    return fn


ASSUMPTIONS: dict = {}


@assumption
def a_row_that_sees_no_key_gives_zeros(device):
    q = torch.ones(1, 1, 2, 16, device=device)
    mask = torch.tensor([[True, False], [False, False]], device=device)[None, None]
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


@assumption
def causal_attention_starts_in_the_upper_left_corner(device):
    q, k = (
        torch.arange(32.0, device=device).reshape(1, 1, 2, 16) / 32,
        torch.arange(64.0, device=device).reshape(1, 1, 4, 16) / 64,
    )
    return F.scaled_dot_product_attention(q, k, k, is_causal=True)


@assumption
def cross_entropy_of_ignored_targets_alone_is_nan(device):
    return F.cross_entropy(torch.ones(2, 3, device=device), torch.tensor([-100, -100], device=device))


@assumption
def adam_takes_eight_steps_alike(device):
    p = torch.linspace(-1, 1, 32).to(device).requires_grad_()
    o = torch.optim.AdamW([p], lr=1e-2, weight_decay=0.1)
    for _ in range(8):
        o.zero_grad()
        (p**3).sum().backward()
        o.step()
    return p.detach()


@assumption
def an_index_may_be_absent_or_negative(device):
    return torch.arange(24.0, device=device).reshape(2, 3, 4)[:, torch.tensor([-1, 0], device=device)]


@assumption
def nan_wins_a_maximum(device):
    x = torch.tensor([[1.0, NAN, 3.0], [2.0, INF, -INF]], device=device)
    return torch.stack([x.amax(1), x.max(1)[0], x.sort(1)[0][:, -1]])


@assumption
def the_first_of_equal_values_is_the_maximum_s_place(device):
    return torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], device=device).argmax(1)


@assumption
def integers_divide_towards_minus_infinity(device):
    a, b = torch.tensor([7, -7, 7, -7], device=device), torch.tensor([2, 2, -2, -2], device=device)
    return torch.stack([a // b, a % b, torch.div(a, b, rounding_mode="trunc")])


@assumption
def halves_round_to_even(device):
    return torch.tensor([0.5, 1.5, 2.5, -0.5, 1e9], device=device).round()


@assumption
def bfloat16_keeps_eight_bits(device):
    return (torch.arange(1.0, 300.0, device=device).bfloat16() * 3).float()


@assumption
def writes_through_a_transposed_view_reach_the_base(device):
    x = torch.zeros(3, 4, device=device)
    x.t()[1:3].add_(2)
    x[1].mul_(3)
    return x


@assumption
def an_empty_tensor_sums_to_zero(device):
    return torch.empty(0, 3, device=device).sum(0)


@assumption
def layer_norm_trains(device):
    x = torch.linspace(-2, 3, 24).reshape(3, 8).to(device).requires_grad_()
    F.layer_norm(x, (8,), torch.linspace(1, 2, 8).to(device), torch.zeros(8, device=device)).pow(2).sum().backward()
    return x.grad


def refusals_of(primitive, stated):
    """{dtype: why} of the dtypes that an elementwise function of one tensor refuses, of those that CANN states for
    it.
    """
    call, refused = pyboost.primitive(primitive, target="Ascend"), {}
    for dtype in sorted(stated & dtype_set(f"bool {INTS} {HALVES} {FLOATS}"), key=str):
        try:
            call(torch.ones(4, dtype=dtype).npu()._mstensor())
            torch.npu.synchronize()
        except Exception as e:  # noqa: BLE001  (the report tells it)
            refused[dtype.name] = str(e).strip().splitlines()[0][:200]
    return refused


ONE_TENSOR = """
Abs Ceil Cos Cosh Erf Erfc Erfinv Exp Exp2 Expm1 Floor Frac IsInf Log Log10 Log1p Log2 Neg ReLU Reciprocal Rsqrt SiLU
Sigmoid Sign Sin Sqrt Square Tan Tanh Trunc"""


def compared(fn):
    """None where the NPU gives the CPU's values, else what came."""
    try:
        expected, got = fn("cpu"), fn("npu").cpu()
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3, equal_nan=True)
    except AssertionError as e:
        return {"expected": expected.tolist(), "got": got.tolist(), "what": str(e)[:400]}
    except Exception:  # noqa: BLE001  (the report tells it)
        return {"raised": traceback.format_exc()[-1500:]}
    return None


def main(path):
    if devices.EMULATED or not devices.count():
        print(
            "skipped:",
            "MINDTORCH_NPU is set" if devices.EMULATED else "no NPU: no /dev/davinci*, or MindSpore's probe finds none",
        )
        return 77
    differs = {name: found for name, fn in ASSUMPTIONS.items() if (found := compared(fn)) is not None}
    refused = {p: found for p in ONE_TENSOR.split() if (found := refusals_of(p, TAKES.get(p, frozenset())))}
    report = {
        "chip": devices.chip(),
        "mindspore": pyboost.version(),
        "cann": os.environ.get("ASCEND_HOME_PATH", ""),
        "torch": torch.__version__,
    }
    report |= {"holds": sorted(ASSUMPTIONS.keys() - differs), "differs": differs, "stated but refused": refused}
    with open(path, "w") as f:
        json.dump(report, f, indent=1)
    print(
        f"{len(report['holds'])} of {len(ASSUMPTIONS)} assumptions hold, {len(refused)} of {len(ONE_TENSOR.split())} "
        f"functions refuse a dtype that CANN states"
    )
    print(f"{path}: please send it back in an issue")
    return int(bool(differs or refused))


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [os.path.join(tempfile.gettempdir(), "npu_report.json")])))
