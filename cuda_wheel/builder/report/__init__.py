"""Report the progress of a build."""
