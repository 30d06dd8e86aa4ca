"""Find the sources of a project, the modules that they become, and the headers that they include."""
