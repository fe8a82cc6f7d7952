"""torch.numa: processes that run near their GPU."""
