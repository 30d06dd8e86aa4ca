"""Link device code on the user's machine. Imported at the first link."""
