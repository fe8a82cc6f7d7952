"""torch.autograd.forward_ad: forward-mode differentiation is not supported."""


def _unsupported(*args, **kwargs):
    raise NotImplementedError(
        "forward-mode automatic differentiation is not supported (any op, any dtype, any device); use torch.autograd.functional.jvp, "
        "which differentiates backward twice"
    )


make_dual = unpack_dual = enter_dual_level = exit_dual_level = _unsupported


class dual_level:
    def __enter__(self):
        _unsupported()

    def __exit__(self, *exc):
        pass


__all__ = ["dual_level", "make_dual", "unpack_dual", "enter_dual_level", "exit_dual_level"]
