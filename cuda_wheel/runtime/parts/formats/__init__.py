"""Read cubins, fatbins and PTX."""
