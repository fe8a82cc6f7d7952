"""The public operators, by the names that OpInfos have."""

from mindtorch_proxy.runtime import ops  # noqa: F401  (fills the registry)
from mindtorch_proxy.runtime.registry import OPERATORS

METHODS = """T H mT mH __getitem__ __radd__ __rand__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rsub__ __rxor__
 atleast_1d atleast_2d atleast_3d bfloat16 bool byte cdouble cfloat char contiguous double expand expand_as float half
 int item long new_empty new_empty_strided new_full new_ones new_zeros repeat reshape_as scalar_tensor short
 sum_to_size to unfold view view_as""".split()
NAMES = sorted(
    {
        *METHODS,
        *(
            n if space == "torch" else f"{space}.{n}"
            for space, names in OPERATORS.items()
            if not space.startswith("_") and space != "Tensor"
            for n in names
            if not n.startswith("_")
        ),
    }
)
assert len(NAMES) > 700  # else the registry was empty
