"""torch._compile: the name under which torch's own code imports torch._dynamo.disable."""

from torch._dynamo import disable as _disable_dynamo  # noqa: F401
