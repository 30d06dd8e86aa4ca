"""Make a module's manifest from the results of its jobs; compute which GPUs and drivers the module can be loaded on."""
