"""torch.numa: binds processes to the CPUs near their GPU."""
