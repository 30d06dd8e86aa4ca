"""Rewrite what nvcc with GCC reads and NVRTC refuses."""
