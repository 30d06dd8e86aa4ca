"""The `cuda-wheel` command: one file for each of its commands."""
