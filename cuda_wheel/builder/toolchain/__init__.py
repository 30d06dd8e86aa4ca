"""Find and call the CUDA compilers.

`include/` contains freestanding C and C++ headers. NVRTC has no C library; these headers declare those parts of it that
device code uses, with CCCL's `cuda::std` behind them where it has them. Every compilation searches this folder before
the toolkit's folders.
"""
