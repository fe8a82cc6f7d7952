"""torch.nested._internal: the class of layout torch.jagged, which programs ask for by this name."""

from . import nested_int, nested_tensor  # noqa: F401
