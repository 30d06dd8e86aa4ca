"""What PyTorch's and JAX's operators are declared with."""
