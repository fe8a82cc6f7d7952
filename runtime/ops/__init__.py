"""Every operator's declaration, by family.

Importing this package fills the registry; functions are made when first asked for.
"""

import importlib

from ..call import operators, public  # noqa: F401  (functions and the methods of Python's operators)

# listed, not discovered: the order is the order of overloads
FAMILIES = (
    "creation",
    "memory",
    "views",
    "indexing",
    "pointwise",
    "conjugate",
    "special",
    "reduction",
    "sorting",
    "matmul",
    "linalg",
    "fft",
    "shape",
    "random",
    "activation",
    "nn",
    "conv",
    "pooling",
    "resample",
    "norm",
    "loss",
    "recurrent",
    "fused",
    "misc",
    "quantization",
    "sparse",
    "quantized",
    "nested",
    "native",
    "aten",
)

for _f in FAMILIES:
    importlib.import_module("." + _f, __name__)
