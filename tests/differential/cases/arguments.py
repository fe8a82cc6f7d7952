"""Calls whose arguments fit no method or function of torch: the class of the error is PyTorch's for every one."""

import warnings

# what one side alone has: named tensors are PyTorch's past, npu() is an extension's, and the rest nobody calls
ONE_SIDE = "const_data_ptr has_names index npu reinforce slice_inverse to_mkldnn".split()
# more dimensions than a kernel of MindSpore's repeats; a stream that is none
KNOWN = {("repeat", "f(x, *[1] * 14)"), ("tile", "f(x, *[1] * 14)"), ("record_stream", "f(x, object())")}
CALLS = {
    "f(x, zzz=1)": lambda f, x: f(x, zzz=1),
    "f(x, *[1] * 14)": lambda f, x: f(x, *[1] * 14),
    "f(x, object())": lambda f, x: f(x, object()),
    "f(x, 'no', [1])": lambda f, x: f(x, "no", [1]),
    "f(x)": lambda f, x: f(x),
    "f()": lambda f, x: f(),
}


def _outcome(call, f, x):
    try:
        call(f, x)
    except Exception as e:
        return type(e).__name__
    return "returns"


def _outcomes(torch, functions):
    found = []
    for name, f in functions:
        for text, call in CALLS.items():
            if (name, text) in KNOWN:
                continue
            torch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append([name, text, _outcome(call, f, torch.ones(2, 3))])
    return found


def _methods(torch):
    return [
        (name, getattr(torch.Tensor, name))
        for name in sorted(dir(torch.Tensor))
        if name[0] != "_" and name not in ONE_SIDE and callable(getattr(torch.Tensor, name))
    ]


def case_methods(torch):
    return _outcomes(torch, _methods(torch))


def case_functions(torch):
    """The functions of torch that methods are called like."""
    functions = [(name, getattr(torch, name, None)) for name, _ in _methods(torch)]
    return _outcomes(torch, [(name, f) for name, f in functions if callable(f) and not isinstance(f, type)])
