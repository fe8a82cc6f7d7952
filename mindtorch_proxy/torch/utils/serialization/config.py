"""torch.utils.serialization.config: the settings of torch.save and torch.load."""

from mindtorch_proxy.runtime.serialization import load_config as load, save_config as save  # noqa: F401
