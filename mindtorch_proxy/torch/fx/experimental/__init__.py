"""torch.fx.experimental: the parts that other libraries use."""
