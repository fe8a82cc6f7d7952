"""torch.utils.deterministic: whether memory that was not initialised is filled when deterministic algorithms are asked for."""

import sys
import types


class _Deterministic(types.ModuleType):
    fill_uninitialized_memory = True


sys.modules[__name__].__class__ = _Deterministic
