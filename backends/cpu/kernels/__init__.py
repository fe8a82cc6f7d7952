"""The CPU table's entries by family; each file states what replaces a primitive and why."""

import importlib

from ..table import PYBOOST

FAMILIES = """memory indexing pointwise special reduction sorting matmul linalg fft shape random activation nn conv
 pooling resample grid norm loss recurrent quick""".split()

for _f in (*FAMILIES, *["slow"] * PYBOOST):
    importlib.import_module("." + _f, __name__)
