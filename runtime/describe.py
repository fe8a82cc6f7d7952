"""Docstrings of operators: a sentence from descriptions.tsv, and what follows from the declaration."""

import re
from functools import cache
from pathlib import Path
from types import FunctionType

PAGES = "https://docs.pytorch.org/docs/stable/generated/torch."
PROMOTIONS = {
    "INT_TO_FLOAT": "Elementwise: shapes are broadcast; integers are computed as the default floating-point dtype.",
    "ALWAYS_BOOL": "Elementwise: shapes are broadcast; the result is of dtype bool.",
    "COMPLEX_TO_FLOAT": "Elementwise; complex numbers give real ones.",
    "BOOL_TO_LONG": "Elementwise; booleans are taken as int64.",
}
ELEMENTWISE = "Elementwise: shapes are broadcast and dtypes promoted."
VIEW = "The result is a view: it shares its memory with the input."


@cache
def sentences():
    """Return {name: sentence}.

    A name without a namespace applies to every namespace; N in a name is any number of dimensions.
    """
    text = Path(__file__).with_name("descriptions.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines())


def sentence(ns, name):
    """Return the sentence that describes a function, or None."""
    known, plain = sentences(), re.sub(r"[123](?=d|deg)", "N", name)
    for key in (f"{ns}.{name}", name, plain):
        if key in known:
            return known[key]
    if name.endswith("_") and (found := sentence(ns, name[:-1])):
        return f"In place: {found[0].lower()}{found[1:]}"
    if name.endswith("_copy") and (found := sentence(ns, name[:-5])):
        return f"{found} In memory of its own, never as a view."
    return None


def facts(ops):
    """Return a sentence about shapes and dtypes that follows from the declarations, or ""."""
    if any(op.geometry is not None for op in ops):
        return VIEW
    promote = next((op.promote for op in ops if op.promote is not None), None)
    return "" if promote is None else PROMOTIONS.get(getattr(promote, "name", ""), ELEMENTWISE)


def describe(ns, name, f):
    """Set a function's docstring and return the function.

    The sentence comes first, then the schemas that the docstring already holds.
    """
    if not isinstance(f, FunctionType):
        return f
    ops = [
        op
        for part in getattr(f, "overloads", {"": f}).values()
        if (op := part.__globals__.get("op")) is not None and hasattr(op, "geometry")
    ]
    original = ops[0].name if ops else name
    found = sentence(ns, name) or sentence(ops[0].namespace if ops else ns, original)
    if not found and ops and ops[0].fn is not None and ops[0].fn.__doc__:  # a function with its own docstring
        found = ops[0].fn.__doc__.strip()
        f.__doc__ = (f.__doc__ or "").replace(found, "").strip()
    if found and original not in (name, name[:-1]):
        found = f"The same as ``{original}``. {found}"
    page = f"{PAGES}{'' if ns == 'torch' else ns + '.'}{name}.html" if ops and name[0] != "_" else ""
    f.__doc__ = "\n\n".join(filter(None, (found, (f.__doc__ or "").strip(), facts(ops) if ops else "", page))) or None
    return f
