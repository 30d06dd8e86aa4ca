"""Compile one job, in a worker process."""
