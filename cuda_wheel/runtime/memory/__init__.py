"""Memory of the GPU: arrays of launches, variables of modules, and tensor maps."""
