"""torch._foreach_*: operators over lists of tensors, which call the plain operator once for each tensor."""

from mindtorch_proxy.runtime.registry import LINALG, T, method
from mindtorch_proxy.runtime.tensor import Tensor

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal
 round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero""".split()
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
    """Call fn with the i-th element of each list, for all i; a number or a single tensor is passed to every call."""
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


_SCALED = "addcmul", "addcdiv"
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _method(name, inplace):
    """Return the Tensor method for an operator; a missing in-place method is replaced by the plain one and copy_."""
    if name in _OF_NUMBERS:
        of_tensors, of_numbers = (method(n + "_" * (inplace and n != name)) for n in (name, _OF_NUMBERS[name]))

        def extremum(self, other):
            if not isinstance(other, Tensor):
                return of_numbers(self, other)
            return self.copy_(of_tensors(self, other)) if inplace else of_tensors(self, other)

        return extremum
    f = method(name + "_" * inplace) or getattr(Tensor, name + "_" * inplace, None)
    if f is None:
        plain = method(name)
        return lambda self, *args, **kwargs: self.copy_(plain(self, *args, **kwargs))
    return f


def _pointwise(name, inplace):
    """Return the function for addcmul or addcdiv; the scale is a number, a list of numbers or a tensor."""
    f = method(name + "_") if inplace else getattr(T, name)

    def run(input, tensor1, tensor2, value=1, scalars=None):
        values = scalars if scalars is not None else value
        values = values.tolist() if isinstance(values, Tensor) and values.dim() else values
        return _each(lambda a, b, c, v: f(a, b, c, value=v), (input, tensor1, tensor2, values), {})

    return run


def _foreach_clone(input, *, memory_format=None):
    return [t.clone() if memory_format is None else t.clone(memory_format=memory_format) for t in input]


def _foreach_max(input):
    return [t.max() for t in input]


def _foreach_mm(input, mat2):
    return _each(T.mm, (input, mat2), {})


def _foreach_norm(input, ord=2, dtype=None):
    return [LINALG.vector_norm(t, ord, dtype=dtype) for t in input]


def _foreach_powsum(input, ord=2, dtype=None):
    return [t.abs().pow(ord).sum(dtype=dtype) for t in input]


def _make(name):
    base, inplace = (name[:-1], True) if name.endswith("_") else (name, False)
    if base in _SCALED:
        run = _pointwise(base, inplace)
    elif "_foreach_" + name in globals():
        run = globals()["_foreach_" + name]
    elif base == "lerp":

        def run(input, tensors1, weight=None, weights=None, scalars=None):
            w = next(x for x in (weight, weights, scalars) if x is not None)
            return _each(lambda a, b, c: getattr(a, "lerp" + "_" * inplace)(b, c), (input, tensors1, w), {})
    elif name in ("zero", "copy"):  # only the in-place variants exist
        return None
    elif base in _UNARY or base in _BINARY:
        f = _method(_BINARY.get(base, base), inplace)

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


def __dir__():
    """Return the names after _foreach_ of all functions."""
    both = {*_UNARY, *_BINARY, *_SCALED, "lerp"}
    own = {name.removeprefix("_foreach_") for name in globals() if name.startswith("_foreach_")}
    return sorted(own | both - {"zero", "copy"} | {name + "_" for name in both})


def __getattr__(name):
    f = _make(name)
    if f is None:
        raise AttributeError(f"module 'torch' has no attribute '_foreach_{name}'")
    globals()[name] = f
    return f
