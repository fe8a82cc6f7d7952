"""torch.nested: tensors of tensors of different sizes are not supported; ``to_padded_tensor`` and the makers say so."""

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def _unsupported(name):
    def f(*args, **kwargs):
        raise NotImplementedError(f"torch.nested.{name}: nested tensors are not supported, on any device or dtype")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: nested tensors are not supported."
    return f


globals().update({name: _unsupported(name) for name in __all__})
