"""Read C++ and CUDA C++ as text."""
