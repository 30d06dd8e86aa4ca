"""Choose a kernel and its launch configuration from a table in the package: `cuda_wheel.tuned`."""
