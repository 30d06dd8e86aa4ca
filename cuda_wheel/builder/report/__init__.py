"""Report the progress and the times of a build."""
