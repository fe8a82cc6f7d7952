"""What a training step sends between NPUs: bytes and collectives of DDP, FSDP, tensor and pipeline parallelism.

    python tools/communication.py                    # the tables of docs/scale.md, computed
    python tools/communication.py --check            # whether docs/scale.md has them
    MINDTORCH_ORACLE_PYTHON=ORACLE/bin/python .venv/bin/python tools/communication.py --measure [SIZE ...]

--measure runs steps of a small model on the emulated CANN of tests/ascend with 2, 4 and 8 ranks (or the given numbers),
counts what HCCL is asked for, and compares it with what the same functions compute.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "ascend"
BUCKET, FIRST = 25 << 20, 1 << 20  # bytes of a bucket of DDP, and of its first one
SIZES = {"float32": 4, "int64": 8, "float16": 2, "bfloat16": 2, "int32": 4, "int8": 1, "int16": 2}


# ---------------------------------------------------------------- what a step asks HCCL for
@dataclass
class Model:
    """A transformer, or a chain of blocks of two products.

    parameters: of each unit that is sharded by itself, the rest last, in the order of the model. width: of what a block
    passes on. pairs: products by columns and then by rows in a block, 2 in a transformer (attention and MLP).
    """

    units: list[list[int]]
    blocks: int
    width: int
    pairs: int
    itemsize: int

    @property
    def parameters(self):
        """The number of all parameters."""
        return sum(map(sum, self.units))


@dataclass
class Asked:
    """Calls of one kind of collective on one NPU, and the bytes of the tensor that all its ranks share.

    An all-reduce's tensor, an all-gather's output, a reduce-scatter's input, what is sent of messages.
    """

    kind: str
    ranks: int
    calls: float
    data: float

    @property
    def moved(self):
        """The bytes that an NPU sends, where the tensor goes round a ring."""
        once = self.data * (self.ranks - 1) / self.ranks
        return {"AllReduce": 2 * once, "messages": self.data}.get(self.kind, once)


def ddp(model, ranks):
    """Every gradient in buckets, of which each is one all-reduce; one more tells which parameters were used."""
    calls, filled, limit = 0, 0, FIRST
    for n in reversed([n for unit in model.units for n in unit]):
        filled += n * model.itemsize
        if filled >= limit:
            calls, filled, limit = calls + 1, 0, BUCKET
    return [Asked("AllReduce", ranks, calls + (filled > 0), model.parameters * model.itemsize)]


def fsdp(model, ranks):
    """Every unit is gathered for forward, all but the root again for backward, and its gradients are scattered."""
    share = lambda unit: sum(-(-n // ranks) for n in unit) * ranks * model.itemsize  # each parameter is padded
    every, root = [share(u) for u in model.units], share(model.units[-1])
    gathers = 2 * len(every) - 1
    return [
        Asked("AllGather", ranks, gathers, 2 * sum(every) - root),
        Asked("ReduceScatter", ranks, len(every), sum(every)),
    ]


def tensor_parallel(model, ranks, rows, microbatches=1):
    """An all-reduce of the activations forward and one backward, for each pair of products. rows: batch x sequence."""
    calls = 2 * model.pairs * model.blocks
    return [Asked("AllReduce", ranks, calls * microbatches, calls * rows * model.width * model.itemsize)]


def pipeline(model, ranks, rows, microbatches):
    """Activations to the next stage and gradients back, of each microbatch; the mean over the stages."""
    sent = 2 * microbatches * (ranks - 1) / ranks
    return [Asked("messages", ranks, sent, sent * rows / microbatches * model.width * model.itemsize)]


# ---------------------------------------------------------------- a model of 7B
HIDDEN, INNER, LAYERS, WORDS, SEQUENCE = 4096, 11008, 32, 32000, 4096


def large(split=1, stages=1):
    """The shape of Llama 2 7B, of which an NPU has a part: 1/split of each product, 1/stages of the layers."""
    attention, mlp = 4 * [HIDDEN * HIDDEN // split], 3 * [HIDDEN * INNER // split]
    layers = LAYERS // stages
    return Model([[*attention, *mlp, HIDDEN, HIDDEN]] * layers + [[2 * WORDS * HIDDEN // split]], layers, HIDDEN, 2, 2)


def shown(asked):
    """A cell of the table: calls and megabytes sent."""
    return f"{sum(a.calls for a in asked):,.0f} calls, {sum(a.moved for a in asked) / 1e6:,.0f} MB"


def tables():
    """Return the tables of docs/scale.md."""
    lines = ["| NPUs | DDP | FSDP | TP 8 x DP | TP 8 x PP x DP |", "|---|---|---|---|---|"]
    for npus, stages in ((8, 1), (64, 4), (1024, 8)):
        whole, rows, split = large(), SEQUENCE, large(8)
        replicas, micro = npus // 8, 4 * stages if stages > 1 else 1
        part, groups = large(8, stages), npus // 8 // stages
        two = tensor_parallel(split, 8, 8 * rows) + (ddp(split, replicas) if replicas > 1 else [])
        three = tensor_parallel(part, 8, 8 * rows * stages, micro)
        three += pipeline(part, stages, 8 * rows * stages, micro) if stages > 1 else []
        three += ddp(part, groups) if groups > 1 else []
        cells = [shown(ddp(whole, npus)), shown(fsdp(whole, npus)), shown(two)]
        lines.append(f"| {npus:,} | {' | '.join(cells)} | {shown(three)} (PP {stages}, DP {groups}) |")
    return "\n".join(lines)


# ---------------------------------------------------------------- what the emulator counts
LINE = re.compile(r"Hccl(\w+)\((.*)\)$")
TENSOR = re.compile(r"(\w+)\[(\d*)\]")
MARK = re.compile(r"HcclBroadcast\(.*int16\[7\]")  # what the program broadcasts before and after a step


def _data(tensor):
    kind, count = tensor.groups()
    return SIZES[kind] * int(count or 0)


def counted(path, size):
    """Return {kind: (calls, bytes)} of an NPU, the mean, from the emulator's list of calls, for each step in it."""
    lines = Path(path).read_text().splitlines()
    marks = [i for i, line in enumerate(lines) if MARK.match(line)]  # of all ranks before a step, then of all after it
    steps = range(0, len(marks), 2 * size)
    return [_sums(lines[marks[i + size - 1] + 1 : marks[i + 2 * size - 1]], size) for i in steps]


def _sums(lines, size):
    calls, data = Counter(), Counter()
    for line in lines:
        found = LINE.match(line)
        if found is None or MARK.match(line) or found.group(1) == "Init":
            continue
        name, arguments = found.groups()
        if "SendRecv" in name or name in ("Send", "Recv"):
            fields = arguments.split(", ")[4:]
            sent = [TENSOR.match(t) for receives, t in zip(fields[1::3], fields[2::3]) if receives == "0"]
            calls["messages"] += len(sent)
            data["messages"] += sum(map(_data, sent))
        else:
            calls[name] += 1
            data[name] += max(map(_data, TENSOR.finditer(arguments)), default=0)
    return {k: (calls[k] / size, data[k] / size) for k in calls}


def small(blocks, width):
    """The model of tests/ascend/hccl_programs.py `step`: blocks of a LayerNorm and two products, and a product."""
    block = [width, width, 4 * width * width, 4 * width, 4 * width * width, width]
    return Model([block] * blocks + [[width * width, width]], blocks, width, 1, 4)


def expected(program, size, blocks=4, width=16, rows=32):
    """Return {kind: (calls, bytes)} of an NPU for a step of that program."""
    model = small(blocks, width)
    found = {
        "ddp": lambda: ddp(model, size),
        "fsdp": lambda: fsdp(model, size),
        "tp": lambda: tensor_parallel(model, size, rows),
        "pp": lambda: pipeline(model, size, rows, 2 * size),
    }[program]()
    sums: dict = {}
    for a in found:
        calls, data = sums.get(a.kind, (0, 0))
        sums[a.kind] = calls + a.calls, data + a.data
    return sums


def programs(size):
    """The ways to share a model that are counted with that many ranks."""
    return ("ddp", "fsdp", "tp", "pp")


def measured(size):
    """Return {kind: (calls, bytes)} of an NPU for each program, as the emulator counts them."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "EMULATED_CANN_ARGS": f"{folder}/calls",
            "OUT": f"{folder}/out",
            "EMULATED_CANN_DEVICES": str(size),
        }
        command = [os.environ["MINDTORCH_ORACLE_PYTHON"], TESTS / "emulator" / "launch.py", sys.executable]
        command += [TESTS / "ranks.py", str(size), TESTS / "hccl_programs.py", "step", *programs(size)]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=600)
        texts = "".join((Path(folder) / f"out{r}").read_text() for r in range(size))
        if done.returncode or texts.count("\ndone") < size:
            sys.exit(f"{size} ranks: {done.stderr[-1000:]}\n{texts[-3000:]}")
        return counted(f"{folder}/calls", size)


def compare(sizes):
    """Print what is computed and what is counted; return whether they are equal."""
    equal = True
    for size in sizes:
        for program, got in zip(programs(size), measured(size)):
            want = expected(program, size)
            equal &= want == got
            print(f"{program} on {size}: {'equal' if want == got else 'DIFFERS'}; computed {want}, counted {got}")
    return equal


def main():
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", nargs="*", type=int, metavar="SIZE")
    options = parser.parse_args()
    if options.measure is not None:
        sys.exit(not compare(options.measure or (2, 4, 8)))
    if options.check:
        sys.exit(tables() not in (ROOT / "docs" / "scale.md").read_text())
    print(tables())


if __name__ == "__main__":
    main()
