"""The typing names that TorchScript knows."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035
