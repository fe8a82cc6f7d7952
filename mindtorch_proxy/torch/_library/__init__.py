"""torch._library: the implementation of operators that programs define in Python."""
