"""Translate the C++ host functions of a PyTorch extension into Python, for `cuda-wheel import`."""
