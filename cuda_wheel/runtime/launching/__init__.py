"""Launch kernels. Imported at the first launch."""
