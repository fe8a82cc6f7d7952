"""Names of symbols: the prefix of a name tells the kind of the symbol.

Source: ``torch/utils/_sympy/symbol.py`` of PyTorch 2.13.
"""

import enum

import sympy

# A kind is tested with str.startswith, so idx0 is also of the kind INDEX, whose prefix is i.
_PREFIXES = {
    "SIZE": "s",
    "FLOAT": "zf",
    "UNBACKED_INT": "u",
    "UNBACKED_FLOAT": "zuf",
    "TMP": "tmp",
    "INDIRECT": "indirect",
    "PRECOMPUTED_SIZE": "ps",
    "INDEX": "i",
    "R0_INDEX": "r0_",
    "R1_INDEX": "r1_",
    "TEMPLATE_INDEX": "idx",
    "XBLOCK": "x",
    "YBLOCK": "y",
    "ZBLOCK": "z",
    "VIEW": "view",
    "HALIDE": "h",
}
SymT = enum.Enum("SymT", list(_PREFIXES), module=__name__)
prefix_str = {SymT[name]: prefix for name, prefix in _PREFIXES.items()}


def make_symbol(prefix, idx, **kwargs):
    """Return the symbol with a kind and a number, such as ``s0`` for ``make_symbol(SymT.SIZE, 0)``.

    `kwargs` are SymPy's assumptions.
    """
    return sympy.Symbol(f"{prefix_str[prefix]}{idx}", **kwargs)


def symbol_is_type(sym, prefix) -> bool:
    """Whether a symbol has a kind, or one of several kinds. The case of letters is ignored."""
    if not isinstance(sym, sympy.Symbol):
        raise AssertionError("expected sympy.Symbol")
    kinds = (prefix,) if isinstance(prefix, SymT) else prefix
    return sym.name.lower().startswith(tuple(prefix_str[kind] for kind in kinds))


def free_symbol_is_type(e, prefix) -> bool:
    """Whether any symbol of an expression has a kind."""
    return any(symbol_is_type(symbol, prefix) for symbol in e.free_symbols)
