"""Turn compilers' logs into diagnostics and hints."""
