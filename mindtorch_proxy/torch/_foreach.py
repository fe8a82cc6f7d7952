"""torch._foreach_*: an operator over lists of tensors, one call for each tensor."""

from mindtorch_proxy.runtime.registry import LINALG, T, method
from mindtorch_proxy.runtime.tensor import Tensor

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan
 tanh trunc zero""".split()
_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "pow": "pow",
    "maximum": "maximum",
    "minimum": "minimum",
    "clamp_max": "clamp_max",
    "clamp_min": "clamp_min",
    "copy": "copy",
}


def _each(fn, lists, kwargs):
    """fn over the rows of the lists; numbers and single tensors go to every row."""
    first = lists[0]
    rows = []
    for x in lists:
        if isinstance(x, (list, tuple)):
            if len(x) != len(first):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(x)}")
            rows.append(x)
        else:
            rows.append([x] * len(first))
    return [fn(*row, **kwargs) for row in zip(*rows)]


def _pointwise(name, inplace):
    """addcmul and addcdiv: the scale is one number, a list of them, or a tensor of them."""
    f = method(name + "_") if inplace else getattr(T, name)

    def run(input, tensor1, tensor2, value=1, scalars=None):
        values = scalars if scalars is not None else value
        values = values.tolist() if isinstance(values, Tensor) and values.dim() else values
        return _each(lambda a, b, c, v: f(a, b, c, value=v), (input, tensor1, tensor2, values), {})

    return run


def _make(name):
    base, inplace = (name[:-1], True) if name.endswith("_") else (name, False)
    if base in ("addcmul", "addcdiv"):
        run = _pointwise(base, inplace)
    elif base == "norm":

        def run(input, ord=2, dtype=None):
            return tuple(LINALG.vector_norm(t, ord, dtype=dtype) for t in input)
    elif base == "max":

        def run(input):
            return tuple(t.max() for t in input)
    elif base == "lerp":

        def run(input, tensors1, weight=None, weights=None, scalars=None):
            w = next(x for x in (weight, weights, scalars) if x is not None)
            return _each(lambda a, b, c: getattr(a, "lerp" + "_" * inplace)(b, c), (input, tensors1, w), {})
    elif base in _UNARY or base in _BINARY:
        f = method((_BINARY.get(base, base)) + "_" * (inplace or base in ("zero", "copy")))

        def run(input, *others, **kwargs):
            rest = [kwargs.pop(k) for k in ("other", "scalar", "scalars", "exponent", "src") if k in kwargs]
            kwargs.pop("non_blocking", None)
            if base == "pow" and not isinstance(input, (list, tuple)):
                return tuple(T.pow(input, e) for e in others[0])
            return _each(f, (input, *others[:1], *rest), kwargs)
    else:
        return None

    def public(*args, **kwargs):
        r = run(*args, **kwargs)
        return None if inplace else tuple(r)

    public.__name__ = public.__qualname__ = "_foreach_" + name
    public.__module__ = "torch"
    return public


def __getattr__(name):
    f = _make(name)
    if f is None:
        raise AttributeError(f"module 'torch' has no attribute '_foreach_{name}'")
    globals()[name] = f
    return f
