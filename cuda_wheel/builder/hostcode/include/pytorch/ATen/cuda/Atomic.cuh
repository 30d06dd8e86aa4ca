// gpuAtomicAdd, gpuAtomicMul, gpuAtomicMax and gpuAtomicMin for the types of tensors, and overloads of atomicAdd.
//
// Where the GPU has no instruction, a compare-and-swap of the word that holds the value is repeated until it succeeds.
#ifndef CUDA_WHEEL_PYTORCH_ATOMIC_CUH
#define CUDA_WHEEL_PYTORCH_ATOMIC_CUH

#include <ATen/NumericUtils.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_wheel_detail/pytorch/larger_or_nan.h>

namespace cuda_wheel_detail {

// The half of a word that an address of two bytes names, and the word with this half replaced.
inline __device__ unsigned int half_of_word(unsigned int word, bool upper) {
  return upper ? (word >> 16) : (word & 0xffffu);
}
inline __device__ unsigned int with_half(unsigned int word, unsigned int value, bool upper) {
  return upper ? (word & 0xffffu) | (value << 16) : (word & 0xffff0000u) | value;
}

// Replaces the value of two bytes by function(value, operand). Returns the bits that were there before.
template <typename T, typename Function>
inline __device__ unsigned short update_two_bytes(T* address, T operand, const Function& function) {
  const bool upper = (size_t)address & 2;
  unsigned int* const word = (unsigned int*)((char*)address - ((size_t)address & 2));
  unsigned int seen = *word;
  unsigned int expected;
  do {
    expected = seen;
    T value;
    value.x = half_of_word(expected, upper);
    value = function(value, operand);
    seen = atomicCAS(word, expected, with_half(expected, value.x, upper));
  } while (expected != seen);
  return half_of_word(seen, upper);
}

}

template <typename T>
struct AtomicFPOp;

template <>
struct AtomicFPOp<at::Half> {
  template <typename func_t>
  inline __device__ at::Half operator()(at::Half* address, at::Half val, const func_t& func) {
    at::Half before;
    before.x = cuda_wheel_detail::update_two_bytes(address, val, func);
    return before;
  }
};

template <>
struct AtomicFPOp<at::BFloat16> {
  // PyTorch returns the bits converted as a number. Kernels rarely use the result; those that do get the same.
  template <typename func_t>
  inline __device__ at::BFloat16 operator()(at::BFloat16* address, at::BFloat16 val, const func_t& func) {
    return cuda_wheel_detail::update_two_bytes(address, val, func);
  }
};

template <>
struct AtomicFPOp<double> {
  // The function takes the operand and the bits, and returns bits.
  template <typename func_t>
  inline __device__ double operator()(double* address, double val, const func_t& func) {
    unsigned long long int* const word = (unsigned long long int*)address;
    unsigned long long int seen = *word;
    unsigned long long int expected;
    do {
      expected = seen;
      seen = atomicCAS(word, expected, func(val, expected));
    } while (expected != seen);
    return __longlong_as_double(seen);
  }
};

namespace cuda_wheel_detail {

template <typename T, size_t size>
struct IntegerUpdate;

template <typename T>
struct IntegerUpdate<T, 1> {
  template <typename Function>
  inline __device__ void operator()(T* address, T operand, const Function& function) {
    const size_t offset = (size_t)address & 3;
    uint32_t* const word = (uint32_t*)((char*)address - offset);
    const uint32_t shift = offset * 8;
    uint32_t seen = *word;
    uint32_t expected;
    do {
      expected = seen;
      const uint32_t before = (expected >> shift) & 0xff;
      const uint32_t after = static_cast<uint8_t>(function(operand, static_cast<T>(before)));
      seen = atomicCAS(word, expected, (expected & ~(0x000000ff << shift)) | (after << shift));
    } while (expected != seen);
  }
};

template <typename T>
struct IntegerUpdate<T, 2> {
  template <typename Function>
  inline __device__ void operator()(T* address, T operand, const Function& function) {
    const size_t offset = (size_t)address & 2;
    uint32_t* const word = (uint32_t*)((char*)address - offset);
    const bool upper = offset;
    uint32_t seen = *word;
    uint32_t expected;
    do {
      expected = seen;
      const uint32_t before = upper ? seen >> 16 : seen & 0xffff;
      const uint32_t after = static_cast<uint16_t>(function(operand, static_cast<T>(before)));
      seen = atomicCAS(word, expected, upper ? (seen & 0xffff) | (after << 16) : (seen & 0xffff0000) | after);
    } while (expected != seen);
  }
};

template <typename T>
struct IntegerUpdate<T, 4> {
  template <typename Function>
  inline __device__ void operator()(T* address, T operand, const Function& function) {
    uint32_t* const word = (uint32_t*)address;
    uint32_t seen = *word;
    uint32_t expected;
    do {
      expected = seen;
      seen = atomicCAS(word, expected, static_cast<uint32_t>(function(operand, static_cast<T>(expected))));
    } while (expected != seen);
  }
};

template <typename T>
struct IntegerUpdate<T, 8> {
  template <typename Function>
  inline __device__ void operator()(T* address, T operand, const Function& function) {
    unsigned long long* const word = (unsigned long long*)address;
    unsigned long long seen = *word;
    unsigned long long expected;
    do {
      expected = seen;
      const unsigned long long after = static_cast<uint64_t>(function(operand, static_cast<T>(expected)));
      seen = atomicCAS(word, expected, after);
    } while (expected != seen);
  }
};

// Replaces a float by function(operand, float). Returns the float that was there before.
template <typename Function>
inline __device__ float update_float(float* address, float operand, const Function& function) {
  unsigned int* const word = (unsigned int*)address;
  unsigned int seen = *word;
  unsigned int expected;
  do {
    expected = seen;
    seen = atomicCAS(word, expected, __float_as_int(function(operand, __int_as_float(expected))));
  } while (expected != seen);
  return __int_as_float(seen);
}

}

template <typename T, size_t n>
struct AtomicAddIntegerImpl : cuda_wheel_detail::IntegerUpdate<T, n> {};
template <typename T, size_t n>
struct AtomicMulIntegerImpl : cuda_wheel_detail::IntegerUpdate<T, n> {};
template <typename T, size_t n>
struct AtomicMaxIntegerImpl : cuda_wheel_detail::IntegerUpdate<T, n> {};
template <typename T, size_t n>
struct AtomicMinIntegerImpl : cuda_wheel_detail::IntegerUpdate<T, n> {};

#define CUDA_WHEEL_ATOMIC_OF_INTEGER(name, expression, T)                                    \
  inline __device__ void gpuAtomic##name(T* address, T val) {                                \
    cuda_wheel_detail::IntegerUpdate<T, sizeof(T)>()(address, val, [](T a, T b) {            \
      return expression;                                                                     \
    });                                                                                      \
  }

// Sums
CUDA_WHEEL_ATOMIC_OF_INTEGER(Add, a || b, bool)
CUDA_WHEEL_ATOMIC_OF_INTEGER(Add, a + b, uint8_t)
CUDA_WHEEL_ATOMIC_OF_INTEGER(Add, a + b, int8_t)
CUDA_WHEEL_ATOMIC_OF_INTEGER(Add, a + b, int16_t)
inline __device__ int32_t gpuAtomicAdd(int32_t* address, int32_t val) { return atomicAdd(address, val); }
inline __device__ void gpuAtomicAdd(int64_t* address, int64_t val) {
  atomicAdd(reinterpret_cast<unsigned long long int*>(address), static_cast<unsigned long long int>(val));
}
inline __device__ at::Half gpuAtomicAdd(at::Half* address, at::Half val) {
#if __CUDA_ARCH__ < 700
  return AtomicFPOp<at::Half>()(address, val, [](at::Half sum, at::Half val) { return sum + val; });
#else
  return atomicAdd(reinterpret_cast<__half*>(address), val);
#endif
}
inline __device__ at::BFloat16 gpuAtomicAdd(at::BFloat16* address, at::BFloat16 val) {
#if __CUDA_ARCH__ < 800
  return AtomicFPOp<at::BFloat16>()(address, val, [](at::BFloat16 sum, at::BFloat16 val) { return sum + val; });
#else
  __nv_bfloat16 before =
      atomicAdd(reinterpret_cast<__nv_bfloat16*>(address), *reinterpret_cast<__nv_bfloat16*>(&val));
  return *reinterpret_cast<c10::BFloat16*>(&before);
#endif
}
#if __CUDA_ARCH__ < 600
inline __device__ double atomicAdd(double* address, double val) {
  return AtomicFPOp<double>()(address, val, [](double val, unsigned long long int bits) {
    return __double_as_longlong(val + __longlong_as_double(bits));
  });
}
#endif
inline __device__ double gpuAtomicAdd(double* address, double val) { return atomicAdd(address, val); }
inline __device__ float gpuAtomicAdd(float* address, float val) { return atomicAdd(address, val); }
template <typename T>
inline __device__ void gpuAtomicAdd(c10::complex<T>* address, c10::complex<T> val) {
  gpuAtomicAdd(&address->real_, val.real_);
  gpuAtomicAdd(&address->imag_, val.imag_);
}

inline __device__ at::Half atomicAdd(at::Half* address, at::Half val) { return gpuAtomicAdd(address, val); }
inline __device__ at::BFloat16 atomicAdd(at::BFloat16* address, at::BFloat16 val) {
  return gpuAtomicAdd(address, val);
}
inline __device__ void atomicAdd(uint8_t* address, uint8_t val) { gpuAtomicAdd(address, val); }
inline __device__ void atomicAdd(int8_t* address, int8_t val) { gpuAtomicAdd(address, val); }
inline __device__ void atomicAdd(int16_t* address, int16_t val) { gpuAtomicAdd(address, val); }
inline __device__ void atomicAdd(int64_t* address, int64_t val) { gpuAtomicAdd(address, val); }
inline __device__ void atomicAdd(bool* address, bool val) { gpuAtomicAdd(address, val); }

template <typename T>
inline __device__ void gpuAtomicAddNoReturn(c10::complex<T>* address, c10::complex<T> val) {
  gpuAtomicAdd(address, val);
}
#define CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(T) \
  inline __device__ void gpuAtomicAddNoReturn(T* address, T val) { gpuAtomicAdd(address, val); }
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(uint8_t)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(int8_t)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(int16_t)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(int32_t)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(int64_t)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(bool)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(at::Half)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(at::BFloat16)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(float)
CUDA_WHEEL_ATOMIC_WITHOUT_RESULT(double)
#undef CUDA_WHEEL_ATOMIC_WITHOUT_RESULT

// Products, maxima and minima. NaN is the maximum and the minimum of NaN and any number that is already there.
template <typename T>
__host__ __device__ T safe_max(T a, T b) {
  return cuda_wheel_detail::comparison::larger_or_nan(a, b);
}
template <typename T>
__host__ __device__ T safe_min(T a, T b) {
  return cuda_wheel_detail::comparison::smaller_or_nan(a, b);
}

#define CUDA_WHEEL_ATOMICS(name, expression)                                                                       \
  CUDA_WHEEL_ATOMIC_OF_INTEGER(name, expression, uint8_t)                                                      \
  CUDA_WHEEL_ATOMIC_OF_INTEGER(name, expression, int8_t)                                                       \
  CUDA_WHEEL_ATOMIC_OF_INTEGER(name, expression, int16_t)                                                      \
  CUDA_WHEEL_ATOMIC_OF_INTEGER(name, expression, int32_t)                                                      \
  CUDA_WHEEL_ATOMIC_OF_INTEGER(name, expression, int64_t)                                                      \
  inline __device__ at::Half gpuAtomic##name(at::Half* address, at::Half val) {                                 \
    return AtomicFPOp<at::Half>()(address, val, [](at::Half a, at::Half b) { return expression; });              \
  }                                                                                                             \
  inline __device__ at::BFloat16 gpuAtomic##name(at::BFloat16* address, at::BFloat16 val) {                     \
    return AtomicFPOp<at::BFloat16>()(address, val, [](at::BFloat16 a, at::BFloat16 b) { return expression; });  \
  }                                                                                                             \
  inline __device__ double gpuAtomic##name(double* address, double val) {                                       \
    return AtomicFPOp<double>()(address, val, [](double a, unsigned long long int bits) {                       \
      const double b = __longlong_as_double(bits);                                                              \
      return __double_as_longlong(expression);                                                                   \
    });                                                                                                         \
  }                                                                                                             \
  inline __device__ float gpuAtomic##name(float* address, float val) {                                          \
    return cuda_wheel_detail::update_float(address, val, [](float a, float b) { return expression; });           \
  }
CUDA_WHEEL_ATOMICS(Mul, a * b)
CUDA_WHEEL_ATOMICS(Max, safe_max(a, b))
CUDA_WHEEL_ATOMICS(Min, safe_min(a, b))
#undef CUDA_WHEEL_ATOMICS
#undef CUDA_WHEEL_ATOMIC_OF_INTEGER

#endif
