"""The typing names that TorchScript supports."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035

from .._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3  # noqa: F401
