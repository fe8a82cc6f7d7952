"""One rank of a program, in either torch: python launch.py FOLDER RANK SIZE MODULE FUNCTION ....

Each function's result is pickled to FOLDER.
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


def main(folder, rank, size, module, *functions):
    import torch.distributed as dist

    warnings.simplefilter("ignore")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    programs = importlib.import_module(module)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=int(rank),
        world_size=int(size),
        timeout=timedelta(seconds=60),
    )
    for function in functions:
        try:
            result = getattr(programs, function)(int(rank), int(size))
        except Exception:
            result = traceback.format_exc()
        with open(os.path.join(folder, f"{function}.{rank}"), "wb") as file:
            pickle.dump(plain(result), file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
