"""torch.nested._internal: the class for layout torch.jagged, which some programs import from here."""

from . import nested_int, nested_tensor  # noqa: F401
