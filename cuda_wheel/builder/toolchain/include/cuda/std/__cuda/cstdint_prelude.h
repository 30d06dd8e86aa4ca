// <cuda/std/__cuda/cstdint_prelude.h> is libcu++'s. CUDA 12 defines the macros of <cuda/std/cstdint> here; see that file.
#ifndef CUDA_WHEEL_CUDA_STD___CUDA_CSTDINT_PRELUDE_H
#define CUDA_WHEEL_CUDA_STD___CUDA_CSTDINT_PRELUDE_H

#ifdef CUDA_WHEEL_STDINT_H
#define CUDA_WHEEL_FORGET
#include "cuda_wheel_detail/stdint_macros.h"
#undef CUDA_WHEEL_FORGET
#endif
#include_next <cuda/std/__cuda/cstdint_prelude.h>
#ifdef CUDA_WHEEL_STDINT_H
#include "cuda_wheel_detail/stdint_macros.h"
#endif

#endif
