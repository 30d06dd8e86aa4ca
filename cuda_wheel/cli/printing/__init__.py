"""Tables and reports that several commands print."""
