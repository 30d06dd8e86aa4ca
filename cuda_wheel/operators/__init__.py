"""Declarations of operators and the kernels that serve them: what PyTorch's and JAX's operators have in common."""
