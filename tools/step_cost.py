"""Count what a training step costs on an NPU: kernels, synchronisations, copies, beside what real PyTorch dispatches.

    MINDTORCH_ORACLE_PYTHON=ORACLE/bin/python .venv/bin/python tools/step_cost.py [PROGRAM ...] [--lines] [--functions]

The step runs on the emulated CANN of tests/ascend, whose calls compute nothing here, so that only the host's time
remains. Programs: bert, llama, resnet, or a Python file of yours with a function `step(device)` that prepares a model
and returns a function which makes one step. --lines lists the lines of the program that caused copies and
synchronisations, and those with the most kernels. The real PyTorch counts the operators that reach its CPU kernels in
the same step, without views.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAUNCH = ROOT / "tests" / "ascend" / "emulator" / "launch.py"
KINDS = {"1": "to the device", "2": "to the host", "3": "on the device"}  # aclrtMemcpyKind
TIMED = 5  # steps whose time is taken, each after the device is idle


# ---------------------------------------------------------------- the programs
def trained(model, loss, optimizer):
    """Return a function that makes one training step."""

    def step():
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()

    return step


def bert(device):
    """The shape of bert-base, twelve layers, narrow, with dropout, a classification loss and AdamW."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    sizes = dict(vocab_size=100, hidden_size=48, num_attention_heads=12, intermediate_size=96)
    model = BertForSequenceClassification(BertConfig(**sizes, num_hidden_layers=12)).to(device).train()
    ids, labels = torch.randint(100, (4, 16)).to(device), torch.tensor([0, 1, 0, 1]).to(device)
    mask = torch.ones(4, 16, dtype=torch.int64).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return trained(model, lambda m: m(input_ids=ids, attention_mask=mask, labels=labels).loss, optimizer)


def llama(device):
    """Four layers of a llama-like model with grouped heads, next-token loss and AdamW."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = dict(vocab_size=100, hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2)
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_hidden_layers=4)).to(device).train()
    ids = torch.randint(100, (2, 16)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return trained(model, lambda m: m(input_ids=ids, labels=ids, use_cache=False).loss, optimizer)


def resnet(device):
    """ResNet-18 for small images, cross entropy and SGD with momentum."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
            self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
            same = stride == 1 and a == b
            self.short = (
                nn.Identity() if same else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))
            )

        def forward(self, x):
            y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
            return torch.relu(y + self.short(x))

    stem = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    widths = [(16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)]
    model = nn.Sequential(*stem, *[Block(*w) for w in widths], *head).to(device).train()
    x, y = torch.randn(4, 3, 64, 64).to(device), torch.randint(10, (4,)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    return trained(model, lambda m: nn.functional.cross_entropy(m(x), y), optimizer)


PROGRAMS = {"bert": bert, "llama": llama, "resnet": resnet}


def program(name):
    """Return the function that prepares a step, and the file in which lines are told apart."""
    if name in PROGRAMS:
        return PROGRAMS[name], None
    spec = importlib.util.spec_from_file_location("program", name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.step, name


# ---------------------------------------------------------------- in the processes that run the step
class Trace:
    """The emulator's trace, from where it was read last."""

    def __init__(self):
        self.file = open(os.environ["EMULATED_CANN_TRACE"])

    def read(self):
        """Return a Counter of (what, name or direction) and the bytes copied in each direction."""
        found, copied = Counter(), Counter()
        for line in self.file.read().splitlines():
            what, _, rest = line.partition(" ")
            if what.startswith("aclnn"):
                found["kernel", what] += 1
            elif what == "synchronize":
                found["synchronisation", rest] += 1
            elif what == "copy":
                kind, n = rest.split()
                found["copy", KINDS.get(kind, kind)] += 1
                copied[KINDS.get(kind, kind)] += int(n)
        return found, copied

    def settled(self):
        """Wait for what was launched, and return what read() does without this wait."""
        import torch

        torch.npu.synchronize()
        found, copied = self.read()
        found["synchronisation", "aclrtSynchronizeDevice"] -= 2  # MindSpore's, and CANN's own for its error
        return +found, copied


def on_npu(name):
    """Run the step on the emulated NPU and print what it cost as JSON."""
    import torch

    torch.manual_seed(0)
    prepare, _ = program(name)
    step, trace = prepare("npu"), Trace()
    for _ in range(3):
        step()
    trace.settled()
    step()
    found, copied = trace.settled()
    times = []
    for _ in range(TIMED):
        torch.npu.synchronize()
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    trace.settled()
    lines = attributed(step, trace)
    counts = [[*key, n] for key, n in found.items()]
    print("STEP " + json.dumps({"counts": counts, "bytes": copied, "seconds": min(times), "lines": lines}))


def attributed(step, trace):
    """Return {line of a program: {what: how often}} of a step that is waited for after every line outside of torch."""
    found, current = defaultdict(Counter), [None]

    def settle():
        counts, _ = trace.settled()
        if current[0] is not None:
            for (what, name), n in counts.items():
                found[current[0]][what if what == "kernel" else f"{what} {name}"] += n

    def local(frame, event, _):
        settle()
        current[0] = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return local

    def enter(frame, event, argument):
        name = frame.f_code.co_filename
        ours = name.startswith(str(ROOT)) and name != __file__ or f"{os.sep}torch{os.sep}" in name
        return None if ours or name.startswith("<") or "mindspore" in name else local(frame, event, argument)

    sys.settrace(enter)
    try:
        step()
    finally:
        sys.settrace(None)
    settle()
    return found


def on_real(name):
    """Count the operators that the real PyTorch dispatches to kernels in the same step."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.found = Counter()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            returns = func._schema.returns
            view = bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)
            # memory without values, and marks of the profiler, are no kernels
            self.found[str(func)] += not (view or "profiler" in str(func) or "aten.empty" in str(func))
            return func(*args, **(kwargs or {}))

    torch.manual_seed(0)
    step = program(name)[0]("cpu")
    for _ in range(2):
        step()
    with Count() as counted:
        step()
    print("STEP " + json.dumps(+counted.found))


# ---------------------------------------------------------------- the tool
def answer(command, environment):
    """Run a command and return the JSON of its line STEP."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    line = next((line for line in done.stdout.splitlines() if line.startswith("STEP ")), None)
    if line is None:
        sys.exit(f"{' '.join(map(str, command))}: no result\n{done.stderr[-2000:]}")
    return json.loads(line[5:])


def measured(name):
    """Return the costs of a program's step here and the operators of the real PyTorch."""
    oracle = os.environ.get("MINDTORCH_ORACLE_PYTHON") or sys.exit(
        "MINDTORCH_ORACLE_PYTHON names no Python with PyTorch"
    )
    with tempfile.TemporaryDirectory() as folder:
        extra = {"EMULATED_CANN_TRACE": f"{folder}/trace", "EMULATED_CANN_EMPTY": "1", "GLOG_v": "4"}
        command = [oracle, LAUNCH, sys.executable, "-m", "mindtorch_proxy", __file__, "--on", "npu", name]
        here = answer(command, os.environ | extra)
    return here, answer([oracle, __file__, "--on", "real", name], dict(os.environ))


def summary(here, real):
    """Return the numbers of a row: kernels, operators of real torch, synchronisations, copies, host time a launch."""
    total = Counter()
    for what, name, n in here["counts"]:
        total[what] += n
        total[what, name] += n
    kernels, operators = total["kernel"], sum(real.values())
    copies = {d: (total["copy", d], here["bytes"].get(d, 0)) for d in KINDS.values()}
    return {
        "kernels": kernels,
        "operators of real torch": operators,
        "ratio": kernels / operators,
        "synchronisations": total["synchronisation"],
        **{f"copies {d}": n for d, (n, _) in copies.items()},
        "bytes": sum(b for _, b in copies.values()),
        "host us a kernel": 1e6 * here["seconds"] / kernels,
    }


def cell(value):
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def main():
    """Print a row for each program, and with --lines where its copies, synchronisations and kernels come from."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--functions", action="store_true", help="count each function of CANN and each operator")
    parser.add_argument("--on", choices=["npu", "real"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.on:
        return (on_npu if options.on == "npu" else on_real)(options.programs[0])
    for k, name in enumerate(options.programs):
        here, real = measured(name)
        row = summary(here, real)
        if not k:
            print("| program |", " | ".join(row), "|\n|" + "---|" * (len(row) + 1))
        print(f"| {name} |", " | ".join(map(cell, row.values())), "|", flush=True)
        if options.functions:
            for _, function, n in sorted((c for c in here["counts"] if c[0] == "kernel"), key=lambda c: -c[2]):
                print(f"    {n:5d} {function}")
            for function, n in sorted(real.items(), key=lambda c: -c[1]):
                print(f"    {n:5d} {function}")
        if options.lines:
            for line, counts in sorted(here["lines"].items(), key=lambda c: -c[1].get("kernel", 0)):
                print(f"    {line}: {', '.join(f'{n} {what}' for what, n in counts.items())}")


if __name__ == "__main__":
    main()
