"""Read `[tool.cuda-wheel]` into frozen settings, and resolve its architectures."""
