"""Run the cases of one file under whatever `import torch` gives, and write what they return.

    python run_cases.py OUT.pickle CASES.py      (real torch)      python -m mindtorch_proxy run_cases.py ...
    (ours)
A case is a function case_*(torch) that returns tensors, numbers, strings, or lists and dictionaries of them. An
exception is a result too.
"""

import os
import pickle
import sys
import warnings

import numpy as np


def _parts(torch, x):
    """The strided tensors of a sparse tensor."""
    x = x.detach()
    if x.layout is torch.sparse_coo:
        return x._indices(), x._values()
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return x.crow_indices(), x.col_indices(), x.values()
    return x.ccol_indices(), x.row_indices(), x.values()


def plain(torch, x):
    """A result as plain data, for pickle."""
    if isinstance(x, torch.Tensor) and x.layout is not torch.strided:
        return [
            str(x.layout),
            tuple(x.shape),
            bool(x.requires_grad),
            *(plain(torch, part.clone(memory_format=torch.contiguous_format)) for part in _parts(torch, x)),
        ]
    if isinstance(x, torch.Tensor):
        t = x.detach().resolve_conj().resolve_neg()
        values = t.to(torch.float32) if t.dtype is torch.bfloat16 else t
        return (
            "tensor",
            str(t.dtype),
            tuple(t.shape),
            tuple(t.stride()),
            bool(x.requires_grad),
            np.array(values.numpy(force=True)) if t.device.type != "meta" and t.numel() else None,
        )
    if isinstance(x, dict):
        return {k: plain(torch, v) for k, v in x.items()}
    if isinstance(x, torch.Size):
        return ("size", tuple(x))
    if isinstance(x, (list, tuple)):
        return [plain(torch, v) for v in x]
    return x if x is None or type(x) in (bool, int, float, complex, str) else repr(x)


def error(e):
    """An exception as plain data: its class by name, and the first line of its message."""
    return ("raises", type(e).__name__, str(e).split("\n")[0][:300])


def run(path):
    """{name of a case: result} of a file."""
    import torch
    from naming import cases_of, load

    results = {}
    for name, f in cases_of(load(path)).items():
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results[name] = plain(torch, f(torch))
            except Exception as e:
                results[name] = error(e)
    return results


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    out, cases = sys.argv[1:]
    found = run(cases)
    with open(out, "wb") as file:
        pickle.dump(found, file)
