"""Adopt cuda-wheel in a project: what `cuda-wheel init` and `cuda-wheel import` propose, and write."""
