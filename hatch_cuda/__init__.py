"""hatchling's side of cuda-wheel: the build hook `cuda`, and what hatchling puts into a wheel."""
