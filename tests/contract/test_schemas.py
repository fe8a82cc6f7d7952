"""Tests that each operator is declared with the arguments of PyTorch's operator of that name in runtime/aten.txt.

Names, order, keyword-only arguments and defaults are compared.
"""

import pytest

from mindtorch_proxy.backends import plan  # noqa: F401  (the decompositions)
from mindtorch_proxy.runtime import aten, ops  # noqa: F401
from mindtorch_proxy.runtime.call.overload import name_of
from mindtorch_proxy.runtime.registry import operators

# torch.signal.windows is written in Python in PyTorch, and operators in torch._C are for our own callers
NAMESPACES = ("torch", "Tensor", "linalg", "special", "fft", "nn.functional", "aten")
ABOVE = ("requires_grad", "out", "as_tuple")  # arguments that PyTorch's Python functions handle above its operators

# {operator: why its arguments differ from those of PyTorch's operator}
EXCEPTIONS = {
    "copy_": "Tensor.copy_ is bound by hand in PyTorch, and calls its source `other`",
    "linalg.matrix_rank": "joins overloads of which one takes `hermitian` by name alone, the other by position too",
    "linalg.pinv": "joins overloads of which one takes `hermitian` by name alone, the other by position too",
    "randint": "no dtype is that of out=, else int64",
    "randint.low": "no dtype is that of out=, else int64",
    "randperm": "no dtype is that of out=, else int64",
    "where": "joins where(condition), which has no second argument, with the functions of three arguments",
}


def compared():
    """Yield the operators that programs call under PyTorch's names, and that PyTorch has below autograd.

    Python functions of PyTorch are left out, since they have other arguments, and so are kernels of ours, which start
    with an underscore or have no public function.
    """
    for op in operators():
        private = op.name.startswith("_") and op.namespace != "aten" or not (op.is_function or op.is_method)
        if not (private or op.python) and op.namespace in NAMESPACES and overloads(op):
            yield op


def overloads(op):
    return [s for s in aten.schemas(name_of(op)[0]) if not s.outs]


def parameters(arguments, method):
    """Return (positional, keyword-only), both {name: argument}; for a method, self is first."""
    found = [a for a in arguments if a.name not in ABOVE]
    if method:
        found.sort(key=lambda a: a.name != "self")
    return {a.name: a for a in found if not a.kwarg_only}, {a.name: a for a in found if a.kwarg_only}


def differences(op):
    """Yield the differences of an operator from the PyTorch overloads that it covers.

    These have all arguments that it requires and none that it lacks. An argument that only some of them have needs a
    default, which PyTorch does not determine.
    """
    ours, ours_by_name = parameters(op.schema.arguments, op.namespace == "Tensor")
    theirs = [parameters(s.arguments, op.namespace == "Tensor") for s in overloads(op)]
    joined = [
        (positional, by_name)
        for positional, by_name in theirs
        if [n for n in ours if n in positional] == [*positional]
        and by_name.keys() <= ours_by_name.keys()
        and {n for n, a in (ours | ours_by_name).items() if a.required} <= (positional | by_name).keys()
    ]
    if not joined:
        yield f"({', '.join([*ours, '*', *ours_by_name])}) is none of {[str(s) for s in overloads(op)]}"
        return
    for name, a in {**ours, **ours_by_name}.items():
        found = [(positional, by_name)[a.kwarg_only].get(name) for positional, by_name in joined]
        if not any(found):
            yield f"PyTorch has no {name}"
        elif not any(f is None or a.required != f.has_default_value() for f in found):
            yield f"{name} is {'required' if a.required else 'optional'}"
        elif not a.required and (values := [f for f in found if f is not None and f.has_default_value()]):
            if not any(same_default(a, f) for f in values):
                yield f"{name}={a.default!r}, not {values[0].default_value!r}"


def same_default(ours, theirs):
    """Whether two defaults mean the same, although a schema and a Python function write them differently."""
    v, w = ours.default_value, theirs.default_value
    if ours.name == "pin_memory":  # False in the Python functions, None in the schemas
        return v is False and w is None or v is w
    if isinstance(w, list):  # one number for all dimensions; [] is None in the Python functions
        return v == w if isinstance(v, list) else [v] * len(w) == w if w else v is None
    if ours.base in ("Layout", "MemoryFormat"):
        return v == w or w in (0, None)
    return v == w and isinstance(v, bool) == isinstance(w, bool)


COMPARED = [*compared()]


@pytest.mark.parametrize("op", [pytest.param(op, id=op.full) for op in COMPARED if op.full not in EXCEPTIONS])
def test_arguments_are_pytorch_s(op):
    assert not [*differences(op)], op.schema.text


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_exceptions_differ(name):
    assert any([*differences(op)] for op in COMPARED if op.full == name), "this is gone: take it off the list"


def test_most_operators_are_compared():
    assert len(COMPARED) > 750
