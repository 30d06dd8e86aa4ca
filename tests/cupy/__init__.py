"""Tests of `cuda_wheel.cupy`."""
