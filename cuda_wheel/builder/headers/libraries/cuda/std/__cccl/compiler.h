// <cuda/std/__cccl/compiler.h>, read as NVRTC's: with GCC's macro, CCCL takes the compiler for GCC, and NVRTC lacks what it then uses.
#ifdef __GNUC__
#undef __GNUC__
#include_next <cuda/std/__cccl/compiler.h>
#define __GNUC__ 12
#else
#include_next <cuda/std/__cccl/compiler.h>
#endif
