"""Turn compilers' logs into diagnostics, with hints on how to mend the errors."""
