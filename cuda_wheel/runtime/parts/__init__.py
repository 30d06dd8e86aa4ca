"""Parts of the loader that not every wheel needs: a vendored loader has those that its modules use."""
