"""Compile a module when it is loaded from a source tree."""
