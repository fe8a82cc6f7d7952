"""Run differential cases under whatever `import torch` gives and write what they return.

    python run_cases.py OUT.pickle CASES.py...      (real torch)      python -m mindtorch_proxy run_cases.py ...      (ours)
A case is a function case_*(torch) that returns tensors, numbers, strings, or lists and dicts of them; an exception is a result too.
"""

import importlib.util
import pickle
import sys
import warnings

import numpy as np


def plain(torch, x):
    if isinstance(x, torch.Tensor):
        t = x.detach().resolve_conj().resolve_neg()
        values = t.to(torch.float32) if t.dtype is torch.bfloat16 else t
        return (
            "tensor",
            str(t.dtype),
            tuple(t.shape),
            tuple(t.stride()),
            bool(x.requires_grad),
            np.array(values.numpy(force=True)) if t.device.type != "meta" else None,
        )
    if isinstance(x, dict):
        return {k: plain(torch, v) for k, v in x.items()}
    if isinstance(x, torch.Size):
        return ("size", tuple(x))
    if isinstance(x, (list, tuple)):
        return [plain(torch, v) for v in x]
    if x is None or isinstance(x, (bool, int, float, complex, str)):
        return x
    return repr(x)


def main(out, *files):
    import torch

    results = {}
    for path in files:
        spec = importlib.util.spec_from_file_location("cases", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, f in list(vars(module).items()):
            if name.startswith("case_"):
                torch.manual_seed(0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        results[name] = plain(torch, f(torch))
                    except NameError:  # a case that is wrong would be equal on both sides
                        raise
                    except Exception as e:
                        results[name] = ("raises", next(c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins"), str(e).split("\n")[0][:300])
    with open(out, "wb") as f:
        pickle.dump(results, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
