"""All comparisons with the real torch in one table: small programs, and operators at a million elements, in both
choices of kernels.

    python benchmarks --oracle PYTHON_WITH_TORCH [--sections programs,more,operators] [--only NAME,NAME] [--core 0]
    [--json FILE] [--markdown FILE]
                      [--compare FILE] [--busy]
Three processes on one core take turns: the real torch, and ours with MINDTORCH_KERNELS=balanced and =fastest. The
least time of the rounds counts, of the clock or of the processor, whichever is less. --compare puts the ratios of an
earlier --json beside these. --busy: programs as they run by default, on all cores with their own threads, while another
process keeps each core busy; the mean by the clock counts. PYTHON may run anything that has torch; this command itself
is run by the Python that has mindtorch_proxy.
"""

import argparse
import json
import math
import os
import re
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median

from large_sizes import CASES, Bench
from turns import Child, alone, busy_cores, least_time, mean_time, serve

SIDES = "balanced", "fastest"
FILES = {"programs": "programs.py", "more": "more_programs.py"}
WAIT = 0.16  # MindSpore's pool spins that long after a kernel, on the core of the other sides
GRADIENTS = re.compile(r"\b[RP]\(")  # a case of large_sizes has inputs that need them


def worker(core, busy):
    """Answers `section, name, seconds` with the least seconds of a call, the mean ones where other work is on the
    cores.
    """
    if not busy:
        alone(core)
    import more_programs  # noqa: F401  (enters its own)
    import torch
    from programs import PROGRAMS

    if not busy:
        torch.set_num_threads(1)
    bench, steps = Bench(), {}

    def program(name, seconds):
        if name not in steps:
            torch.manual_seed(0)
            steps.clear()
            steps[name] = PROGRAMS[name]()
            for _ in range(3):
                steps[name]()
        return (mean_time if busy else least_time)(steps[name], seconds)

    def answer(section, name, seconds):
        if section in FILES:
            return program(name, float(seconds))
        return bench.time(name.removesuffix(" +backward"), name.endswith(" +backward"), float(seconds))

    return answer


def names(section):
    if section in FILES:
        return re.findall(
            r'^@?program\("([^"]+)"\)', Path(__file__).with_name(FILES[section]).read_text(), re.MULTILINE
        )
    return [n + b for n, (inputs, _) in CASES.items() for b in ("", " +backward")[: 1 + bool(GRADIENTS.search(inputs))]]


def measured(children, section, name, rounds, seconds):
    """{side: least milliseconds}; the sides take turns."""
    best = dict.fromkeys(children, float("inf"))
    for _ in range(rounds):
        for side, child in children.items():
            best[side] = min(best[side], child.ask(section, name, seconds) * 1e3)
            time.sleep(WAIT)
    return best


def summary(section, rows, before):
    """Lines of a Markdown table, the worst first, and what they come to."""
    earlier = {r["name"]: r for r in before}
    columns = [
        "case",
        "torch ms",
        *(f"{s} ms" for s in SIDES),
        *(f"{s} ratio" for s in SIDES),
        *(f"{s} before" for s in SIDES if before),
    ]
    lines = [f"### {section}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for r in sorted(rows, key=lambda r: -ratio(r, SIDES[0])):
        cells = [r["name"], *(f"{r[s]:.3f}" for s in ("torch", *SIDES)), *(f"{ratio(r, s):.2f}" for s in SIDES)]
        if before:
            cells += [f"{ratio(earlier[r['name']], s):.2f}" if r["name"] in earlier else "" for s in SIDES]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for s in SIDES:
        ratios = [ratio(r, s) for r in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(
            f"{s}: geometric mean {mean:.2f}, median {median(ratios):.2f}, greatest {max(ratios):.2f}, "
            f"{sum(r > 3 for r in ratios)} of {len(ratios)} above 3"
        )
    return lines


def ratio(row, side):
    return row[side] / row["torch"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--oracle")
    ap.add_argument("--sections", default="programs,more,operators")
    ap.add_argument("--only", default="")
    ap.add_argument("--core", type=int, default=0)
    ap.add_argument("--rounds", type=int, default=4)
    ap.add_argument("--seconds", type=float, default=0.15)
    ap.add_argument("--json")
    ap.add_argument("--markdown")
    ap.add_argument("--compare")
    ap.add_argument("--busy", action="store_true")
    ap.add_argument("--worker", action="store_true")
    opt = ap.parse_args()
    if opt.worker:
        return serve(worker(opt.core, opt.busy))
    with busy_cores() if opt.busy else nullcontext():
        compare(opt)
    return None


def compare(opt):
    work = [__file__, "--worker", f"--core={opt.core}", *["--busy"] * opt.busy]
    children = {"torch": Child([opt.oracle, *work])}
    children |= {
        s: Child(["env", f"MINDTORCH_KERNELS={s}", sys.executable, "-m", "mindtorch_proxy", *work]) for s in SIDES
    }
    before = json.loads(Path(opt.compare).read_text())["sections"] if opt.compare else {}
    found, text = {}, []
    for section in opt.sections.split(","):
        rows = found[section] = []
        for name in names(section):
            if opt.only and not any(re.fullmatch(p, name) for p in opt.only.split(",")):
                continue
            try:
                row = {"name": name, **measured(children, section, name, opt.rounds, opt.seconds)}
            except RuntimeError as e:
                print(f"{name}: {e}", file=sys.stderr)
                continue
            rows.append(row)
            print(name, *(f"{ratio(row, s):.2f}" for s in SIDES), file=sys.stderr, flush=True)
        if rows:
            text += [*summary(section, rows, before.get(section, [])), ""]
    print("\n".join(text))
    if opt.markdown:
        Path(opt.markdown).write_text("\n".join(text))
    if opt.json:
        Path(opt.json).write_text(json.dumps({"load": os.getloadavg(), "core": opt.core, "sections": found}, indent=1))
    for child in children.values():
        child.close()


if __name__ == "__main__":
    sys.exit(main())
