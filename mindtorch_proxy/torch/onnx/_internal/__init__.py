"""The parts of torch.onnx that programs reach by PyTorch's private names."""
