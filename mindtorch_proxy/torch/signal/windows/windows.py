"""The window functions of torch.signal.windows, under a second module name."""

from ..._namespace import serve

serve(globals(), "signal.windows")
