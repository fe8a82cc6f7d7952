"""What came before distributed tensors: names to test for."""
