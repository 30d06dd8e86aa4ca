"""Describe a built module in its manifest."""
