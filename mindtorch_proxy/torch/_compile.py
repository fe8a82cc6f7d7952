"""Keeping functions out of the graphs that torch.compile makes: what code of torch's own calls it by."""

from torch._dynamo import disable as _disable_dynamo  # noqa: F401
