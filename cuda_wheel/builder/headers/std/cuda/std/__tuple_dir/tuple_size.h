// <cuda/std/__tuple_dir/tuple_size.h> is libcu++'s, without the part of std::tuple_size that is in cuda_wheel_detail/tuple_size.h.
#ifndef CUDA_WHEEL_CUDA_STD_TUPLE_SIZE
#define CUDA_WHEEL_CUDA_STD_TUPLE_SIZE

#include "../../../cuda_wheel_detail/tuple_size.h"
#include <cuda/std/detail/__config>
#if __has_include(<cuda/std/__cstddef/types.h>)
#include <cuda/std/__cstddef/types.h>
#endif
#include <cuda/std/__type_traits/enable_if.h>
#include <cuda/std/__type_traits/integral_constant.h>
#include <cuda/std/__type_traits/is_const.h>
#include <cuda/std/__type_traits/is_volatile.h>

// libcu++ of CUDA 13.5 declares std::tuple_size too, as a template of other parameters: its declaration goes elsewhere.
#ifdef _CCCL_FREESTANDING
#undef _CCCL_FREESTANDING
#define _CCCL_FREESTANDING() 0
#undef _CCCL_BEGIN_NAMESPACE_STD
#undef _CCCL_END_NAMESPACE_STD
#define _CCCL_BEGIN_NAMESPACE_STD namespace cuda_wheel_detail { namespace declared_by_libcudacxx { using ::cuda::std::size_t;
#define _CCCL_END_NAMESPACE_STD } }
#endif
#include_next <cuda/std/__tuple_dir/tuple_size.h>
#ifdef _CCCL_FREESTANDING
#undef _CCCL_FREESTANDING
#define _CCCL_FREESTANDING() 1
#undef _CCCL_BEGIN_NAMESPACE_STD
#undef _CCCL_END_NAMESPACE_STD
#define _CCCL_BEGIN_NAMESPACE_STD namespace std {
#define _CCCL_END_NAMESPACE_STD }
#endif

#endif
