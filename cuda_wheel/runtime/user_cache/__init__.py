"""Keep compilation results in the user's cache folder. Imported by the first use of the cache."""
