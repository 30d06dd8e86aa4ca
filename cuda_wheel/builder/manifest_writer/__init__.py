"""Turn the results of jobs into a manifest; say which GPUs and drivers a module covers."""
