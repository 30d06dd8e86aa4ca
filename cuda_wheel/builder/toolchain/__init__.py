"""Find and call the CUDA compilers.

NVRTC has no C library. `builder/headers/std` contains freestanding C and C++ headers, which declare those parts of it
that device code uses, by means of CCCL's `cuda::std` where that has them. Every compilation searches that folder before
the toolkit's folders.
"""
