"""Read what images say of themselves: ELF, PTX, fatbin, symbols."""
