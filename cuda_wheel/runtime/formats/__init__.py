"""Read the formats of device code: PTX, cubin (ELF), fatbin, and symbols."""
