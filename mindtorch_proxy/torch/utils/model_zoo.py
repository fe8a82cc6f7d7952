"""torch.utils.model_zoo: older names for downloads with torch.hub."""

from ..hub import (
    _get_torch_home,  # noqa: F401
    tqdm,  # noqa: F401
)
from ..hub import download_url_to_file as _download_url_to_file
from ..hub import load_state_dict_from_url as load_url
