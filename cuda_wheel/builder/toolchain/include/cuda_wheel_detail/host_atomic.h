// std::atomic for host code.
#ifndef CUDA_WHEEL_DETAIL_HOST_ATOMIC_H
#define CUDA_WHEEL_DETAIL_HOST_ATOMIC_H

#include "../cstdint"
#include "../utility"

namespace std {
#if __cplusplus >= 202002L
enum class memory_order : int { relaxed, consume, acquire, release, acq_rel, seq_cst };
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_consume = memory_order::consume;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;
#else
typedef enum memory_order { memory_order_relaxed, memory_order_consume, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst } memory_order;
#endif
}

namespace cuda_wheel_detail {
// What every std::atomic has
template <class T> class atomic_value {
 protected:
  alignas(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16 ? sizeof(T) : alignof(T)) T value_;

 public:
  typedef T value_type;
  atomic_value() noexcept = default;
  constexpr atomic_value(T t) noexcept : value_(t) {}
  atomic_value(const atomic_value&) = delete;
  atomic_value& operator=(const atomic_value&) = delete;
  bool is_lock_free() const noexcept;
  void store(T, std::memory_order = std::memory_order_seq_cst) noexcept;
  T load(std::memory_order = std::memory_order_seq_cst) const noexcept;
  operator T() const noexcept;
  T exchange(T, std::memory_order = std::memory_order_seq_cst) noexcept;
  bool compare_exchange_weak(T&, T, std::memory_order = std::memory_order_seq_cst) noexcept;
  bool compare_exchange_weak(T&, T, std::memory_order, std::memory_order) noexcept;
  bool compare_exchange_strong(T&, T, std::memory_order = std::memory_order_seq_cst) noexcept;
  bool compare_exchange_strong(T&, T, std::memory_order, std::memory_order) noexcept;
#if __cplusplus >= 202002L
  void wait(T, std::memory_order = std::memory_order_seq_cst) const noexcept;
  void notify_one() noexcept;
  void notify_all() noexcept;
#endif
};
template <class T, class D> class atomic_number : public atomic_value<T> {
 public:
  typedef D difference_type;
  using atomic_value<T>::atomic_value;
  T fetch_add(D, std::memory_order = std::memory_order_seq_cst) noexcept;
  T fetch_sub(D, std::memory_order = std::memory_order_seq_cst) noexcept;
  T operator+=(D) noexcept;
  T operator-=(D) noexcept;
};
template <class T> class atomic_pointer : public atomic_number<T, std::ptrdiff_t> {
 public:
  using atomic_number<T, std::ptrdiff_t>::atomic_number;
  T operator++() noexcept;
  T operator++(int) noexcept;
  T operator--() noexcept;
  T operator--(int) noexcept;
};
template <class T> class atomic_integer : public atomic_number<T, T> {
 public:
  using atomic_number<T, T>::atomic_number;
  T operator++() noexcept;
  T operator++(int) noexcept;
  T operator--() noexcept;
  T operator--(int) noexcept;
  T fetch_and(T, std::memory_order = std::memory_order_seq_cst) noexcept;
  T fetch_or(T, std::memory_order = std::memory_order_seq_cst) noexcept;
  T fetch_xor(T, std::memory_order = std::memory_order_seq_cst) noexcept;
  T operator&=(T) noexcept;
  T operator|=(T) noexcept;
  T operator^=(T) noexcept;
};
template <class T, bool = std::is_integral<T>::value && !std::is_same<T, bool>::value, bool = std::is_floating_point<T>::value> struct atomic_base { typedef atomic_value<T> type; };
template <class T> struct atomic_base<T, true, false> { typedef atomic_integer<T> type; };
#if __cplusplus >= 202002L
template <class T> struct atomic_base<T, false, true> { typedef atomic_number<T, T> type; };
#endif
template <class T> struct atomic_base<T*, false, false> { typedef atomic_pointer<T*> type; };
}

namespace std {
template <class T> struct atomic : cuda_wheel_detail::atomic_base<T>::type {
  atomic() noexcept = default;
  constexpr atomic(T t) noexcept : cuda_wheel_detail::atomic_base<T>::type(t) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T) noexcept;
#if __cplusplus >= 201703L
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;
#endif
};
typedef atomic<bool> atomic_bool;
typedef atomic<char> atomic_char;
typedef atomic<signed char> atomic_schar;
typedef atomic<unsigned char> atomic_uchar;
typedef atomic<short> atomic_short;
typedef atomic<unsigned short> atomic_ushort;
typedef atomic<int> atomic_int;
typedef atomic<unsigned int> atomic_uint;
typedef atomic<long> atomic_long;
typedef atomic<unsigned long> atomic_ulong;
typedef atomic<long long> atomic_llong;
typedef atomic<unsigned long long> atomic_ullong;
typedef atomic<int8_t> atomic_int8_t;
typedef atomic<uint8_t> atomic_uint8_t;
typedef atomic<int16_t> atomic_int16_t;
typedef atomic<uint16_t> atomic_uint16_t;
typedef atomic<int32_t> atomic_int32_t;
typedef atomic<uint32_t> atomic_uint32_t;
typedef atomic<int64_t> atomic_int64_t;
typedef atomic<uint64_t> atomic_uint64_t;
typedef atomic<size_t> atomic_size_t;
typedef atomic<ptrdiff_t> atomic_ptrdiff_t;
typedef atomic<intptr_t> atomic_intptr_t;
typedef atomic<uintptr_t> atomic_uintptr_t;
typedef atomic<intmax_t> atomic_intmax_t;
typedef atomic<uintmax_t> atomic_uintmax_t;

struct atomic_flag {
  atomic_flag() noexcept = default;
  atomic_flag(const atomic_flag&) = delete;
  atomic_flag& operator=(const atomic_flag&) = delete;
  constexpr atomic_flag(bool b) noexcept : set_(b) {}
  bool test_and_set(memory_order = memory_order_seq_cst) noexcept;
  bool test(memory_order = memory_order_seq_cst) const noexcept;
  void clear(memory_order = memory_order_seq_cst) noexcept;

 private:
  bool set_;
};
#define ATOMIC_FLAG_INIT {false}
#define ATOMIC_VAR_INIT(value) {value}
#if __cplusplus >= 202002L
template <class T> struct atomic_ref : cuda_wheel_detail::atomic_base<T>::type {
  explicit atomic_ref(T&);
  T operator=(T) const noexcept;
};
#endif
void atomic_thread_fence(memory_order) noexcept;
void atomic_signal_fence(memory_order) noexcept;
template <class T> T kill_dependency(T t) noexcept;
template <class T> bool atomic_is_lock_free(const atomic<T>*) noexcept;
template <class T> void atomic_init(atomic<T>*, cuda_wheel_detail::type_is_t<T>) noexcept;
template <class T> void atomic_store(atomic<T>*, cuda_wheel_detail::type_is_t<T>) noexcept;
template <class T> void atomic_store_explicit(atomic<T>*, cuda_wheel_detail::type_is_t<T>, memory_order) noexcept;
template <class T> T atomic_load(const atomic<T>*) noexcept;
template <class T> T atomic_load_explicit(const atomic<T>*, memory_order) noexcept;
template <class T> T atomic_exchange(atomic<T>*, cuda_wheel_detail::type_is_t<T>) noexcept;
template <class T> T atomic_fetch_add(atomic<T>*, cuda_wheel_detail::type_is_t<T>) noexcept;
template <class T> T atomic_fetch_sub(atomic<T>*, cuda_wheel_detail::type_is_t<T>) noexcept;
template <class T> bool atomic_compare_exchange_strong(atomic<T>*, T*, cuda_wheel_detail::type_is_t<T>) noexcept;
}

#endif
