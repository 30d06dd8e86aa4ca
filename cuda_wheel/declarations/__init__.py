"""What an operator for a framework is declared with, checked against its kernel: PyTorch's and JAX's share it."""
