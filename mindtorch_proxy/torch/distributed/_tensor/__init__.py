"""Older import path of torch.distributed.tensor."""

import sys

from .. import tensor
from ..tensor import *
from ..tensor import _api as api
from ..tensor import placement_types
from ..tensor import device_mesh
from ..device_mesh import DeviceMesh, init_device_mesh

for _name in ("placement_types", "device_mesh"):
    sys.modules[f"{__name__}.{_name}"] = getattr(tensor, _name)
sys.modules[f"{__name__}.api"] = api
__all__ = tensor.__all__
