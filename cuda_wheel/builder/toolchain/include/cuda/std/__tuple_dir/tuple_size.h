// <cuda/std/__tuple_dir/tuple_size.h> is libcu++'s, without the part of std::tuple_size that is in cuda_wheel_detail/tuple_size.h.
#ifndef CUDA_WHEEL_CUDA_STD_TUPLE_SIZE
#define CUDA_WHEEL_CUDA_STD_TUPLE_SIZE

#include "../../../cuda_wheel_detail/tuple_size.h"
#include <cuda/std/detail/__config>
#include <cuda/std/__type_traits/is_const.h>
#include <cuda/std/__type_traits/is_volatile.h>

#ifdef _CCCL_FREESTANDING
#undef _CCCL_FREESTANDING
#define _CCCL_FREESTANDING() 0
#endif
#include_next <cuda/std/__tuple_dir/tuple_size.h>
#ifdef _CCCL_FREESTANDING
#undef _CCCL_FREESTANDING
#define _CCCL_FREESTANDING() 1
#endif

#endif
