// The iterator concepts of C++20.
#ifndef CUDA_WHEEL_DETAIL_ITERATOR_CONCEPTS_H
#define CUDA_WHEEL_DETAIL_ITERATOR_CONCEPTS_H

#include "../concepts"
#include "../iterator"

namespace cuda_wheel_detail {
template <class _T> concept referenceable = requires { typename type_is<_T&>; };
template <class _T> struct readable_value {};
template <class _T> requires std::is_object_v<_T> struct readable_value<_T*> { typedef std::remove_cv_t<_T> value_type; };
template <class _T> requires std::is_array_v<_T> struct readable_value<_T> { typedef std::remove_cv_t<std::remove_extent_t<_T>> value_type; };
template <class _T> requires requires { typename _T::value_type; } struct readable_value<_T> { typedef std::remove_cv_t<typename _T::value_type> value_type; };
template <class _T> requires (!requires { typename _T::value_type; } && requires { typename _T::element_type; }) struct readable_value<_T> { typedef std::remove_cv_t<typename _T::element_type> value_type; };
template <class _T> struct step {};
template <class _T> requires std::is_object_v<_T> struct step<_T*> { typedef std::ptrdiff_t difference_type; };
template <class _T> requires requires { typename _T::difference_type; } struct step<_T> { typedef typename _T::difference_type difference_type; };
template <class _T> requires (!requires { typename _T::difference_type; } && requires(const _T& a, const _T& b) { { a - b } -> std::integral; })
struct step<_T> { typedef std::make_signed_t<decltype(std::declval<_T>() - std::declval<_T>())> difference_type; };
}

namespace std {
template <class _T> struct indirectly_readable_traits : cuda_wheel_detail::readable_value<_T> {};
template <class _T> struct indirectly_readable_traits<const _T> : indirectly_readable_traits<_T> {};
template <class _T> struct incrementable_traits : cuda_wheel_detail::step<_T> {};
template <class _T> struct incrementable_traits<const _T> : incrementable_traits<_T> {};
}

namespace cuda_wheel_detail {
template <class _I> struct value_in_c20 : std::indirectly_readable_traits<_I> {};
template <class _I> requires requires { typename std::iterator_traits<_I>::value_type; } struct value_in_c20<_I> { typedef typename std::iterator_traits<_I>::value_type value_type; };
template <class _I> struct difference_in_c20 : std::incrementable_traits<_I> {};
template <class _I> requires requires { typename std::iterator_traits<_I>::difference_type; } struct difference_in_c20<_I> { typedef typename std::iterator_traits<_I>::difference_type difference_type; };
template <class _I> struct concept_of { typedef std::random_access_iterator_tag type; };
template <class _I> requires requires { typename std::iterator_traits<_I>::iterator_category; } struct concept_of<_I> { typedef typename std::iterator_traits<_I>::iterator_category type; };
template <class _I> requires requires { typename _I::iterator_concept; } struct concept_of<_I> { typedef typename _I::iterator_concept type; };
template <class _T> struct concept_of<_T*> { typedef std::contiguous_iterator_tag type; };
}

namespace std {
template <class _I> using iter_value_t = typename cuda_wheel_detail::value_in_c20<remove_cvref_t<_I>>::value_type;
template <class _I> using iter_difference_t = typename cuda_wheel_detail::difference_in_c20<remove_cvref_t<_I>>::difference_type;
template <class _I> requires requires(_I& i) { { *i } -> cuda_wheel_detail::referenceable; } using iter_reference_t = decltype(*declval<_I&>());
template <class _I> using iter_rvalue_reference_t = conditional_t<is_lvalue_reference_v<iter_reference_t<_I>>, remove_reference_t<iter_reference_t<_I>>&&, iter_reference_t<_I>>;
template <class _I> using iter_common_reference_t = common_reference_t<iter_reference_t<_I>, iter_value_t<_I>&>;

template <class _I> concept indirectly_readable = requires(const remove_cvref_t<_I> i) {
  typename iter_value_t<_I>;
  typename iter_reference_t<_I>;
  { *i } -> same_as<iter_reference_t<_I>>;
} && common_reference_with<iter_reference_t<_I>&&, iter_value_t<_I>&>;
template <class _I, class _T> concept indirectly_writable = requires(_I&& i, _T&& t) {
  *i = static_cast<_T&&>(t);
  *static_cast<_I&&>(i) = static_cast<_T&&>(t);
};
template <class _I> concept weakly_incrementable = movable<_I> && requires(_I i) {
  typename iter_difference_t<_I>;
  { ++i } -> same_as<_I&>;
  i++;
};
template <class _I> concept incrementable = regular<_I> && weakly_incrementable<_I> && requires(_I i) { { i++ } -> same_as<_I>; };
template <class _I> concept input_or_output_iterator = weakly_incrementable<_I> && requires(_I i) { { *i } -> cuda_wheel_detail::referenceable; };
template <class _S, class _I> concept sentinel_for = semiregular<_S> && input_or_output_iterator<_I> && cuda_wheel_detail::weakly_equality_comparable_with<_S, _I>;
template <class _S, class _I> inline constexpr bool disable_sized_sentinel_for = false;
template <class _S, class _I> concept sized_sentinel_for = sentinel_for<_S, _I> && !disable_sized_sentinel_for<remove_cv_t<_S>, remove_cv_t<_I>> && requires(const _I& i, const _S& s) {
  { s - i } -> same_as<iter_difference_t<_I>>;
  { i - s } -> same_as<iter_difference_t<_I>>;
};
template <class _I> concept input_iterator = input_or_output_iterator<_I> && indirectly_readable<_I> && derived_from<typename cuda_wheel_detail::concept_of<_I>::type, input_iterator_tag>;
template <class _I, class _T> concept output_iterator = input_or_output_iterator<_I> && indirectly_writable<_I, _T> && requires(_I i, _T&& t) { *i++ = static_cast<_T&&>(t); };
template <class _I> concept forward_iterator = input_iterator<_I> && derived_from<typename cuda_wheel_detail::concept_of<_I>::type, forward_iterator_tag> && incrementable<_I> && sentinel_for<_I, _I>;
template <class _I> concept bidirectional_iterator = forward_iterator<_I> && derived_from<typename cuda_wheel_detail::concept_of<_I>::type, bidirectional_iterator_tag> && requires(_I i) {
  { --i } -> same_as<_I&>;
  { i-- } -> same_as<_I>;
};
template <class _I> concept random_access_iterator = bidirectional_iterator<_I> && derived_from<typename cuda_wheel_detail::concept_of<_I>::type, random_access_iterator_tag> && totally_ordered<_I> && sized_sentinel_for<_I, _I> &&
    requires(_I i, const _I j, const iter_difference_t<_I> n) {
  { i += n } -> same_as<_I&>;
  { j + n } -> same_as<_I>;
  { n + j } -> same_as<_I>;
  { i -= n } -> same_as<_I&>;
  { j - n } -> same_as<_I>;
  { j[n] } -> same_as<iter_reference_t<_I>>;
};
template <class _I> concept contiguous_iterator = random_access_iterator<_I> && derived_from<typename cuda_wheel_detail::concept_of<_I>::type, contiguous_iterator_tag> && is_lvalue_reference_v<iter_reference_t<_I>>;

enum default_sentinel_t : unsigned char { default_sentinel };
enum unreachable_sentinel_t : unsigned char { unreachable_sentinel };
template <weakly_incrementable _I> CUDA_WHEEL_CONSTEXPR bool operator==(unreachable_sentinel_t, const _I&) noexcept { return false; }

template <class _F, class _I> concept indirectly_unary_invocable = indirectly_readable<_I> && invocable<_F&, iter_reference_t<_I>>;
template <class _F, class... Is> using indirect_result_t = invoke_result_t<_F, iter_reference_t<Is>...>;
template <class _F, class _I> concept indirect_unary_predicate = indirectly_readable<_I> && predicate<_F&, iter_reference_t<_I>>;
}

#endif
