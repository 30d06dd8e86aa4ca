"""Link modules on the user's machine, and load code that has no manifest."""
