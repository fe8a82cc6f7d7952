"""The implementation of torch.utils.benchmark."""
