"""State of TorchScript: off, as with PYTORCH_JIT=0, and without compiled classes."""


class EnabledProxy:
    """Whether TorchScript is on."""
    enabled = False

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()


def _clear_class_state():
    """No classes were compiled."""
