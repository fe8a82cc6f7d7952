"""The process with the real torch: reads a JSON list of module, function, name and folder per line of standard input.

For each line it calls the function, pickles its result to a file in the folder, and prints the path.
"""

import importlib
import json
import os
import pickle
import sys
import traceback
import warnings


def main():
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        module, function, name, folder = json.loads(line)
        try:
            result = getattr(importlib.import_module(module), function)(name, folder)
        except Exception:
            result = traceback.format_exc()
        with open(path := os.path.join(folder, f"{function}.pickle"), "wb") as file:
            pickle.dump(result, file)
        print(path, file=out, flush=True)


if __name__ == "__main__":
    main()
