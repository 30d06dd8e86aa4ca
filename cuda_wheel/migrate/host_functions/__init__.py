"""Translate the C++ host functions of PyTorch extensions into Python."""
