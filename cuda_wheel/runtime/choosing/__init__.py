"""Choose a kernel and its launch configuration from a table in the package: `cuda_wheel.tuned`."""

__all__ = ["TABLE_SUFFIX"]

TABLE_SUFFIX = ".tuned.json"
"""The end of the name of a module's table, which begins with the module's."""
