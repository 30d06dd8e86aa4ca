// <cuda_fp4.h> without GCC's macro, with which it has pragmas that NVRTC warns about. See <cuda/std/__cccl/compiler.h>.
#ifdef __GNUC__
#undef __GNUC__
#include_next <cuda_fp4.h>
#define __GNUC__ 12
#else
#include_next <cuda_fp4.h>
#endif
