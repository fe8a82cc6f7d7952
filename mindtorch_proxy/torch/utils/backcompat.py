"""torch.utils.backcompat: switches for warnings about changes from old versions; they have no effect."""


class _Warning:
    enabled = False


broadcast_warning, keepdim_warning = _Warning(), _Warning()
