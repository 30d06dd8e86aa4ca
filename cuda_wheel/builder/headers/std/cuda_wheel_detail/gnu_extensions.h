// GCC's extensions that nvcc accepts on Linux and that can be written as macros and functions. NVRTC's front end has no
// GNU mode: its option --gnu_version ends in an error, because NVRTC predeclares __int128_t too.
#ifndef CUDA_WHEEL_DETAIL_GNU_EXTENSIONS_H
#define CUDA_WHEEL_DETAIL_GNU_EXTENSIONS_H

// The keyword that allows an extension, such as a nameless struct, without a warning.
#define __extension__
// Other names of keywords.
#define __asm__ asm
#define __asm asm
#define __alignof(x) alignof(x)
#define __const const
#define __const__ const
#define __volatile__ volatile
#define __volatile volatile
#define __signed__ signed
#define __signed signed
// The function's name as MSVC calls it, which projects use where __GNUC__ is not defined.
#define __FUNCSIG__ __PRETTY_FUNCTION__
// The type of an expression, but not of a type.
#define __typeof__(expression) ::cuda_wheel_detail::without_reference<decltype(expression)>::type
#define __typeof(expression) __typeof__(expression)
#define typeof(expression) __typeof__(expression)

#define __ATOMIC_RELAXED 0
#define __ATOMIC_CONSUME 1
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5

namespace cuda_wheel_detail {
template <class _T> struct without_reference { typedef _T type; };
template <class _T> struct without_reference<_T&> { typedef _T type; };
template <class _T> struct without_reference<_T&&> { typedef _T type; };
// A void* in arithmetic: builder/rewriting/expressions.py writes it before the pointer.
struct void_pointer {
  char* value;
  __host__ __device__ void_pointer(void* p) : value((char*)p) {}
  __host__ __device__ void_pointer(const void* p) : value((char*)p) {}
  template <class _T> void_pointer(_T*) = delete;
  __host__ __device__ operator char*() const { return value; }
  friend __host__ __device__ long operator-(void_pointer one, const void* other) { return one.value - (const char*)other; }
};
// Likewise the variable before += or -=.
struct void_variable {
  void** place;
  __host__ __device__ explicit void_variable(void*& p) : place(&p) {}
  __host__ __device__ explicit void_variable(const void*& p) : place((void**)&p) {}
  template <class _T> void_variable(_T*&) = delete;
  template <class _N> __host__ __device__ void*& operator+=(_N n) const { return *place = (char*)*place + n; }
  template <class _N> __host__ __device__ void*& operator-=(_N n) const { return *place = (char*)*place - n; }
};
// A member that is an array, or takes no space: builder/rewriting/declarations.py writes it. The place in the file makes
// two members of one class two types, which may have one address. There is no element to read: a read uses address zero
// and stops the kernel. Assembly hides the zero, so that the compiler does not remove the read.
template <class _T, int place> struct alignas(_T) no_elements {
  static_assert(sizeof(_T) && __cplusplus >= 202002L, "a member without elements takes space before C++20");
  __host__ __device__ operator _T*() const {
    unsigned long long address;
    asm("mov.u64 %0, 0;" : "=l"(address));
    return (_T*)address;
  }
  template <class _N> __host__ __device__ _T& operator[](_N place_) const { return ((_T*)*this)[place_]; }
};
template <class _T, unsigned long long size, int place> struct member_array { typedef _T type[size]; };
template <class _T, int place> struct member_array<_T, 0, place> { typedef no_elements<_T, place> type; };
// An integer with a type's alignment: a bit-field of it that has no width aligns the members after it.
template <unsigned long long alignment> struct integer_aligned;
template <> struct integer_aligned<1> { typedef char type; };
template <> struct integer_aligned<2> { typedef short type; };
template <> struct integer_aligned<4> { typedef int type; };
template <> struct integer_aligned<8> { typedef long long type; };
// An operand in a macro: a void* becomes a char*, and nothing else changes.
template <class _T> __host__ __device__ constexpr _T&& bytes(_T&& x) { return static_cast<_T&&>(x); }
__host__ __device__ inline char*& bytes(void*& p) { return (char*&)p; }
__host__ __device__ inline char* bytes(void* const& p) { return (char*)p; }
__host__ __device__ inline char* bytes(void*&& p) { return (char*)p; }
__host__ __device__ inline const char*& bytes(const void*& p) { return (const char*&)p; }
__host__ __device__ inline const char* bytes(const void* const& p) { return (const char*)p; }
__host__ __device__ inline const char* bytes(const void*&& p) { return (const char*)p; }
}

// nvcc compiles a builtin function in device code as the function of the C library. A definition of a builtin that NVRTC
// has, such as __builtin_copysign, would call itself.
#if !__has_builtin(__builtin_popcount) && !defined(CUDA_WHEEL_WITHOUT_BUILTINS)
#define CUDA_WHEEL_OF_ONE(_T, name, function) __host__ __device__ inline _T __builtin_##name(_T x) { return function(x); }
#define CUDA_WHEEL_OF_TWO(_T, name, function) __host__ __device__ inline _T __builtin_##name(_T x, _T y) { return function(x, y); }
#define CUDA_WHEEL_REAL(DO, name) DO(float, name##f, ::name##f) DO(double, name, ::name)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, sqrt)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, cbrt)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, fabs)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, floor)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, ceil)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, round)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, trunc)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, rint)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, exp)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, exp2)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, log)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, log2)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, log10)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, sin)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, cos)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, tan)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_ONE, tanh)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_TWO, pow)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_TWO, fmod)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_TWO, atan2)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_TWO, fmax)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_TWO, fmin)
CUDA_WHEEL_REAL(CUDA_WHEEL_OF_TWO, hypot)
CUDA_WHEEL_OF_ONE(int, abs, ::abs)
CUDA_WHEEL_OF_ONE(long, labs, ::labs)
CUDA_WHEEL_OF_ONE(long long, llabs, ::llabs)
#undef CUDA_WHEEL_OF_ONE
#undef CUDA_WHEEL_OF_TWO
#undef CUDA_WHEEL_REAL
__host__ __device__ inline float __builtin_fmaf(float x, float y, float z) { return ::fmaf(x, y, z); }
__host__ __device__ inline double __builtin_fma(double x, double y, double z) { return ::fma(x, y, z); }
__host__ __device__ constexpr float __builtin_inff() { return __builtin_bit_cast(float, 0x7f800000); }
__host__ __device__ constexpr double __builtin_inf() { return __builtin_bit_cast(double, 0x7ff0000000000000LL); }
__host__ __device__ constexpr float __builtin_huge_valf() { return __builtin_inff(); }
__host__ __device__ constexpr double __builtin_huge_val() { return __builtin_inf(); }
__host__ __device__ constexpr float __builtin_nanf(const char*) { return __builtin_bit_cast(float, 0x7fc00000); }
__host__ __device__ constexpr double __builtin_nan(const char*) { return __builtin_bit_cast(double, 0x7ff8000000000000LL); }
__host__ __device__ inline void* __builtin_memcpy(void* to, const void* from, size_t n) { return ::memcpy(to, from, n); }
__host__ __device__ inline void* __builtin_memset(void* to, int value, size_t n) { return ::memset(to, value, n); }
template <class _T> __host__ __device__ constexpr _T* __builtin_launder(_T* p) { return p; }

namespace cuda_wheel_detail {
// In constant expressions; nvcc accepts some of these builtins in device code, where they are one instruction.
template <class _T> __host__ __device__ constexpr int count_bits(_T x) {
  int n = 0;
  for (; x; x &= x - 1) ++n;
  return n;
}
template <class _T> __host__ __device__ constexpr int trailing_zeros(_T x) {
  return count_bits<_T>(~x & (x - 1));
}
template <class _T> __host__ __device__ constexpr int leading_zeros(_T x) {
  int n = sizeof(_T) * 8;
  for (; x; x >>= 1) --n;
  return n;
}
}

#ifdef __CUDA_ARCH__
#define CUDA_WHEEL_INSTRUCTION(call) \
  if (!__builtin_is_constant_evaluated()) return call;
#else
#define CUDA_WHEEL_INSTRUCTION(call)
#endif
#define CUDA_WHEEL_BITS(_T, _S, suffix)                                                                                                                                                                                              \
  __host__ __device__ constexpr int __builtin_popcount##suffix(_T x) { CUDA_WHEEL_INSTRUCTION(sizeof(_T) == 8 ? __popcll(x) : __popc(static_cast<unsigned>(x))) return cuda_wheel_detail::count_bits(x); }                           \
  __host__ __device__ constexpr int __builtin_clz##suffix(_T x) { CUDA_WHEEL_INSTRUCTION(sizeof(_T) == 8 ? __clzll(static_cast<long long>(x)) : __clz(static_cast<int>(x))) return cuda_wheel_detail::leading_zeros(x); }            \
  __host__ __device__ constexpr int __builtin_ffs##suffix(_S x) { CUDA_WHEEL_INSTRUCTION(sizeof(_T) == 8 ? __ffsll(x) : __ffs(static_cast<int>(x))) return x == 0 ? 0 : cuda_wheel_detail::trailing_zeros(static_cast<_T>(x)) + 1; } \
  constexpr int __builtin_ctz##suffix(_T x) { return cuda_wheel_detail::trailing_zeros(x); }                                                                                                                                         \
  constexpr int __builtin_parity##suffix(_T x) { return cuda_wheel_detail::count_bits(x) & 1; }
CUDA_WHEEL_BITS(unsigned, int, )
CUDA_WHEEL_BITS(unsigned long, long, l)
CUDA_WHEEL_BITS(unsigned long long, long long, ll)
#undef CUDA_WHEEL_BITS
#undef CUDA_WHEEL_INSTRUCTION

// For host code only, as with nvcc.
constexpr unsigned short __builtin_bswap16(unsigned short x) { return static_cast<unsigned short>(x << 8 | x >> 8); }
constexpr unsigned __builtin_bswap32(unsigned x) { return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
constexpr unsigned long __builtin_bswap64(unsigned long x) { return static_cast<unsigned long>(__builtin_bswap32(static_cast<unsigned>(x))) << 32 | __builtin_bswap32(static_cast<unsigned>(x >> 32)); }
#if !__has_builtin(__builtin_add_overflow)  // NVRTC 13.5 has them
template <class _A, class _B, class _R> bool __builtin_add_overflow(_A, _B, _R*);
template <class _A, class _B, class _R> bool __builtin_sub_overflow(_A, _B, _R*);
template <class _A, class _B, class _R> bool __builtin_mul_overflow(_A, _B, _R*);
#endif
[[noreturn]] void __builtin_trap();
[[noreturn]] void __builtin_abort();
void __builtin_prefetch(const void*, ...);
void* __builtin_alloca(size_t);
void* __builtin_return_address(unsigned);
void* __builtin_frame_address(unsigned);
int __builtin_memcmp(const void*, const void*, size_t);
size_t __builtin_strlen(const char*);
int __builtin_strcmp(const char*, const char*);
int __builtin_printf(const char*, ...);
#define CUDA_WHEEL_FETCH(name)                                            \
  template <class _T, class _U> _T __sync_fetch_and_##name(_T*, _U, ...); \
  template <class _T, class _U> _T __sync_##name##_and_fetch(_T*, _U, ...);
CUDA_WHEEL_FETCH(add)
CUDA_WHEEL_FETCH(sub)
CUDA_WHEEL_FETCH(or)
CUDA_WHEEL_FETCH(and)
CUDA_WHEEL_FETCH(xor)
#undef CUDA_WHEEL_FETCH
template <class _T, class _U, class _V> bool __sync_bool_compare_and_swap(_T*, _U, _V, ...);
template <class _T, class _U, class _V> _T __sync_val_compare_and_swap(_T*, _U, _V, ...);
template <class _T, class _U> _T __sync_lock_test_and_set(_T*, _U, ...);
template <class _T> void __sync_lock_release(_T*, ...);
void __sync_synchronize();
#endif

#endif
