"""Small programs (programs.py) here and in the real torch by turns, as ratios.

python -m mindtorch_proxy benchmarks/small.py --oracle PYTHON_WITH_TORCH [--only NAME,NAME] [--core 0]
"""

import argparse
import math
import re
import sys

from turns import Child, alone, by_turns, least_time, serve


def worker(core):
    alone(core)
    import torch
    from programs import PROGRAMS

    torch.set_num_threads(1)
    steps = {}

    def answer(name, seconds):
        if name not in steps:
            torch.manual_seed(0)
            steps.clear()
            steps[name] = PROGRAMS[name]()
            for _ in range(3):
                steps[name]()
        return least_time(steps[name], float(seconds))

    return answer


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--oracle")
    ap.add_argument("--only", default="")
    ap.add_argument("--core", type=int, default=0)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=0.3)
    ap.add_argument("--worker", action="store_true")
    opt = ap.parse_args()
    if opt.worker:
        return serve(worker(opt.core))
    time_here, other = worker(opt.core), Child([opt.oracle, __file__, "--worker", f"--core={opt.core}"])
    from programs import PROGRAMS

    ratios = []
    print("   ratio    ours ms   torch ms  program")
    for name in PROGRAMS:
        if opt.only and not any(re.fullmatch(p, name) for p in opt.only.split(",")):
            continue
        a, b = by_turns(lambda: time_here(name, opt.seconds), lambda: other.ask(name, opt.seconds), opt.rounds)
        ratios.append(a / b)
        print(f"{a / b:8.2f}  {a * 1e3:9.3f}  {b * 1e3:9.3f}  {name}", flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, greatest {max(ratios):.2f}")


if __name__ == "__main__":
    sys.exit(main())
