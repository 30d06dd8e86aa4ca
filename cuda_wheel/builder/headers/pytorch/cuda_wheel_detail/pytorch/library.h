// Registration of operators and classes: TORCH_LIBRARY and its kin, torch::class_, RegisterOperators.
#ifndef CUDA_WHEEL_PYTORCH_LIBRARY_H
#define CUDA_WHEEL_PYTORCH_LIBRARY_H

#include <cuda_wheel_detail/pytorch/ivalue.h>
#include <cuda_wheel_detail/pytorch/operators.h>
#include <cuda_wheel_detail/pytorch/standard_library.h>
#include <cuda_wheel_detail/pytorch/tag.h>

namespace c10 {
struct FunctionSchema;
template <class Signature>
class TypedOperatorHandle;
template <class R, class... Args>
class TypedOperatorHandle<R(Args...)> {
  public:
    R call(Args...) const;
    R redispatch(DispatchKeySet, Args...) const;

    CUDA_WHEEL_HOST_OBJECT;
};
struct OperatorHandle {
    template <class Signature>
    TypedOperatorHandle<Signature> typed() const;

    CUDA_WHEEL_HOST_OBJECT;
};
class Dispatcher {
  public:
    static Dispatcher& singleton();
    OperatorHandle findSchemaOrThrow(const char* name, const char* overload_name);

    CUDA_WHEEL_HOST_OBJECT;
};
} // namespace c10

namespace torch {

using at::Tag;

struct CppFunction {
    template <class F>
    CppFunction(F&&);
    template <class F>
    static CppFunction makeFromBoxedFunction();
    static CppFunction makeFallthrough();

    CUDA_WHEEL_HOST_OBJECT;
};
template <class F>
CppFunction dispatch(c10::DispatchKey, F&&);
template <class F>
CppFunction dispatch(c10::DeviceType, F&&);
c10::FunctionSchema& schema(const char*);
namespace detail {
struct Init {};
template <class... Args>
struct Constructor {};
template <class... Args>
struct LambdaConstructor {};
} // namespace detail
template <class... Args>
detail::Constructor<Args...> init();
template <class F>
detail::LambdaConstructor<F> init(F&&);
struct arg {
    arg(std::string name);
    template <class T>
    arg& operator=(const T&);
    static arg none();
};

template <class T>
class class_ {
  public:
    class_(const std::string& name_space, const std::string& name, std::string doc = "");
    template <class... A>
    class_& def(const detail::Constructor<A...>&, std::string doc = "", std::initializer_list<arg> = {});
    template <class F>
    class_& def(const detail::LambdaConstructor<F>&, std::string doc = "", std::initializer_list<arg> = {});
    template <class F>
    class_& def(std::string name, F, std::string doc = "", std::initializer_list<arg> = {});
    template <class F>
    class_& def_static(std::string name, F, std::string doc = "");
    template <class F>
    class_& def_property(const std::string& name, F getter, std::string doc = "");
    template <class F, class G>
    class_& def_property(const std::string& name, F getter, G setter, std::string doc = "");
    template <class M>
    class_& def_readwrite(const std::string& name, M T::*);
    template <class M>
    class_& def_readonly(const std::string& name, M T::*);
    template <class G, class S>
    class_& def_pickle(G&& getstate, S&& setstate);

    CUDA_WHEEL_HOST_OBJECT;
};
namespace jit {
template <class T>
using class_ = ::torch::class_<T>;
}

class Library {
  public:
    enum Kind { DEF, IMPL, FRAGMENT };
    Library(Kind, std::string name_space, std::optional<c10::DispatchKey>, const char* file, uint32_t line);
    Library(const Library&) = delete;
    Library(Library&&);
    template <class Schema>
    Library& def(Schema&&, const std::vector<at::Tag>& tags = {});
    template <class Schema, class F, class = typename std::enable_if<!std::is_convertible<F, std::vector<at::Tag>>::value>::type>
    Library& def(Schema&&, F&&, const std::vector<at::Tag>& tags = {});
    template <class Name, class F>
    Library& impl(Name, F&&);
    template <class Name, class Key, class F>
    Library& impl(Name, Key&&, F&&);
    template <class F>
    Library& fallback(F&&);
    template <class T>
    torch::class_<T> class_(const std::string& name);
    Library& set_python_module(const char*, const char* context = "");
    Library& impl_abstract_pystub(const char*, const char* context = "");

    CUDA_WHEEL_HOST_OBJECT;
};
namespace detail {
struct TorchLibraryInit {
    TorchLibraryInit(Library::Kind, void (*)(Library&), const char* name_space, std::optional<c10::DispatchKey>, const char* file,
                     uint32_t line);
};
} // namespace detail

struct RegisterOperators {
    struct Options {
        template <class S>
        Options& schema(S&&);
        template <class F>
        Options& catchAllKernel(F&&);
        template <class F>
        Options& kernel(c10::DispatchKey, F&&);
        template <class F, F* f>
        Options& kernel(c10::DispatchKey);
    };
    RegisterOperators();
    template <class... Args>
    explicit RegisterOperators(const std::string& schema, Args&&...);
    template <class... Args>
    RegisterOperators& op(const std::string& schema, Args&&...);
    static Options options();
};
namespace jit {
using ::torch::RegisterOperators;
}

} // namespace torch
namespace c10 {
using torch::RegisterOperators;
}

#define TORCH_SELECTIVE_CLASS(name) name
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(name) name
#define TORCH_FN(function) function
// Not `const` as in PyTorch: NVRTC takes constants for variables of the device, and those cannot call a constructor.
#define CUDA_WHEEL_PYTORCH_LIBRARY(kind, init, ns, key, m)                                                 \
    static void C10_CONCATENATE(TORCH_LIBRARY_init_##ns##_, init)(torch::Library&);                        \
    static torch::detail::TorchLibraryInit C10_CONCATENATE(TORCH_LIBRARY_static_init_##ns##_, init)( \
        torch::Library::kind, &C10_CONCATENATE(TORCH_LIBRARY_init_##ns##_, init), #ns, key, __FILE__, __LINE__); \
    void C10_CONCATENATE(TORCH_LIBRARY_init_##ns##_, init)(torch::Library & m)
#define _TORCH_LIBRARY_FRAGMENT(ns, m, uid) CUDA_WHEEL_PYTORCH_LIBRARY(FRAGMENT, uid, ns, std::nullopt, m)
#define _TORCH_LIBRARY_IMPL(ns, k, m, uid) \
    CUDA_WHEEL_PYTORCH_LIBRARY(IMPL, uid, ns, std::make_optional(c10::DispatchKey::k), m)
#define TORCH_LIBRARY(ns, m) _TORCH_LIBRARY(ns, m, __LINE__)
#define _TORCH_LIBRARY(ns, m, uid) CUDA_WHEEL_PYTORCH_LIBRARY(DEF, uid, ns, std::nullopt, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) _TORCH_LIBRARY_FRAGMENT(ns, m, __LINE__)
#define TORCH_LIBRARY_IMPL(ns, k, m) _TORCH_LIBRARY_IMPL(ns, k, m, __LINE__)

#endif
