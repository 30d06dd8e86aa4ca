"""Decide the order of jobs, and remember how long they take."""
