"""torch.utils.deterministic: whether deterministic mode fills uninitialized memory."""

import sys
import types

from mindtorch_proxy.runtime.determinism import DETERMINISM


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether functions such as empty() fill their memory in deterministic mode."""
        return DETERMINISM.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        DETERMINISM.fill = mode


sys.modules[__name__].__class__ = _Module
