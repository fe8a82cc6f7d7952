"""torch.utils.model_zoo: the older name of torch.hub's downloads."""

from ..hub import (
    _get_torch_home,  # noqa: F401
    tqdm,  # noqa: F401
)
from ..hub import download_url_to_file as _download_url_to_file
from ..hub import load_state_dict_from_url as load_url
