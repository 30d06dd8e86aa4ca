"""The plugin for hatchling: the build hook `cuda`, and the files that hatchling puts into a wheel."""
