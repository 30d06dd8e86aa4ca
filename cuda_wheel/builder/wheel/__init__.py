"""Create the files that a build adds to a wheel."""
