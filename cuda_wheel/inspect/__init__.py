"""Examine wheels and machines: contents, coverage, sizes, verification."""
