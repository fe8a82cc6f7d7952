"""The runtime under `torch`: tensors, operators and autograd over MindSpore's primitives."""
