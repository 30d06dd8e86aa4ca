"""Turn the results of a module's jobs and links into its manifest."""
