"""Report the progress and the duration of a build."""
