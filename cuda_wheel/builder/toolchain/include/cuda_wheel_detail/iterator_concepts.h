// The iterator concepts of C++20.
#ifndef CUDA_WHEEL_DETAIL_ITERATOR_CONCEPTS_H
#define CUDA_WHEEL_DETAIL_ITERATOR_CONCEPTS_H

#include "../concepts"
#include "../iterator"

namespace cuda_wheel_detail {
template <class T> concept referenceable = requires { typename type_is<T&>; };
template <class T> struct readable_value {};
template <class T> requires std::is_object_v<T> struct readable_value<T*> { typedef std::remove_cv_t<T> value_type; };
template <class T> requires std::is_array_v<T> struct readable_value<T> { typedef std::remove_cv_t<std::remove_extent_t<T>> value_type; };
template <class T> requires requires { typename T::value_type; } struct readable_value<T> { typedef std::remove_cv_t<typename T::value_type> value_type; };
template <class T> requires (!requires { typename T::value_type; } && requires { typename T::element_type; }) struct readable_value<T> { typedef std::remove_cv_t<typename T::element_type> value_type; };
template <class T> struct step {};
template <class T> requires std::is_object_v<T> struct step<T*> { typedef std::ptrdiff_t difference_type; };
template <class T> requires requires { typename T::difference_type; } struct step<T> { typedef typename T::difference_type difference_type; };
template <class T> requires (!requires { typename T::difference_type; } && requires(const T& a, const T& b) { { a - b } -> std::integral; })
struct step<T> { typedef std::make_signed_t<decltype(std::declval<T>() - std::declval<T>())> difference_type; };
}

namespace std {
template <class T> struct indirectly_readable_traits : cuda_wheel_detail::readable_value<T> {};
template <class T> struct indirectly_readable_traits<const T> : indirectly_readable_traits<T> {};
template <class T> struct incrementable_traits : cuda_wheel_detail::step<T> {};
template <class T> struct incrementable_traits<const T> : incrementable_traits<T> {};
}

namespace cuda_wheel_detail {
template <class I> struct value_in_c20 : std::indirectly_readable_traits<I> {};
template <class I> requires requires { typename std::iterator_traits<I>::value_type; } struct value_in_c20<I> { typedef typename std::iterator_traits<I>::value_type value_type; };
template <class I> struct difference_in_c20 : std::incrementable_traits<I> {};
template <class I> requires requires { typename std::iterator_traits<I>::difference_type; } struct difference_in_c20<I> { typedef typename std::iterator_traits<I>::difference_type difference_type; };
template <class I> struct concept_of { typedef std::random_access_iterator_tag type; };
template <class I> requires requires { typename std::iterator_traits<I>::iterator_category; } struct concept_of<I> { typedef typename std::iterator_traits<I>::iterator_category type; };
template <class I> requires requires { typename I::iterator_concept; } struct concept_of<I> { typedef typename I::iterator_concept type; };
template <class T> struct concept_of<T*> { typedef std::contiguous_iterator_tag type; };
}

namespace std {
template <class I> using iter_value_t = typename cuda_wheel_detail::value_in_c20<remove_cvref_t<I>>::value_type;
template <class I> using iter_difference_t = typename cuda_wheel_detail::difference_in_c20<remove_cvref_t<I>>::difference_type;
template <class I> requires requires(I& i) { { *i } -> cuda_wheel_detail::referenceable; } using iter_reference_t = decltype(*declval<I&>());
template <class I> using iter_rvalue_reference_t = conditional_t<is_lvalue_reference_v<iter_reference_t<I>>, remove_reference_t<iter_reference_t<I>>&&, iter_reference_t<I>>;
template <class I> using iter_common_reference_t = common_reference_t<iter_reference_t<I>, iter_value_t<I>&>;

template <class I> concept indirectly_readable = requires(const remove_cvref_t<I> i) {
  typename iter_value_t<I>;
  typename iter_reference_t<I>;
  { *i } -> same_as<iter_reference_t<I>>;
} && common_reference_with<iter_reference_t<I>&&, iter_value_t<I>&>;
template <class I, class T> concept indirectly_writable = requires(I&& i, T&& t) {
  *i = static_cast<T&&>(t);
  *static_cast<I&&>(i) = static_cast<T&&>(t);
};
template <class I> concept weakly_incrementable = movable<I> && requires(I i) {
  typename iter_difference_t<I>;
  { ++i } -> same_as<I&>;
  i++;
};
template <class I> concept incrementable = regular<I> && weakly_incrementable<I> && requires(I i) { { i++ } -> same_as<I>; };
template <class I> concept input_or_output_iterator = weakly_incrementable<I> && requires(I i) { { *i } -> cuda_wheel_detail::referenceable; };
template <class S, class I> concept sentinel_for = semiregular<S> && input_or_output_iterator<I> && cuda_wheel_detail::weakly_equality_comparable_with<S, I>;
template <class S, class I> inline constexpr bool disable_sized_sentinel_for = false;
template <class S, class I> concept sized_sentinel_for = sentinel_for<S, I> && !disable_sized_sentinel_for<remove_cv_t<S>, remove_cv_t<I>> && requires(const I& i, const S& s) {
  { s - i } -> same_as<iter_difference_t<I>>;
  { i - s } -> same_as<iter_difference_t<I>>;
};
template <class I> concept input_iterator = input_or_output_iterator<I> && indirectly_readable<I> && derived_from<typename cuda_wheel_detail::concept_of<I>::type, input_iterator_tag>;
template <class I, class T> concept output_iterator = input_or_output_iterator<I> && indirectly_writable<I, T> && requires(I i, T&& t) { *i++ = static_cast<T&&>(t); };
template <class I> concept forward_iterator = input_iterator<I> && derived_from<typename cuda_wheel_detail::concept_of<I>::type, forward_iterator_tag> && incrementable<I> && sentinel_for<I, I>;
template <class I> concept bidirectional_iterator = forward_iterator<I> && derived_from<typename cuda_wheel_detail::concept_of<I>::type, bidirectional_iterator_tag> && requires(I i) {
  { --i } -> same_as<I&>;
  { i-- } -> same_as<I>;
};
template <class I> concept random_access_iterator = bidirectional_iterator<I> && derived_from<typename cuda_wheel_detail::concept_of<I>::type, random_access_iterator_tag> && totally_ordered<I> && sized_sentinel_for<I, I> &&
    requires(I i, const I j, const iter_difference_t<I> n) {
  { i += n } -> same_as<I&>;
  { j + n } -> same_as<I>;
  { n + j } -> same_as<I>;
  { i -= n } -> same_as<I&>;
  { j - n } -> same_as<I>;
  { j[n] } -> same_as<iter_reference_t<I>>;
};
template <class I> concept contiguous_iterator = random_access_iterator<I> && derived_from<typename cuda_wheel_detail::concept_of<I>::type, contiguous_iterator_tag> && is_lvalue_reference_v<iter_reference_t<I>>;

enum default_sentinel_t : unsigned char { default_sentinel };
enum unreachable_sentinel_t : unsigned char { unreachable_sentinel };
template <weakly_incrementable I> CUDA_WHEEL_CONSTEXPR bool operator==(unreachable_sentinel_t, const I&) noexcept { return false; }

template <class F, class I> concept indirectly_unary_invocable = indirectly_readable<I> && invocable<F&, iter_reference_t<I>>;
template <class F, class... Is> using indirect_result_t = invoke_result_t<F, iter_reference_t<Is>...>;
template <class F, class I> concept indirect_unary_predicate = indirectly_readable<I> && predicate<F&, iter_reference_t<I>>;
}

#endif
