// <cuda/std/__cuda/cstdint_prelude.h> in place of libcu++'s, which defines the types of <cuda/std/cstdint> in CUDA 12; see that file.
#ifndef _LIBCUDACXX___CUDA_CSTDINT_PRELUDE_H
#define _LIBCUDACXX___CUDA_CSTDINT_PRELUDE_H

#include "../../../cstdint"

#endif
