"""torch._library: operators written in Python."""
