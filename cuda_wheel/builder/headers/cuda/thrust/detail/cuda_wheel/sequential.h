// Thrust's algorithms for thrust::seq, of which each step can be told from the algorithm's definition. Device code can call
// them. The others, such as sorting, have no function for thrust::seq, so that device code that calls them is an error.
#ifndef CUDA_WHEEL_THRUST_SEQUENTIAL_H
#define CUDA_WHEEL_THRUST_SEQUENTIAL_H

#include <thrust/detail/cuda_wheel/pointers.h>
#include <thrust/detail/cuda_wheel/policies.h>
#include <cuda/std/utility>
#include <thrust/detail/type_traits/pointer_traits.h>

#include <thrust/detail/raw_reference_cast.h>

THRUST_NAMESPACE_BEGIN

#define CUDA_WHEEL_SEQUENTIAL(...)    \
  _Pragma("nv_exec_check_disable")    \
  template <__VA_ARGS__>              \
  __host__ __device__ inline

CUDA_WHEEL_SEQUENTIAL(class It, class Function) It for_each(const detail::seq_t&, It first, It last, Function function) {
  for (; first != last; ++first) function(thrust::raw_reference_cast(*first));
  return first;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Size, class Function) It for_each_n(const detail::seq_t&, It first, Size count, Function function) {
  for (; count > 0; --count, ++first) function(thrust::raw_reference_cast(*first));
  return first;
}
CUDA_WHEEL_SEQUENTIAL(class In, class Out, class Operation) Out transform(const detail::seq_t&, In first, In last, Out result, Operation operation) {
  for (; first != last; ++first, ++result) *result = operation(thrust::raw_reference_cast(*first));
  return result;
}
CUDA_WHEEL_SEQUENTIAL(class In, class In2, class Out, class Operation)
Out transform(const detail::seq_t&, In first, In last, In2 second, Out result, Operation operation) {
  for (; first != last; ++first, ++second, ++result)
    *result = operation(thrust::raw_reference_cast(*first), thrust::raw_reference_cast(*second));
  return result;
}
CUDA_WHEEL_SEQUENTIAL(class In, class Out) Out copy(const detail::seq_t&, In first, In last, Out result) {
  for (; first != last; ++first, ++result) *result = *first;
  return result;
}
CUDA_WHEEL_SEQUENTIAL(class In, class Size, class Out) Out copy_n(const detail::seq_t&, In first, Size count, Out result) {
  for (; count > 0; --count, ++first, ++result) *result = *first;
  return result;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) void fill(const detail::seq_t&, It first, It last, const Type& value) {
  for (; first != last; ++first) *first = value;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Size, class Type) It fill_n(const detail::seq_t&, It first, Size count, const Type& value) {
  for (; count > 0; --count, ++first) *first = value;
  return first;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) void sequence(const detail::seq_t&, It first, It last, Type start) {
  for (; first != last; ++first, ++start) *first = start;
}
CUDA_WHEEL_SEQUENTIAL(class It) void sequence(const detail::seq_t& policy, It first, It last) {
  thrust::sequence(policy, first, last, typename detail::cuda_wheel::value<It>::type(0));
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type, class Operation) Type reduce(const detail::seq_t&, It first, It last, Type start, Operation operation) {
  for (; first != last; ++first) start = operation(start, thrust::raw_reference_cast(*first));
  return start;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) Type reduce(const detail::seq_t&, It first, It last, Type start) {
  for (; first != last; ++first) start = start + thrust::raw_reference_cast(*first);
  return start;
}
CUDA_WHEEL_SEQUENTIAL(class It) typename detail::cuda_wheel::value<It>::type reduce(const detail::seq_t& policy, It first, It last) {
  return thrust::reduce(policy, first, last, typename detail::cuda_wheel::value<It>::type(0));
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) ptrdiff_t count(const detail::seq_t&, It first, It last, const Type& value) {
  ptrdiff_t found = 0;
  for (; first != last; ++first) found += thrust::raw_reference_cast(*first) == value;
  return found;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Predicate) ptrdiff_t count_if(const detail::seq_t&, It first, It last, Predicate predicate) {
  ptrdiff_t found = 0;
  for (; first != last; ++first)
    if (predicate(thrust::raw_reference_cast(*first))) ++found;
  return found;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) It find(const detail::seq_t&, It first, It last, const Type& value) {
  while (first != last && !(thrust::raw_reference_cast(*first) == value)) ++first;
  return first;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Predicate) It find_if(const detail::seq_t&, It first, It last, Predicate predicate) {
  while (first != last && !predicate(thrust::raw_reference_cast(*first))) ++first;
  return first;
}
CUDA_WHEEL_SEQUENTIAL(class It) It max_element(const detail::seq_t&, It first, It last) {
  It best = first;
  for (; first != last; ++first)
    if (thrust::raw_reference_cast(*best) < thrust::raw_reference_cast(*first)) best = first;
  return best;
}
CUDA_WHEEL_SEQUENTIAL(class It) It min_element(const detail::seq_t&, It first, It last) {
  It best = first;
  for (; first != last; ++first)
    if (thrust::raw_reference_cast(*first) < thrust::raw_reference_cast(*best)) best = first;
  return best;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type, class Compare)
It lower_bound(const detail::seq_t&, It first, It last, const Type& value, Compare compare) {
  for (auto left = last - first; left > 0;) {
    auto half = left / 2;
    It middle = first + half;
    if (compare(thrust::raw_reference_cast(*middle), value)) {
      first = middle + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return first;
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type, class Compare)
It upper_bound(const detail::seq_t&, It first, It last, const Type& value, Compare compare) {
  for (auto left = last - first; left > 0;) {
    auto half = left / 2;
    It middle = first + half;
    if (compare(value, thrust::raw_reference_cast(*middle))) {
      left = half;
    } else {
      first = middle + 1;
      left -= half + 1;
    }
  }
  return first;
}
namespace detail {
namespace cuda_wheel {
struct less {
  template <class One, class Other> __host__ __device__ bool operator()(const One& one, const Other& other) const { return one < other; }
};
}
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) It lower_bound(const detail::seq_t& policy, It first, It last, const Type& value) {
  return thrust::lower_bound(policy, first, last, value, detail::cuda_wheel::less());
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) It upper_bound(const detail::seq_t& policy, It first, It last, const Type& value) {
  return thrust::upper_bound(policy, first, last, value, detail::cuda_wheel::less());
}
CUDA_WHEEL_SEQUENTIAL(class It, class Type) bool binary_search(const detail::seq_t& policy, It first, It last, const Type& value) {
  It found = thrust::lower_bound(policy, first, last, value);
  return found != last && !(value < thrust::raw_reference_cast(*found));
}
CUDA_WHEEL_SEQUENTIAL(class In, class Out) Out inclusive_scan(const detail::seq_t&, In first, In last, Out result) {
  if (first == last) return result;
  typename detail::cuda_wheel::value<In>::type sum = *first;
  *result = sum;
  for (++first, ++result; first != last; ++first, ++result) *result = sum = sum + thrust::raw_reference_cast(*first);
  return result;
}
CUDA_WHEEL_SEQUENTIAL(class In, class Out, class Type) Out exclusive_scan(const detail::seq_t&, In first, In last, Out result, Type start) {
  for (; first != last; ++first, ++result) {
    Type next = start + thrust::raw_reference_cast(*first);  // the result may overwrite the input
    *result = start;
    start = next;
  }
  return result;
}
CUDA_WHEEL_SEQUENTIAL(class In, class Out) Out exclusive_scan(const detail::seq_t& policy, In first, In last, Out result) {
  return thrust::exclusive_scan(policy, first, last, result, typename detail::cuda_wheel::value<In>::type(0));
}
#undef CUDA_WHEEL_SEQUENTIAL

// In device code, Thrust runs its algorithms for thrust::device like those for thrust::seq.
#define CUDA_WHEEL_IN_DEVICE_CODE(name)                                                                    \
  _Pragma("nv_exec_check_disable")                                                                         \
  template <class... Arguments>                                                                            \
  __host__ __device__ inline auto name(const detail::device_t&, Arguments... arguments)                    \
      -> decltype(thrust::name(detail::seq_t(), arguments...)) {                                           \
    return thrust::name(detail::seq_t(), arguments...);                                                    \
  }
CUDA_WHEEL_IN_DEVICE_CODE(for_each)
CUDA_WHEEL_IN_DEVICE_CODE(for_each_n)
CUDA_WHEEL_IN_DEVICE_CODE(transform)
CUDA_WHEEL_IN_DEVICE_CODE(copy)
CUDA_WHEEL_IN_DEVICE_CODE(copy_n)
CUDA_WHEEL_IN_DEVICE_CODE(fill)
CUDA_WHEEL_IN_DEVICE_CODE(fill_n)
CUDA_WHEEL_IN_DEVICE_CODE(sequence)
CUDA_WHEEL_IN_DEVICE_CODE(reduce)
CUDA_WHEEL_IN_DEVICE_CODE(count)
CUDA_WHEEL_IN_DEVICE_CODE(count_if)
CUDA_WHEEL_IN_DEVICE_CODE(find)
CUDA_WHEEL_IN_DEVICE_CODE(find_if)
CUDA_WHEEL_IN_DEVICE_CODE(max_element)
CUDA_WHEEL_IN_DEVICE_CODE(min_element)
CUDA_WHEEL_IN_DEVICE_CODE(lower_bound)
CUDA_WHEEL_IN_DEVICE_CODE(upper_bound)
CUDA_WHEEL_IN_DEVICE_CODE(binary_search)
CUDA_WHEEL_IN_DEVICE_CODE(inclusive_scan)
CUDA_WHEEL_IN_DEVICE_CODE(exclusive_scan)
#undef CUDA_WHEEL_IN_DEVICE_CODE

// Of two equal values, the first one, as Thrust does.
template <class Type> __host__ __device__ Type min(const Type& one, const Type& other) { return other < one ? other : one; }
template <class Type> __host__ __device__ Type max(const Type& one, const Type& other) { return one < other ? other : one; }
template <class Type, class Compare> __host__ __device__ Type min(const Type& one, const Type& other, Compare compare) { return compare(other, one) ? other : one; }
template <class Type, class Compare> __host__ __device__ Type max(const Type& one, const Type& other, Compare compare) { return compare(one, other) ? other : one; }
using ::cuda::std::swap;

THRUST_NAMESPACE_END

#endif
