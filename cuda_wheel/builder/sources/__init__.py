"""Find a project's sources, their headers and the modules that they become."""
