"""torch.jit._builtins: which public functions are operators, and the operators' names."""

import torch
from mindtorch_proxy.runtime import aten
from mindtorch_proxy.runtime.cpython import plain_name as _plain_name

# the modules of PyTorch's functions, and the prefix of the operators' names
_HOMES = (
    ("torch", ""),
    ("torch._C._nn", ""),
    ("torch.linalg", "linalg_"),
    ("torch.fft", "fft_"),
    ("torch.special", "special_"),
    ("torch._C._sparse", ""),
)
# functions in PyTorch's Python files that are operators nevertheless
_OPERATORS = frozenset(
    """atleast_1d atleast_2d atleast_3d broadcast_tensors cartesian_prod block_diag chain_matmul einsum istft meshgrid
    split unravel_index avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear logsigmoid one_hot
    scaled_dot_product_attention softplus softshrink""".split()
)
_RENAMED = {
    "logsigmoid": "log_sigmoid",
    "_segment_reduce": "segment_reduce",
}  # functions whose name differs from the operator's


def _find_builtin(fn):
    """Return the operator name, such as "aten::add", of a public function.

    Return None if it is not an operator, which includes functions that PyTorch implements in Python.
    """
    name = _plain_name(fn).rpartition(".")[2]
    if not name:
        return None
    in_python = getattr(torch.nn.functional, name, None) is fn and getattr(torch, name, None) is not fn
    in_python |= name in torch.functional.__all__ and getattr(torch.functional, name) is fn
    if in_python and name not in _OPERATORS:
        return None
    for home, prefix in _HOMES:
        full = _RENAMED.get(name) or (name if name.startswith(prefix) else prefix + name)
        if aten.schemas(full) and getattr(_module(home), name, None) is fn:
            return f"aten::{full}"
    return None


def _module(path):
    found = torch
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found
