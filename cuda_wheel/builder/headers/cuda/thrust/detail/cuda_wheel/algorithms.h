// Thrust's algorithms. They are host functions without bodies: Thrust's own kernels, which they launch, are not in the
// image. The functions for thrust::seq, which device code can call, are in sequential.h.
#ifndef CUDA_WHEEL_THRUST_ALGORITHMS_H
#define CUDA_WHEEL_THRUST_ALGORITHMS_H

#include <thrust/advance.h>
#include <thrust/detail/cuda_wheel/pointers.h>
#include <thrust/detail/cuda_wheel/policies.h>
#include <thrust/detail/cuda_wheel/sequential.h>
#include <thrust/distance.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/pair.h>
#include <thrust/tuple.h>

THRUST_NAMESPACE_BEGIN

// Declares an algorithm twice: with an execution policy and without.
#define CUDA_WHEEL_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define CUDA_WHEEL_THRUST_ALGORITHM(templates, result, name, parameters)                         \
  template <CUDA_WHEEL_WITHOUT_PARENTHESES templates>                                     \
  CUDA_WHEEL_WITHOUT_PARENTHESES result name parameters;                                  \
  template <class Policy, CUDA_WHEEL_WITHOUT_PARENTHESES templates>                       \
  CUDA_WHEEL_WITHOUT_PARENTHESES result name(const detail::execution_policy_base<Policy>&, CUDA_WHEEL_WITHOUT_PARENTHESES parameters);

// Transformations
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Operation), (Out), transform, (In first, In last, Out result, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out, class Operation), (Out), transform, (In first, In last, In2 second, Out result, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Operation, class Predicate), (Out), transform_if, (In first, In last, Out result, Operation operation, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Stencil, class Out, class Operation, class Predicate), (Out), transform_if, (In first, In last, Stencil stencil, Out result, Operation operation, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Stencil, class Out, class Operation, class Predicate), (Out), transform_if, (In first, In last, In2 second, Stencil stencil, Out result, Operation operation, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Function), (It), for_each, (It first, It last, Function function))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Size, class Function), (It), for_each_n, (It first, Size count, Function function))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (void), fill, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Size, class Type), (It), fill_n, (It first, Size count, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (void), uninitialized_fill, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Size, class Type), (It), uninitialized_fill_n, (It first, Size count, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Generator), (void), generate, (It first, It last, Generator generator))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Size, class Generator), (It), generate_n, (It first, Size count, Generator generator))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (void), sequence, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (void), sequence, (It first, It last, Type start))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (void), sequence, (It first, It last, Type start, Type step))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Operation), (void), tabulate, (It first, It last, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (void), replace, (It first, It last, const Type& from, const Type& to))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate, class Type), (void), replace_if, (It first, It last, Predicate predicate, const Type& to))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Stencil, class Predicate, class Type), (void), replace_if, (It first, It last, Stencil stencil, Predicate predicate, const Type& to))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Type), (Out), replace_copy, (In first, In last, Out result, const Type& from, const Type& to))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Predicate, class Type), (Out), replace_copy_if, (In first, In last, Out result, Predicate predicate, const Type& to))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), adjacent_difference, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Operation), (Out), adjacent_difference, (In first, In last, Out result, Operation operation))

// Copies
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), copy, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Size, class Out), (Out), copy_n, (In first, Size count, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Predicate), (Out), copy_if, (In first, In last, Out result, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Stencil, class Out, class Predicate), (Out), copy_if, (In first, In last, Stencil stencil, Out result, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), uninitialized_copy, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Size, class Out), (Out), uninitialized_copy_n, (In first, Size count, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Map, class In, class Out), (Out), gather, (Map first, Map last, In input, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Map, class Stencil, class In, class Out), (Out), gather_if, (Map first, Map last, Stencil stencil, In input, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Map, class Stencil, class In, class Out, class Predicate), (Out), gather_if, (Map first, Map last, Stencil stencil, In input, Out result, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Map, class Out), (void), scatter, (In first, In last, Map map, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Map, class Stencil, class Out), (void), scatter_if, (In first, In last, Map map, Stencil stencil, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Map, class Stencil, class Out, class Predicate), (void), scatter_if, (In first, In last, Map map, Stencil stencil, Out result, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2), (It2), swap_ranges, (It first, It last, It2 second))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (void), reverse, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), reverse_copy, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Engine), (void), shuffle, (It first, It last, Engine&& engine))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Engine, class Out), (void), shuffle_copy, (It first, It last, Out result, Engine&& engine))

// Reductions
CUDA_WHEEL_THRUST_ALGORITHM((class It), (typename detail::cuda_wheel::value<It>::type), reduce, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (Type), reduce, (It first, It last, Type start))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type, class Operation), (Type), reduce, (It first, It last, Type start, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class KeyOut, class Out), (pair<KeyOut, Out>), reduce_by_key, (Key first, Key last, In values, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class KeyOut, class Out, class Equal), (pair<KeyOut, Out>), reduce_by_key, (Key first, Key last, In values, KeyOut keys, Out result, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class KeyOut, class Out, class Equal, class Operation), (pair<KeyOut, Out>), reduce_by_key, (Key first, Key last, In values, KeyOut keys, Out result, Equal equal, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Unary, class Type, class Operation), (Type), transform_reduce, (It first, It last, Unary unary, Type start, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2, class Type), (Type), inner_product, (It first, It last, It2 second, Type start))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2, class Type, class Operation, class Operation2), (Type), inner_product, (It first, It last, It2 second, Type start, Operation operation, Operation2 operation2))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (ptrdiff_t), count, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (ptrdiff_t), count_if, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (It), min_element, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (It), min_element, (It first, It last, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (It), max_element, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (It), max_element, (It first, It last, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (pair<It, It>), minmax_element, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (pair<It, It>), minmax_element, (It first, It last, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (bool), all_of, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (bool), any_of, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (bool), none_of, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2), (bool), equal, (It first, It last, It2 second))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2, class Predicate), (bool), equal, (It first, It last, It2 second, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2), (pair<It, It2>), mismatch, (It first, It last, It2 second))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class It2, class Predicate), (pair<It, It2>), mismatch, (It first, It last, It2 second, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (It), find, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (It), find_if, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (It), find_if_not, (It first, It last, Predicate predicate))

// Prefix sums
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), inclusive_scan, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Operation), (Out), inclusive_scan, (In first, In last, Out result, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Type, class Operation), (Out), inclusive_scan, (In first, In last, Out result, Type start, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), exclusive_scan, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Type), (Out), exclusive_scan, (In first, In last, Out result, Type start))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Type, class Operation), (Out), exclusive_scan, (In first, In last, Out result, Type start, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out), (Out), inclusive_scan_by_key, (Key first, Key last, In values, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out, class Equal), (Out), inclusive_scan_by_key, (Key first, Key last, In values, Out result, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out, class Equal, class Operation), (Out), inclusive_scan_by_key, (Key first, Key last, In values, Out result, Equal equal, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out), (Out), exclusive_scan_by_key, (Key first, Key last, In values, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out, class Type), (Out), exclusive_scan_by_key, (Key first, Key last, In values, Out result, Type start))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out, class Type, class Equal), (Out), exclusive_scan_by_key, (Key first, Key last, In values, Out result, Type start, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class Out, class Type, class Equal, class Operation), (Out), exclusive_scan_by_key, (Key first, Key last, In values, Out result, Type start, Equal equal, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Unary, class Operation), (Out), transform_inclusive_scan, (In first, In last, Out result, Unary unary, Operation operation))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Unary, class Type, class Operation), (Out), transform_exclusive_scan, (In first, In last, Out result, Unary unary, Type start, Operation operation))

// Sorts
CUDA_WHEEL_THRUST_ALGORITHM((class It), (void), sort, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (void), sort, (It first, It last, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class It), (void), sort_by_key, (Key first, Key last, It values))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class It, class Compare), (void), sort_by_key, (Key first, Key last, It values, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (void), stable_sort, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (void), stable_sort, (It first, It last, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class It), (void), stable_sort_by_key, (Key first, Key last, It values))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class It, class Compare), (void), stable_sort_by_key, (Key first, Key last, It values, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (bool), is_sorted, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (bool), is_sorted, (It first, It last, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (It), is_sorted_until, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Compare), (It), is_sorted_until, (It first, It last, Compare compare))

// Selections
CUDA_WHEEL_THRUST_ALGORITHM((class It), (It), unique, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Equal), (It), unique, (It first, It last, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out), (Out), unique_copy, (In first, In last, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Equal), (Out), unique_copy, (In first, In last, Out result, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class It), (ptrdiff_t), unique_count, (It first, It last))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Equal), (ptrdiff_t), unique_count, (It first, It last, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class It), (pair<Key, It>), unique_by_key, (Key first, Key last, It values))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class It, class Equal), (pair<Key, It>), unique_by_key, (Key first, Key last, It values, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class KeyOut, class Out), (pair<KeyOut, Out>), unique_by_key_copy, (Key first, Key last, In values, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class In, class KeyOut, class Out, class Equal), (pair<KeyOut, Out>), unique_by_key_copy, (Key first, Key last, In values, KeyOut keys, Out result, Equal equal))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (It), remove, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Type), (Out), remove_copy, (In first, In last, Out result, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (It), remove_if, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Stencil, class Predicate), (It), remove_if, (It first, It last, Stencil stencil, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Predicate), (Out), remove_copy_if, (In first, In last, Out result, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Stencil, class Out, class Predicate), (Out), remove_copy_if, (In first, In last, Stencil stencil, Out result, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (It), partition, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Stencil, class Predicate), (It), partition, (It first, It last, Stencil stencil, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Out2, class Predicate), (pair<Out, Out2>), partition_copy, (In first, In last, Out chosen, Out2 rest, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Stencil, class Out, class Out2, class Predicate), (pair<Out, Out2>), partition_copy, (In first, In last, Stencil stencil, Out chosen, Out2 rest, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (It), stable_partition, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Stencil, class Predicate), (It), stable_partition, (It first, It last, Stencil stencil, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Out, class Out2, class Predicate), (pair<Out, Out2>), stable_partition_copy, (In first, In last, Out chosen, Out2 rest, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class Stencil, class Out, class Out2, class Predicate), (pair<Out, Out2>), stable_partition_copy, (In first, In last, Stencil stencil, Out chosen, Out2 rest, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (It), partition_point, (It first, It last, Predicate predicate))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Predicate), (bool), is_partitioned, (It first, It last, Predicate predicate))

// Searches, merges and set operations
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (It), lower_bound, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type, class Compare), (It), lower_bound, (It first, It last, const Type& value, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class In, class Out), (Out), lower_bound, (It first, It last, In values, In values_end, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class In, class Out, class Compare), (Out), lower_bound, (It first, It last, In values, In values_end, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (It), upper_bound, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type, class Compare), (It), upper_bound, (It first, It last, const Type& value, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class In, class Out), (Out), upper_bound, (It first, It last, In values, In values_end, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class In, class Out, class Compare), (Out), upper_bound, (It first, It last, In values, In values_end, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (bool), binary_search, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type, class Compare), (bool), binary_search, (It first, It last, const Type& value, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class In, class Out), (Out), binary_search, (It first, It last, In values, In values_end, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class In, class Out, class Compare), (Out), binary_search, (It first, It last, In values, In values_end, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type), (pair<It, It>), equal_range, (It first, It last, const Type& value))
CUDA_WHEEL_THRUST_ALGORITHM((class It, class Type, class Compare), (pair<It, It>), equal_range, (It first, It last, const Type& value, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out), (Out), merge, (In first, In last, In2 first2, In2 last2, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out, class Compare), (Out), merge, (In first, In last, In2 first2, In2 last2, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out), (pair<KeyOut, Out>), merge_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out, class Compare), (pair<KeyOut, Out>), merge_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out), (Out), set_difference, (In first, In last, In2 first2, In2 last2, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out, class Compare), (Out), set_difference, (In first, In last, In2 first2, In2 last2, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out), (pair<KeyOut, Out>), set_difference_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out, class Compare), (pair<KeyOut, Out>), set_difference_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out), (Out), set_intersection, (In first, In last, In2 first2, In2 last2, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out, class Compare), (Out), set_intersection, (In first, In last, In2 first2, In2 last2, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out), (pair<KeyOut, Out>), set_intersection_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out, class Compare), (pair<KeyOut, Out>), set_intersection_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out), (Out), set_symmetric_difference, (In first, In last, In2 first2, In2 last2, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out, class Compare), (Out), set_symmetric_difference, (In first, In last, In2 first2, In2 last2, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out), (pair<KeyOut, Out>), set_symmetric_difference_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out, class Compare), (pair<KeyOut, Out>), set_symmetric_difference_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out), (Out), set_union, (In first, In last, In2 first2, In2 last2, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class In, class In2, class Out, class Compare), (Out), set_union, (In first, In last, In2 first2, In2 last2, Out result, Compare compare))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out), (pair<KeyOut, Out>), set_union_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result))
CUDA_WHEEL_THRUST_ALGORITHM((class Key, class Key2, class In, class In2, class KeyOut, class Out, class Compare), (pair<KeyOut, Out>), set_union_by_key, (Key first, Key last, Key2 first2, Key2 last2, In values, In2 values2, KeyOut keys, Out result, Compare compare))

#undef CUDA_WHEEL_THRUST_ALGORITHM
#undef CUDA_WHEEL_WITHOUT_PARENTHESES

THRUST_NAMESPACE_END

#endif
