"""Numba kernels: choose the variant for a launch, and launch it without Numba."""
