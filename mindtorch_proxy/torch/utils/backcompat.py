"""torch.utils.backcompat: warnings about rules of old versions, which are off."""


class _Warning:
    enabled = False


broadcast_warning, keepdim_warning = _Warning(), _Warning()
