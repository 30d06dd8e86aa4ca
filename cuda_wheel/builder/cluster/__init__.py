"""Run a build's jobs on a Dask cluster."""
