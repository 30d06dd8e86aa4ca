// PyTorch's macros for annotations, launch bounds and assertions, as nvcc sees them when it compiles device code.
#ifndef CUDA_WHEEL_PYTORCH_MACROS_H
#define CUDA_WHEEL_PYTORCH_MACROS_H

#include <cassert>
#include <cstdint>
#include <torch/headeronly/macros/Export.h>
#include <torch/headeronly/macros/cmake_macros.h>

#define __ubsan_ignore_float_divide_by_zero__
#define __ubsan_ignore_undefined__
#define __ubsan_ignore_signed_int_overflow__
#define __ubsan_ignore_pointer_overflow__
#define __ubsan_ignore_function__
#define __ubsan_ignore_float_cast_overflow__
#define C10_ASAN_ENABLED 0
#define C10_UBSAN_ENABLED 0

#define C10_MACRO_EXPAND(args) args
#define C10_CONCATENATE_IMPL(left, right) left##right
#define C10_CONCATENATE(left, right) C10_CONCATENATE_IMPL(left, right)
#define C10_STRINGIZE_IMPL(text) #text
#define C10_STRINGIZE(text) C10_STRINGIZE_IMPL(text)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(prefix) C10_CONCATENATE(prefix, __COUNTER__)
#define C10_DISABLE_COPY_AND_ASSIGN(name) \
  name(const name&) = delete;             \
  name& operator=(const name&) = delete

#define C10_HAS_CPP_ATTRIBUTE(name) __has_cpp_attribute(name)
#define C10_NODISCARD [[nodiscard]]
#define C10_LIFETIMEBOUND
#define C10_UNUSED [[maybe_unused]]
#define C10_USED __attribute__((__used__))
#define C10_RESTRICT __restrict
#define C10_NOINLINE __attribute__((noinline))
#define C10_ALWAYS_INLINE __attribute__((__always_inline__)) inline
#define C10_ALWAYS_INLINE_ATTRIBUTE __attribute__((__always_inline__))
#define C10_ALWAYS_INLINE_UNLESS_MOBILE C10_ALWAYS_INLINE
#define C10_ATTR_VISIBILITY_HIDDEN
#define C10_ERASE C10_ALWAYS_INLINE
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_RETURN_MOVE_IF_OLD_COMPILER 0
#define CONSTEXPR_EXCEPT_WIN_CUDA constexpr
#define C10_HOST_CONSTEXPR_EXCEPT_WIN_CUDA constexpr
#define C10_HOST_CONSTEXPR constexpr
#define STATIC_CONSTEXPR_STR_INL_EXCEPT_WIN_CUDA(field, value) static constexpr const char field[] = value;
#define STATIC_CONST_STR_OUT_OF_LINE_FOR_WIN_CUDA(owner, field, value)
#define HAS_DEMANGLE 1

#define C10_CLANG_DIAGNOSTIC_PUSH()
#define C10_CLANG_DIAGNOSTIC_POP()
#define C10_CLANG_DIAGNOSTIC_IGNORE(flag)
#define C10_CLANG_HAS_WARNING(flag) 0
#define C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED(warning)
#define C10_DIAGNOSTIC_POP()

// The namespaces are only hidden from the dynamic linker, which device code does not know.
#define CUDA_WHEEL_HIDDEN_PICK(first, second, third, chosen, ...) chosen
#define CUDA_WHEEL_HIDDEN_BEGIN_1(a) namespace a {
#define CUDA_WHEEL_HIDDEN_BEGIN_2(a, b) \
  namespace a {                         \
  namespace b {
#define CUDA_WHEEL_HIDDEN_BEGIN_3(a, b, c) \
  namespace a {                            \
  namespace b {                            \
  namespace c {
#define CUDA_WHEEL_HIDDEN_END_1(a) }
#define CUDA_WHEEL_HIDDEN_END_2(a, b) \
  }                                   \
  }
#define CUDA_WHEEL_HIDDEN_END_3(a, b, c) \
  }                                      \
  }                                      \
  }
#define HIDDEN_NAMESPACE_BEGIN(...)                                                                           \
  CUDA_WHEEL_HIDDEN_PICK(__VA_ARGS__, CUDA_WHEEL_HIDDEN_BEGIN_3, CUDA_WHEEL_HIDDEN_BEGIN_2,                   \
                         CUDA_WHEEL_HIDDEN_BEGIN_1)(__VA_ARGS__)
#define HIDDEN_NAMESPACE_END(...)                                                                             \
  CUDA_WHEEL_HIDDEN_PICK(__VA_ARGS__, CUDA_WHEEL_HIDDEN_END_3, CUDA_WHEEL_HIDDEN_END_2,                       \
                         CUDA_WHEEL_HIDDEN_END_1)(__VA_ARGS__)

// Code in at:: finds what is in c10:: by unqualified names.
namespace c10 {
namespace cuda {}
namespace hip {}
namespace xpu {}
}
namespace caffe2 {
using namespace c10;
}
namespace at {
using namespace c10;
namespace cuda {
using namespace c10::cuda;
using namespace c10::hip;
}
namespace xpu {
using namespace c10::xpu;
}
}

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_HIP_HOST_DEVICE
#define C10_WARP_SIZE 32
#define C10_WARP_SIZE_LOWER_BOUND C10_WARP_SIZE
#define C10_WARP_SIZE_UPPER_BOUND C10_WARP_SIZE

// Variables of this namespace are known to be no variables of the project.
namespace cuda_wheel_detail {
// The largest number of resident threads of a multiprocessor. As PyTorch has it, also where a GPU's differs.
#if __CUDA_ARCH__ == 750
constexpr uint32_t CUDA_MAX_THREADS_PER_SM = 1024;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ == 1200
constexpr uint32_t CUDA_MAX_THREADS_PER_SM = 1536;
#else
constexpr uint32_t CUDA_MAX_THREADS_PER_SM = 2048;
#endif
constexpr uint32_t CUDA_MAX_THREADS_PER_BLOCK = 1024;
constexpr uint32_t CUDA_THREADS_PER_BLOCK_FALLBACK = 256;
}
using cuda_wheel_detail::CUDA_MAX_THREADS_PER_BLOCK;
using cuda_wheel_detail::CUDA_MAX_THREADS_PER_SM;
using cuda_wheel_detail::CUDA_THREADS_PER_BLOCK_FALLBACK;

// Bounds that no GPU allows are replaced: by 256 threads, and by as many blocks as the threads of a multiprocessor.
#define C10_MAX_THREADS_PER_BLOCK(threads) \
  (((threads) <= CUDA_MAX_THREADS_PER_BLOCK) ? (threads) : CUDA_THREADS_PER_BLOCK_FALLBACK)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks)                   \
  ((((threads) * (blocks) <= CUDA_MAX_THREADS_PER_SM) ? (blocks) \
                                                      : ((CUDA_MAX_THREADS_PER_SM + (threads) - 1) / (threads))))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((threads))))
#define C10_LAUNCH_BOUNDS_2(threads, blocks)                    \
  __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((threads))),     \
                    (C10_MIN_BLOCKS_PER_SM((threads), (blocks))))

// glibc's name for what ends a kernel whose assertion fails; nvcc knows it in device code, NVRTC only __assertfail.
#ifndef CUDA_WHEEL_ASSERT_FAIL
#define CUDA_WHEEL_ASSERT_FAIL
extern "C" inline __host__ __device__ void __assert_fail(const char* condition, const char* file, unsigned int line,
                                                         const char* function) noexcept {
  __assertfail(condition, file, line, function, sizeof(char));
}
#endif

// Unlike assert, these check with NDEBUG too.
#define CUDA_KERNEL_ASSERT_MSG(condition, message)                                        \
  if (C10_UNLIKELY(!(condition))) {                                                       \
    __assert_fail(message, __FILE__, static_cast<unsigned int>(__LINE__), __func__);      \
  }
#define CUDA_KERNEL_ASSERT(condition)                                                     \
  if (C10_UNLIKELY(!(condition))) {                                                       \
    __assert_fail(#condition, __FILE__, static_cast<unsigned int>(__LINE__), __func__);   \
  }
#define CUDA_KERNEL_ASSERT_PRINTF(condition, message, ...)                                                        \
  if (C10_UNLIKELY(!(condition))) {                                                                               \
    printf("[CUDA_KERNEL_ASSERT] " __FILE__ ":" C10_STRINGIZE(__LINE__) ": %s: block: [%d,%d,%d], "               \
           "thread: [%d,%d,%d]: Assertion failed: `" #condition "`: " message "\n",                               \
           __func__, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, ##__VA_ARGS__);   \
    __assert_fail(#condition, __FILE__, static_cast<unsigned int>(__LINE__), __func__);                           \
  }
#ifdef C10_ENABLE_VERBOSE_ASSERT
#define CUDA_KERNEL_ASSERT_VERBOSE(condition, ...) CUDA_KERNEL_ASSERT_PRINTF(condition, __VA_ARGS__)
#else
#define CUDA_KERNEL_ASSERT_VERBOSE(condition, ...) CUDA_KERNEL_ASSERT(condition)
#endif
#define SYCL_KERNEL_ASSERT(condition) CUDA_KERNEL_ASSERT(condition)

#endif
