"""The emulated CANN itself: calls, refusals, failures, devices, ranks."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

EMULATOR = Path(__file__).resolve().parent / "emulator"


def test_signatures_are_read_out_of_the_wheel():
    import mindspore

    rows = subprocess.run(
        [sys.executable, EMULATOR / "signatures.py", mindspore.__path__[0]], capture_output=True, text=True, check=True
    ).stdout
    known = dict(line.split("\t") for line in rows.splitlines())
    assert known["aclnnAdd"] == "pppp" and known["aclnnSoftmax"] == "pip" and known["aclnnSort"] == "pbibpp"
    assert sum(codes != "?" for codes in known.values()) >= 390


def test_calls_are_counted(npu, tmp_path):
    npu(
        "-c",
        "import torch; x = torch.ones(3, device='npu'); print((x + x).sum().item())",
        EMULATED_CANN_REPORT=tmp_path / "report",
    )
    rows = {row["function"]: row for row in map(json.loads, (tmp_path / "report").read_text().splitlines())}
    assert rows["aclnnAdd"]["calls"] == 1 and rows["aclnnReduceSum"]["failed"] == 0


def test_a_missing_rule_is_named(oracle_python):
    program = (
        "import server, torch\ntry: server.compute('Nothing', [torch.ones(2), 3])\nexcept NotImplementedError as e: "
        "print(e)"
    )
    done = subprocess.run(
        [oracle_python, "-c", program],
        env=os.environ | {"PYTHONPATH": str(EMULATOR), "MINDTORCH_ACTIVATE": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "aclnnNothing is not emulated; called with (float32[2], 3)"


FAILURES = [
    ("aclnnAdd:2", "y = x + x; z = x + x", "Call aclnnAdd failed"),
    ("aclrtMallocPhysical:0", "y = torch.ones(1 << 24, device='npu') + 1", "memory"),
    ("device:3", "[x + x for _ in range(5)]", "the device is lost"),
]


@pytest.mark.parametrize("fail, program, text", FAILURES, ids=[f[0] for f in FAILURES])
def test_failures_made_on_purpose(npu, fail, program, text):
    done = npu(
        "-c",
        f"import torch; x = torch.ones(2).npu(); {program}; torch.npu.synchronize()",
        EMULATED_CANN_FAIL=fail,
        check=False,
    )
    assert done.returncode == 1 and text in done.stderr


def test_memory_that_runs_out_is_an_out_of_memory_error(npu):
    program = (
        "import torch\ntry: torch.ones(1 << 30, device='npu').sum().item()\nexcept torch.OutOfMemoryError as e: "
        "print('out of memory')"
    )
    assert npu("-c", program, EMULATED_CANN_MEMORY_MB=512) == "out of memory"


def test_several_devices_one_in_each_process(npu):
    program = """
import torch
assert torch.npu.device_count() == 2
torch.npu.set_device(1)
x = torch.ones(3).npu()
print(x.device, (x + x).sum().item(), torch.npu.current_device())
try:
    torch.ones(2, device="npu:0")
except NotImplementedError as e:
    print("one NPU in a process" in str(e))
"""
    assert npu("-c", program, EMULATED_CANN_DEVICES=2) == "npu:1 6.0 1\nTrue"


def test_a_forked_child_computes_on_the_cpu_and_is_told_about_the_npu(npu):
    program = """
import os, torch
x = torch.ones(3).npu() + 1
if (pid := os.fork()) == 0:
    try:
        torch.ones(2).npu()
    except RuntimeError as e:
        os._exit(0 if "forked" in str(e) and (torch.ones(3) + 1).sum().item() == 6 else 1)
    os._exit(2)
print(os.waitpid(pid, 0)[1], (x + x).sum().item())
"""
    assert npu("-c", program) == "0 12.0"


def test_data_loader_s_workers_beside_an_npu(npu):
    program = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.ones(2).npu()
loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=2)
print(sum((b.npu() * 2).sum().item() for b, in loader))
"""
    assert npu("-c", program) == "56.0"


RANKS = """
import os, sys
import numpy as np
import mindspore as ms
from mindspore.mint import distributed as d
from mindtorch_proxy.runtime import pyboost

pyboost.mindspore()  # MindSpore 2.10 refuses the first call with a number beside NumPy 2
rank = int(sys.argv[1])
os.environ.update(RANK=str(rank), RANK_ID=str(rank), WORLD_SIZE="2", DEVICE_ID="0")
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
ms.set_device("Ascend")
ms.runtime.launch_blocking()
d.init_process_group(init_method=f"tcp://127.0.0.1:{sys.argv[2]}", world_size=2, rank=rank)
npu = lambda values: ms.Tensor(np.array(values, np.float32)).move_to("Ascend")
found = {}
x = npu([0, 1, 2, 3]) if rank == 0 else npu([1, 2, 3, 4])
d.all_reduce(x)
found["all_reduce"] = x.asnumpy().tolist()
parts = [npu([0, 0]) for _ in range(2)]
d.all_gather(parts, npu([rank, 5]))
found["all_gather"] = [p.asnumpy().tolist() for p in parts]
b = npu([rank + 7])
d.broadcast(b, src=1)
found["broadcast"] = b.asnumpy().tolist()
out = npu([0, 0])
d.reduce_scatter(out, [npu([rank, 1]), npu([2, rank])])
found["reduce_scatter"] = out.asnumpy().tolist()
swapped = [npu([0]) for _ in range(2)]
d.all_to_all(swapped, [npu([10 * rank]), npu([10 * rank + 1])])
found["all_to_all"] = [s.asnumpy().tolist() for s in swapped]
if rank == 0:
    d.send(npu([42]), 1)
else:
    got = npu([0])
    d.recv(got, 0)
    found["recv"] = got.asnumpy().tolist()
d.barrier()
open(sys.argv[3] + sys.argv[1], "w").write(repr(found))
"""


def test_collectives_of_two_ranks(launched, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "ranks.py").write_text(RANKS)
    rank = f"{sys.executable} {tmp_path}/ranks.py"
    both = f"{rank} 0 {port} {tmp_path}/found & {rank} 1 {port} {tmp_path}/found; a=$?; wait $! && exit $a"
    done = launched("sh", "-c", both, EMULATED_CANN_DEVICES=2)
    assert done.returncode == 0, done.stderr[-3000:]
    found = {r: (tmp_path / f"found{r}").read_text() for r in "01"}
    shared = "'all_reduce': [1.0, 3.0, 5.0, 7.0], 'all_gather': [[0.0, 5.0], [1.0, 5.0]], 'broadcast': [8.0]"
    assert found == {
        "0": "{" + shared + ", 'reduce_scatter': [1.0, 2.0], 'all_to_all': [[0.0], [10.0]]}",
        "1": "{" + shared + ", 'reduce_scatter': [4.0, 1.0], 'all_to_all': [[1.0], [11.0]], 'recv': [42.0]}",
    }


@pytest.mark.parametrize("before", [False, True])
def test_precision_of_convolutions(before, npu, tmp_path):
    """CANN computes float32 convolutions in HF32 (its number 3) unless that is turned off before the first one."""
    arguments = tmp_path / "arguments"
    program = (
        "import torch, warnings\nwarnings.simplefilter('error')\nx, w = torch.ones(1, 2, 4, 4).npu(), "
        "torch.ones(2, 2, 3, 3).npu()\nassert torch.npu.conv.allow_hf32\n"
        f"if {before}: torch.npu.conv.allow_hf32 = False\n"
        "y = torch.nn.functional.conv2d(x, w).tolist()\n"
        "try: torch.npu.conv.allow_hf32 = not torch.npu.conv.allow_hf32\n"
        "except UserWarning as e: print(str(e).partition(':')[0])\n"
        "print(torch.npu.conv.allow_hf32)"
    )
    assert npu("-c", program, EMULATED_CANN_ARGS=arguments).splitlines() == [
        f"torch.npu.conv.allow_hf32 stays {not before}",
        str(not before),
    ]
    (call,) = (line for line in arguments.read_text().splitlines() if line.startswith("aclnnConvolution("))
    assert call.endswith("0)" if before else "3)")
