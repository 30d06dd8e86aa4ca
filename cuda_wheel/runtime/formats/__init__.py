"""Read the formats of device code: PTX, cubin (ELF), fatbin, and symbols; and the structs in a manifest."""
