"""Messages of errors, imported only when something fails."""
