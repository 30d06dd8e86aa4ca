"""Read [tool.cuda-wheel]."""
