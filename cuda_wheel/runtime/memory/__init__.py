"""Memory of the GPU: variables of modules, and tensor maps of arrays. Imported when one is used."""
