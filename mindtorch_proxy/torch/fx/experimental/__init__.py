"""torch.fx.experimental: what other libraries ask of it."""
