"""Run a build's jobs on a Dask cluster. Nothing else in this package imports `distributed`."""
