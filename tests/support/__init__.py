"""Fixtures, projects, stand-ins and readers that several test files use."""
