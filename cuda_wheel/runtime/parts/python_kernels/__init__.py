"""Kernels written in Python, in whatever language: what those of Triton and others share."""
