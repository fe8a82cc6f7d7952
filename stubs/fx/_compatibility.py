"""torch.fx._compatibility."""


def compatibility(is_backward_compatible):
    """Mark a function's promise of stability."""
    def mark(fn):
        fn._backward_compatible = is_backward_compatible
        return fn
    return mark
