"""Kernels of Triton: choose the variant for a launch, and launch it without Triton."""
