// c10::guts: the types of a function's parameters and result, and lists of types.
#ifndef CUDA_WHEEL_PYTORCH_METAPROGRAMMING_H
#define CUDA_WHEEL_PYTORCH_METAPROGRAMMING_H

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace c10 {
namespace guts {
template <class...>
using false_t = std::false_type;
template <class...>
using true_t = std::true_type;
namespace typelist {
template <class... T>
struct typelist final {
    typelist() = delete;
};
template <class List>
struct size;
template <class... T>
struct size<typelist<T...>> {
    static constexpr std::size_t value = sizeof...(T);
};
template <class List>
struct to_tuple;
template <class... T>
struct to_tuple<typelist<T...>> {
    using type = std::tuple<T...>;
};
template <class List>
using to_tuple_t = typename to_tuple<List>::type;
template <std::size_t I, class List>
struct element;
template <class Head, class... Tail>
struct element<0, typelist<Head, Tail...>> {
    using type = Head;
};
template <std::size_t I, class Head, class... Tail>
struct element<I, typelist<Head, Tail...>> : element<I - 1, typelist<Tail...>> {};
template <std::size_t I, class List>
using element_t = typename element<I, List>::type;
template <class List>
using head_t = element_t<0, List>;
} // namespace typelist

template <class F>
struct function_traits;
template <class R, class... Args>
struct function_traits<R(Args...)> {
    using func_type = R(Args...);
    using return_type = R;
    using parameter_types = typelist::typelist<Args...>;
    static constexpr auto number_of_parameters = sizeof...(Args);
};
template <class F>
struct infer_function_traits;
template <class F>
struct cuda_wheel_call_operator;
template <class C, class R, class... Args>
struct cuda_wheel_call_operator<R (C::*)(Args...)> {
    using type = function_traits<R(Args...)>;
};
template <class C, class R, class... Args>
struct cuda_wheel_call_operator<R (C::*)(Args...) const> {
    using type = function_traits<R(Args...)>;
};
template <class F>
struct infer_function_traits {
    using type = typename cuda_wheel_call_operator<decltype(&F::operator())>::type;
};
template <class R, class... Args>
struct infer_function_traits<R (*)(Args...)> {
    using type = function_traits<R(Args...)>;
};
template <class R, class... Args>
struct infer_function_traits<R(Args...)> {
    using type = function_traits<R(Args...)>;
};
template <class F>
using infer_function_traits_t = typename infer_function_traits<F>::type;
template <class F>
struct is_function_type : std::is_function<F> {};
template <class F>
using is_function_type_t = typename is_function_type<F>::type;
} // namespace guts
} // namespace c10

namespace torch {
namespace headeronly {
namespace guts = c10::guts;
}
} // namespace torch

#endif
