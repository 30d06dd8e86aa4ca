"""Choose a variant of a module: one of the sets of macros that its sources were compiled with.

A module with variants has one manifest, which is an index: what all variants share stands once, and each variant has a
record with the rest. It has one `.fatbin`, in which the variants' fatbins follow each other, since they have kernels
of the same names. A record has the offset of its fatbin in the file, so that loading reads only the chosen image.

cuobjdump lists the images of all variants; their identifiers name the macros. The driver, and with it `cuda.core` and
CuPy, reads a file up to the end of its first fatbin: given the whole file, they load the first variant. They load
another one if they get `manifest.fatbin_size` bytes from `manifest.fatbin_offset` on.
"""
