"""Find and call the CUDA compilers."""
