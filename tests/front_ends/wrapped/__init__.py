"""Tests of `cuda_wheel.backend`, which wraps other build back ends."""
