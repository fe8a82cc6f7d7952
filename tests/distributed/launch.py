"""The ranks of a program, in either torch: python launch.py FOLDER SIZE MODULE FUNCTION ....

Each function's result on each rank is pickled to FOLDER. The ranks are forks of one process, which imports torch for
all of them and computes nothing.
"""

import importlib
import os
import pickle
import sys
import traceback
import warnings
from datetime import timedelta


def plain(x):
    """Return a result as plain data, which can be recorded: dtypes by name; sizes still differ from tuples."""
    if type(x).__module__.partition(".")[0] == "torch":
        return ("torch.Size", *x) if isinstance(x, tuple) else repr(x)
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    return {plain(k): plain(v) for k, v in x.items()} if type(x) is dict else x


def run(programs, folder, rank, size, functions):
    """Run functions of a module as one rank."""
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=size, timeout=timedelta(seconds=60)
    )
    for function in functions:
        try:
            result = getattr(programs, function)(rank, size)
        except Exception:
            result = traceback.format_exc()
        with open(os.path.join(folder, f"{function}.{rank}"), "wb") as file:
            pickle.dump(plain(result), file)
    dist.barrier()
    dist.destroy_process_group()


def main(folder, size, module, *functions):
    """Fork the ranks and return the largest of their exit statuses."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    programs = importlib.import_module(module)  # this imports torch
    ranks = []
    for rank in range(int(size)):
        if (child := os.fork()) == 0:
            return run(programs, folder, rank, int(size), functions)
        ranks.append(child)
    return max(abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) for child in ranks)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
