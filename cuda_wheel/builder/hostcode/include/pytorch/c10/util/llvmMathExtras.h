// c10::llvm: counts of bits and powers of two. Host code uses them.
#ifndef CUDA_WHEEL_PYTORCH_LLVM_MATH_EXTRAS_H
#define CUDA_WHEEL_PYTORCH_LLVM_MATH_EXTRAS_H

#include <cstddef>
#include <cstdint>

namespace c10 {
namespace llvm {

enum ZeroBehavior { ZB_Undefined, ZB_Max, ZB_Width };

template <typename T>
std::size_t countTrailingZeros(T value, ZeroBehavior zero = ZB_Width);
template <typename T>
std::size_t countLeadingZeros(T value, ZeroBehavior zero = ZB_Width);
template <typename T>
std::size_t countLeadingOnes(T value, ZeroBehavior zero = ZB_Width);
template <typename T>
std::size_t countTrailingOnes(T value, ZeroBehavior zero = ZB_Width);
template <typename T>
unsigned countPopulation(T value);
template <typename T>
T findFirstSet(T value, ZeroBehavior zero = ZB_Max);
template <typename T>
T findLastSet(T value, ZeroBehavior zero = ZB_Max);
template <typename T>
T reverseBits(T value);

constexpr inline bool isPowerOf2_32(uint32_t value) { return value && !(value & (value - 1)); }
constexpr inline bool isPowerOf2_64(uint64_t value) { return value && !(value & (value - 1)); }
constexpr inline uint64_t alignTo(uint64_t value, uint64_t align, uint64_t skew = 0) {
  return (value + align - 1 - skew % align) / align * align + skew % align;
}
constexpr inline uint64_t divideCeil(uint64_t numerator, uint64_t denominator) {
  return alignTo(numerator, denominator) / denominator;
}
unsigned Log2_32(uint32_t value);
unsigned Log2_64(uint64_t value);
unsigned Log2_32_Ceil(uint32_t value);
unsigned Log2_64_Ceil(uint64_t value);
uint64_t NextPowerOf2(uint64_t value);
uint64_t PowerOf2Floor(uint64_t value);
uint64_t PowerOf2Ceil(uint64_t value);

}
}

#endif
