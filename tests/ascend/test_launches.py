"""Launches do not wait for their kernels: no synchronisation that the program does not ask for, errors that come late.

The emulated calls begin late (EMULATED_CANN_DELAY), so that whatever the host does meanwhile would be seen in the
values: memory that it writes again, tensors that it frees, kernels of the CPU.
"""

import pytest

TEN_ADDITIONS = """
import os, torch
x = torch.randn(4, 4, device="npu")
y = x + x
torch.npu.synchronize()
trace = os.environ["EMULATED_CANN_TRACE"]
def calls():
    return open(trace).read().splitlines()[before:]
before = 0
before = len(calls())
for _ in range(10):
    y = x + x
early = len(calls())
torch.npu.synchronize()
print(early, sum(c.startswith("aclnnAdd") for c in calls()), sum(c.startswith("synchronize") for c in calls()))
"""


@pytest.mark.parametrize("blocking", [0, 1])
def test_ten_additions(npu, tmp_path, blocking):
    found = npu(
        "-c",
        TEN_ADDITIONS,
        EMULATED_CANN_TRACE=tmp_path / "trace",
        EMULATED_CANN_DELAY=20,
        ASCEND_LAUNCH_BLOCKING=blocking,
    )
    early, additions, waits = map(int, found.split())
    assert additions == 10
    # torch.npu.synchronize() waits twice: MindSpore keeps an error of its own wait to itself, CANN does not
    assert (early, waits) == (20, 12) if blocking else (early < 10 and waits == 2)


WAITS = """
import torch

x = torch.ones(2, device="npu")
calls = {
    "synchronize": lambda y: torch.npu.synchronize(),
    "item": lambda y: y.sum().item(),
    "copy": lambda y: y.cpu(),
    "stream": lambda y: torch.npu.current_stream().synchronize(),
    "event": lambda y: torch.npu.current_stream().record_event().synchronize() or torch.npu.synchronize(),
    "pointer": lambda y: (y * 2).data_ptr(),
}
for name, call in calls.items():
    y = x * x + x
    try:
        call(y)
    except torch.AcceleratorError as e:
        print(name, str(e).count("Call aclnnAdd failed"), str(e).count("ASCEND_LAUNCH_BLOCKING=1"))
print(torch.ones(3, device="npu").sum().item())
"""


def test_a_late_error_is_raised_where_the_host_waits(npu, tmp_path):
    program = tmp_path / "waits.py"
    program.write_text(WAITS)
    said = npu(program, EMULATED_CANN_FAIL="aclnnAdd:0", EMULATED_CANN_DELAY=20)
    assert said.splitlines() == [
        f"{name} 1 1" for name in ("synchronize", "item", "copy", "stream", "event", "pointer")
    ] + ["3.0"]


def test_blocking_launches_name_the_operator(npu):
    program = "import torch; x = torch.ones(2).npu(); y = x + x"
    done = npu("-c", program, EMULATED_CANN_FAIL="aclnnAdd:1", ASCEND_LAUNCH_BLOCKING=1, check=False)
    assert done.returncode == 1
    assert (
        "AcceleratorError: add failed on device npu:0 (Ascend910B1 (emulated)) for dtype torch.float32: Call aclnnAdd"
        in done.stderr
    )


def test_a_lost_device_ends_the_process(npu):
    program = "import torch; x = torch.ones(2).npu(); y = x + x; torch.npu.synchronize()"
    done = npu("-c", program, EMULATED_CANN_FAIL="device:1", check=False)
    assert done.returncode == 1 and "cannot use the device any more and must end" in done.stderr


HOST_MEANWHILE = """
import threading
import numpy as np
import torch

torch.manual_seed(0)
host = torch.zeros(1000)
copies, sums, exact = [], [], []
for i in range(30):
    host.fill_(i)                                # kernels of the CPU and NumPy write where a copy was taken from
    pinned = host.pin_memory()
    copies.append(pinned.to("npu", non_blocking=True))
    pinned.mul_(0)
    copies[-1] += torch.full((1000,), 1.0).npu()  # freed at once
    sums.append((host.exp() * 0 + i).sum())      # kernels of the CPU, read by NumPy
    host.numpy()[:] = -1
for i, (copy, total) in enumerate(zip(copies, sums)):
    exact.append(copy.cpu().eq(i + 1).all().item() and total.item() == 1000 * i)
print(all(exact))

side = torch.npu.Stream()
x = torch.full((500,), 2.0, device="npu")
side.wait_stream(torch.npu.current_stream())
with torch.npu.stream(side):
    y = x * 3
    y.record_stream(torch.npu.current_stream())
torch.npu.current_stream().wait_stream(side)
z = y + 1
del x, y
junk = [torch.full((500,), float(k), device="npu") for k in range(20)]
print(z.eq(7).all().item(), [j[0].item() for j in junk] == list(range(20)))

def train(seed, out):
    a = torch.full((64, 64), float(seed), device="npu", requires_grad=True)
    for _ in range(5):
        (a * a).sum().backward()
    out[seed] = bool((a.grad == 10.0 * seed).all())
results = {}
threads = [threading.Thread(target=train, args=(n, results)) for n in range(1, 4)]
[t.start() for t in threads], [t.join() for t in threads]
print(results == {1: True, 2: True, 3: True})

masked = torch.arange(12.0, device="npu").reshape(3, 4)
masked[masked > 5] = 0
print(masked.sum().item(), masked.nonzero().shape, (masked + host[:4].npu()).sum().item())
"""


def test_what_the_host_does_meanwhile_does_not_matter(npu, tmp_path):
    program = tmp_path / "meanwhile.py"
    program.write_text(HOST_MEANWHILE)
    said = npu(program, EMULATED_CANN_DELAY=3)
    assert said.splitlines() == ["True", "True True", "True", "15.0 torch.Size([5, 2]) 3.0"]
