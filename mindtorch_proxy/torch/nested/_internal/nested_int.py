"""torch.nested._internal.nested_int: the node of the symbolic sizes of jagged dimensions."""

from mindtorch_proxy.runtime.symbolic import NestedIntNode

__all__ = ["NestedIntNode"]
