// c10::guts::function_traits: the result and the parameters of a function type or of a class that can be called.
#ifndef CUDA_WHEEL_PYTORCH_METAPROGRAMMING_H
#define CUDA_WHEEL_PYTORCH_METAPROGRAMMING_H

#include <torch/headeronly/macros/Macros.h>
#include <tuple>
#include <type_traits>
#include <utility>

namespace c10 {
namespace guts {

namespace typelist {
template <class... Items>
struct typelist final {};
}

template <class Func>
struct function_traits {
  static_assert(sizeof(Func) == 0, "function_traits takes a plain function type");
};
template <class Result, class... Args>
struct function_traits<Result(Args...)> {
  using func_type = Result(Args...);
  using return_type = Result;
  using parameter_types = typelist::typelist<Args...>;
  static constexpr auto number_of_parameters = sizeof...(Args);
};

namespace detail {
template <class T>
struct strip_class {};
template <class Class, class Result, class... Args>
struct strip_class<Result (Class::*)(Args...)> {
  using type = Result(Args...);
};
template <class Class, class Result, class... Args>
struct strip_class<Result (Class::*)(Args...) const> {
  using type = Result(Args...);
};
template <class T>
using strip_class_t = typename strip_class<T>::type;
}

template <typename Functor>
struct infer_function_traits {
  using type = function_traits<detail::strip_class_t<decltype(&Functor::operator())>>;
};
template <typename Result, typename... Args>
struct infer_function_traits<Result (*)(Args...)> {
  using type = function_traits<Result(Args...)>;
};
template <typename Result, typename... Args>
struct infer_function_traits<Result(Args...)> {
  using type = function_traits<Result(Args...)>;
};
template <typename T>
using infer_function_traits_t = typename infer_function_traits<T>::type;

}
}

namespace torch {
namespace headeronly {
namespace guts {
using c10::guts::function_traits;
using c10::guts::infer_function_traits_t;
}
}
}

#endif
