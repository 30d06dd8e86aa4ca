"""Decide the order of jobs."""
