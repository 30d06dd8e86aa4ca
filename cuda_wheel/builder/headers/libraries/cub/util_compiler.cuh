// <cub/util_compiler.cuh>, read as NVRTC's: with GCC's macro, CCCL takes the compiler for GCC, and NVRTC lacks what it then uses.
#ifdef __GNUC__
#undef __GNUC__
#include_next <cub/util_compiler.cuh>
#define __GNUC__ 12
#else
#include_next <cub/util_compiler.cuh>
#endif
