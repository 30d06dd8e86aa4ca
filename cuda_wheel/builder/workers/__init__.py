"""Run calls in worker processes."""
