// pybind11 as bindings use it: objects, casts, arrays, functions, classes, enumerations, PYBIND11_MODULE.
#ifndef CUDA_WHEEL_PYTORCH_PYBIND11_H
#define CUDA_WHEEL_PYTORCH_PYBIND11_H

#include <Python.h>
#include <cuda_wheel_detail/pytorch/host_object.h>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

// The release whose interface this header declares; `defines` may name another.
#ifndef PYBIND11_VERSION_MAJOR
#define PYBIND11_VERSION_MAJOR 2
#define PYBIND11_VERSION_MINOR 13
#define PYBIND11_VERSION_PATCH 6
#endif
#ifndef PYBIND11_VERSION_HEX
#define PYBIND11_VERSION_HEX \
  (PYBIND11_VERSION_MAJOR << 24 | PYBIND11_VERSION_MINOR << 16 | PYBIND11_VERSION_PATCH << 8)
#endif
#define PYBIND11_NAMESPACE pybind11
#define PYBIND11_NAMESPACE_BEGIN(name) namespace name {
#define PYBIND11_NAMESPACE_END(name) }
#define PYBIND11_EXPORT
#define PYBIND11_NOINLINE inline

namespace pybind11 {

using ssize_t = Py_ssize_t;
using size_t = std::size_t;

enum class return_value_policy : uint8_t {
    automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal
};

// --- Objects -----------------------------------------------------------------------------------------------------------

class object;
class handle;
class str;
namespace detail {
struct accessor;
struct iterator;
template <class T, class = void>
struct type_caster;
} // namespace detail

class handle {
  public:
    handle() = default;
    handle(std::nullptr_t);
    handle(PyObject*);
    PyObject* ptr() const;
    PyObject*& ptr();
    const handle& inc_ref() const;
    const handle& dec_ref() const;
    explicit operator bool() const;
    bool operator==(const handle&) const;
    bool operator!=(const handle&) const;
    template <class T>
    T cast() const;
    bool is(const handle&) const;
    bool is_none() const;
    bool equal(const handle&) const;
    detail::accessor attr(const char*) const;
    detail::accessor attr(handle) const;
    detail::accessor operator[](handle) const;
    detail::accessor operator[](const char*) const;
    template <class... Args>
    object operator()(Args&&...) const;
    template <class T>
    bool contains(T&&) const;
    detail::iterator begin() const;
    detail::iterator end() const;
    handle get_type() const;
    int ref_count() const;
    str doc() const;

  protected:
    PyObject* m_ptr;

    CUDA_WHEEL_HOST_OBJECT;
};
class object : public handle {
  public:
    object() = default;
    object(handle, bool is_borrowed);
    object(const object&);
    object(object&&) noexcept;
    ~object();
    object& operator=(const object&);
    object& operator=(object&&) noexcept;
    handle release();
    template <class T>
    T cast() const&;
    template <class T>
    T cast() &&;
};
template <class T>
T reinterpret_borrow(handle);
template <class T>
T reinterpret_steal(handle);
namespace detail {
struct accessor : object {
    template <class T>
    void operator=(T&&) &&;
    template <class T>
    void operator=(T&&) &;
    template <class T>
    T cast() const;
};
struct iterator {
    handle operator*() const;
    const handle* operator->() const;
    iterator& operator++();
    bool operator==(const iterator&) const;
    bool operator!=(const iterator&) const;
};
} // namespace detail
using detail::iterator;

#define CUDA_WHEEL_PYBIND11_OBJECT(name) \
    class name : public object {         \
      public:                            \
        name();                          \
        name(const object&);             \
        name(handle, bool is_borrowed);
CUDA_WHEEL_PYBIND11_OBJECT(none)
};
CUDA_WHEEL_PYBIND11_OBJECT(ellipsis)
};
CUDA_WHEEL_PYBIND11_OBJECT(str)
    str(const char*);
    str(const std::string&);
    str(std::string_view);
    str(const char*, size_t);
    explicit str(handle);
    operator std::string() const;
    template <class... Args>
    str format(Args&&...) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(bytes)
    bytes(const char*);
    bytes(const char*, size_t);
    bytes(const std::string&);
    operator std::string() const;
};
CUDA_WHEEL_PYBIND11_OBJECT(bytearray)
};
CUDA_WHEEL_PYBIND11_OBJECT(bool_)
    bool_(bool);
    operator bool() const;
};
CUDA_WHEEL_PYBIND11_OBJECT(int_)
    template <class T, class = typename std::enable_if<std::is_integral<T>::value>::type>
    int_(T);
    template <class T, class = typename std::enable_if<std::is_integral<T>::value>::type>
    operator T() const;
};
CUDA_WHEEL_PYBIND11_OBJECT(float_)
    float_(double);
    operator double() const;
    operator float() const;
};
CUDA_WHEEL_PYBIND11_OBJECT(tuple)
    explicit tuple(size_t);
    size_t size() const;
    bool empty() const;
    detail::accessor operator[](size_t) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(list)
    explicit list(size_t);
    size_t size() const;
    bool empty() const;
    detail::accessor operator[](size_t) const;
    template <class T>
    void append(T&&) const;
    template <class T>
    void insert(size_t, T&&) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(dict)
    template <class... Args, class = typename std::enable_if<(sizeof...(Args) > 1)>::type>
    explicit dict(Args&&...);
    size_t size() const;
    bool empty() const;
    void clear() const;
};
CUDA_WHEEL_PYBIND11_OBJECT(set)
    size_t size() const;
    template <class T>
    bool add(T&&) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(sequence)
    size_t size() const;
    detail::accessor operator[](size_t) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(iterable)
};
CUDA_WHEEL_PYBIND11_OBJECT(slice)
    slice(ssize_t, ssize_t, ssize_t);
    bool compute(size_t, size_t*, size_t*, size_t*, size_t*) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(type)
    template <class T>
    static type of();
};
CUDA_WHEEL_PYBIND11_OBJECT(function)
};
CUDA_WHEEL_PYBIND11_OBJECT(memoryview)
    static memoryview from_memory(void*, ssize_t, bool readonly = false);
};
CUDA_WHEEL_PYBIND11_OBJECT(capsule)
    explicit capsule(const void*, const char* name = nullptr, PyCapsule_Destructor = nullptr);
    capsule(const void*, void (*)(void*));
    capsule(const void*, void (*)(PyObject*));
    template <class T = void>
    T* get_pointer() const;
    template <class T>
    operator T*() const;
    const char* name() const;
};
class args : public tuple {
    using tuple::tuple;
};
class kwargs : public dict {
    using dict::dict;
};
class cpp_function : public function {
  public:
    cpp_function();
    template <class F, class... Extra>
    cpp_function(F&&, const Extra&...);
};

template <class T>
bool isinstance(handle);
bool isinstance(handle, handle);
bool hasattr(handle, const char*);
object getattr(handle, const char*);
template <class T>
object getattr(handle, const char*, T&&);
template <class T>
void setattr(handle, const char*, T&&);
size_t len(handle);
str repr(handle);
template <class T>
T cast(const handle&);
template <class T>
object cast(T&&, return_value_policy = return_value_policy::automatic_reference, handle parent = handle());
template <class... Args>
tuple make_tuple(Args&&...);
template <class... Args>
void print(Args&&...);
template <class... T>
iterator make_iterator(T&&...);
template <class In, class Out>
void implicitly_convertible();
dict globals();
object eval(const str&, object global = object(), object local = object());
void exec(const str&, object global = object(), object local = object());

// --- Errors and the GIL -----------------------------------------------------------------------------------------------

class error_already_set : public std::exception {
  public:
    error_already_set();
    const char* what() const noexcept override;
    bool matches(handle) const;
    void restore();

    CUDA_WHEEL_HOST_OBJECT;
};
class builtin_exception : public std::runtime_error {
    using std::runtime_error::runtime_error;

    CUDA_WHEEL_HOST_OBJECT;
};
#define CUDA_WHEEL_PYBIND11_ERROR(name)                  \
    class name : public builtin_exception {              \
      public:                                            \
        name(const std::string&);                        \
        name(const char* what = "");                     \
    };
CUDA_WHEEL_PYBIND11_ERROR(stop_iteration)
CUDA_WHEEL_PYBIND11_ERROR(index_error)
CUDA_WHEEL_PYBIND11_ERROR(key_error)
CUDA_WHEEL_PYBIND11_ERROR(value_error)
CUDA_WHEEL_PYBIND11_ERROR(type_error)
CUDA_WHEEL_PYBIND11_ERROR(buffer_error)
CUDA_WHEEL_PYBIND11_ERROR(import_error)
CUDA_WHEEL_PYBIND11_ERROR(attribute_error)
CUDA_WHEEL_PYBIND11_ERROR(cast_error)
#undef CUDA_WHEEL_PYBIND11_ERROR
template <class E>
struct exception : object {
    exception(handle scope, const char* name, handle base = PyExc_Exception);
};
template <class E>
exception<E>& register_exception(handle scope, const char* name, handle base = PyExc_Exception);
template <class F>
void register_exception_translator(F&&);

class gil_scoped_acquire {
  public:
    gil_scoped_acquire();
    ~gil_scoped_acquire();

    CUDA_WHEEL_HOST_OBJECT;
};
class gil_scoped_release {
  public:
    explicit gil_scoped_release(bool disassociate = false);
    ~gil_scoped_release();

    CUDA_WHEEL_HOST_OBJECT;
};
class scoped_interpreter {
  public:
    scoped_interpreter(bool init_signal_handlers = true);
    ~scoped_interpreter();

    CUDA_WHEEL_HOST_OBJECT;
};

// --- Buffers and NumPy's arrays -----------------------------------------------------------------------------------------

template <class T>
struct format_descriptor {
    static std::string format();
    static constexpr const char* value = "";
};
struct buffer_info {
    void* ptr = nullptr;
    ssize_t itemsize = 0, size = 0;
    std::string format;
    ssize_t ndim = 0;
    std::vector<ssize_t> shape, strides;
    bool readonly = false;
    buffer_info();
    template <class Shape, class Strides>
    buffer_info(void*, ssize_t itemsize, const std::string& format, ssize_t ndim, Shape, Strides, bool readonly = false);
    buffer_info(void*, ssize_t itemsize, const std::string& format, ssize_t ndim, std::vector<ssize_t>, std::vector<ssize_t>,
                bool readonly = false);
    buffer_info(void*, ssize_t itemsize, const std::string& format, ssize_t size, bool readonly = false);

    CUDA_WHEEL_HOST_OBJECT;
};
CUDA_WHEEL_PYBIND11_OBJECT(buffer)
    buffer_info request(bool writable = false) const;
};
CUDA_WHEEL_PYBIND11_OBJECT(dtype)
    explicit dtype(const std::string&);
    template <class T>
    static dtype of();
    ssize_t itemsize() const;
    char kind() const;
};
namespace detail {
template <class T, ssize_t Dims>
struct unchecked_array {
    template <class... I>
    const T& operator()(I...) const;
    const T& operator[](ssize_t) const;
    template <class... I>
    const T* data(I...) const;
    ssize_t shape(ssize_t) const;
    ssize_t size() const;
    ssize_t ndim() const;

    CUDA_WHEEL_HOST_OBJECT;
};
template <class T, ssize_t Dims>
struct mutable_unchecked_array : unchecked_array<T, Dims> {
    template <class... I>
    T& operator()(I...);
    T& operator[](ssize_t);
    template <class... I>
    T* mutable_data(I...);
};
} // namespace detail
class array : public buffer {
  public:
    using ShapeContainer = std::vector<ssize_t>;
    using StridesContainer = std::vector<ssize_t>;
    enum { c_style = 1, f_style = 2, forcecast = 16 };
    array();
    array(const object&);
    array(const dtype&, ShapeContainer, StridesContainer, const void* = nullptr, handle base = handle());
    array(const dtype&, ShapeContainer, const void* = nullptr, handle base = handle());
    template <class T>
    array(ShapeContainer, StridesContainer, const T*, handle base = handle());
    template <class T>
    array(ShapeContainer, const T*, handle base = handle());
    template <class T>
    array(ssize_t, const T*, handle base = handle());
    explicit array(const buffer_info&);
    pybind11::dtype dtype() const;
    ssize_t size() const;
    ssize_t itemsize() const;
    ssize_t nbytes() const;
    ssize_t ndim() const;
    const ssize_t* shape() const;
    ssize_t shape(ssize_t) const;
    const ssize_t* strides() const;
    ssize_t strides(ssize_t) const;
    int flags() const;
    bool writeable() const;
    bool owndata() const;
    template <class... I>
    const void* data(I...) const;
    template <class... I>
    void* mutable_data(I...);
    template <class T, ssize_t Dims = -1>
    detail::mutable_unchecked_array<T, Dims> mutable_unchecked() &;
    template <class T, ssize_t Dims = -1>
    detail::unchecked_array<T, Dims> unchecked() const&;
    array squeeze();
    array reshape(ShapeContainer);
    void resize(ShapeContainer, bool refcheck = true);
    static array ensure(handle, int extra_flags = 0);
};
template <class T, int Flags = array::forcecast>
class array_t : public array {
  public:
    using value_type = T;
    array_t();
    array_t(const object&);
    explicit array_t(const buffer_info&);
    array_t(ShapeContainer, StridesContainer, const T* = nullptr, handle base = handle());
    explicit array_t(ShapeContainer, const T* = nullptr, handle base = handle());
    template <class N, class = typename std::enable_if<std::is_integral<N>::value>::type>
    explicit array_t(N count, const T* = nullptr, handle base = handle());
    ssize_t itemsize() const;
    template <class... I>
    const T* data(I...) const;
    template <class... I>
    T* mutable_data(I...);
    template <class... I>
    const T& at(I...) const;
    template <class... I>
    T& mutable_at(I...);
    template <ssize_t Dims = -1>
    detail::mutable_unchecked_array<T, Dims> mutable_unchecked() &;
    template <ssize_t Dims = -1>
    detail::unchecked_array<T, Dims> unchecked() const&;
    static array_t ensure(handle);
};

// --- Attributes of functions and classes ------------------------------------------------------------------------------

struct arg_v;
struct arg {
    constexpr explicit arg(const char* name = nullptr) : name(name) {}
    template <class T>
    arg_v operator=(T&&) const;
    arg& noconvert(bool = true);
    arg& none(bool = true);
    const char* name;
};
struct arg_v : arg {
    template <class T>
    arg_v(arg&&, T&&, const char* description = nullptr);
    arg_v& noconvert(bool = true);
    arg_v& none(bool = true);
};
namespace literals {
constexpr arg operator"" _a(const char* name, size_t) { return arg(name); }
} // namespace literals
template <size_t Nurse, size_t Patient>
struct keep_alive {};
template <class... Guards>
struct call_guard {};
template <class... Args>
struct base {};
struct is_method { is_method(handle); };
struct is_operator {};
struct is_final {};
struct scope { scope(handle); };
struct name { name(const char*); };
struct doc { doc(const char*); };
struct sibling { sibling(handle); };
struct dynamic_attr {};
struct buffer_protocol {};
struct kw_only {};
struct pos_only {};
struct prepend {};
struct multiple_inheritance {};
struct module_local { constexpr module_local(bool = true) {} };
struct arithmetic {};
struct mod_gil_not_used { mod_gil_not_used(bool = true); };

namespace detail {
template <class... Args>
struct init_constructor {};
template <class... F>
struct init_factory {};
template <class G, class S>
struct pickle_factory {};
struct operator_on_self {
#define CUDA_WHEEL_PYBIND11_OPERATOR(op)              \
    template <class T>                                \
    operator_on_self operator op(const T&) const;
    CUDA_WHEEL_PYBIND11_OPERATOR(+)
    CUDA_WHEEL_PYBIND11_OPERATOR(-)
    CUDA_WHEEL_PYBIND11_OPERATOR(*)
    CUDA_WHEEL_PYBIND11_OPERATOR(/)
    CUDA_WHEEL_PYBIND11_OPERATOR(%)
    CUDA_WHEEL_PYBIND11_OPERATOR(==)
    CUDA_WHEEL_PYBIND11_OPERATOR(!=)
    CUDA_WHEEL_PYBIND11_OPERATOR(<)
    CUDA_WHEEL_PYBIND11_OPERATOR(<=)
    CUDA_WHEEL_PYBIND11_OPERATOR(>)
    CUDA_WHEEL_PYBIND11_OPERATOR(>=)
    CUDA_WHEEL_PYBIND11_OPERATOR(+=)
    CUDA_WHEEL_PYBIND11_OPERATOR(-=)
    CUDA_WHEEL_PYBIND11_OPERATOR(*=)
    CUDA_WHEEL_PYBIND11_OPERATOR(/=)
#undef CUDA_WHEEL_PYBIND11_OPERATOR
    operator_on_self operator-() const;
};
template <class... Args>
struct overload_cast_impl {
    template <class R>
    constexpr auto operator()(R (*f)(Args...)) const noexcept -> decltype(f) { return f; }
    template <class R, class C>
    constexpr auto operator()(R (C::*f)(Args...), std::false_type = {}) const noexcept -> decltype(f) { return f; }
    template <class R, class C>
    constexpr auto operator()(R (C::*f)(Args...) const, std::true_type) const noexcept -> decltype(f) { return f; }
};
} // namespace detail
constexpr detail::operator_on_self self{};
template <class... Args>
constexpr detail::overload_cast_impl<Args...> overload_cast{};
constexpr std::true_type const_{};

template <class... Args>
detail::init_constructor<Args...> init();
template <class F>
detail::init_factory<F> init(F&&);
template <class F, class G>
detail::init_factory<F, G> init(F&&, G&&);
template <class... Args>
detail::init_constructor<Args...> init_alias();
template <class G, class S>
detail::pickle_factory<G, S> pickle(G&&, S&&);

// --- Modules, classes, enumerations -----------------------------------------------------------------------------------

class module_ : public object {
  public:
    module_();
    explicit module_(const char* name, const char* doc = nullptr);
    template <class F, class... Extra>
    module_& def(const char* name, F&&, const Extra&...);
    module_ def_submodule(const char* name, const char* doc = nullptr);
    static module_ import(const char*);
    void reload();
    template <class T>
    void add_object(const char*, T&&, bool overwrite = false);
    struct module_def {};
};
using module = module_;

template <class T, class... Options>
class class_ : public object {
  public:
    using type = T;
    class_();
    template <class... Extra>
    class_(handle scope, const char* name, const Extra&...);
    template <class F, class... Extra>
    class_& def(const char* name, F&&, const Extra&...);
    template <class... Args, class... Extra>
    class_& def(const detail::init_constructor<Args...>&, const Extra&...);
    template <class... F, class... Extra>
    class_& def(detail::init_factory<F...>&&, const Extra&...);
    template <class G, class S, class... Extra>
    class_& def(detail::pickle_factory<G, S>&&, const Extra&...);
    template <class... Extra>
    class_& def(const detail::operator_on_self&, const Extra&...);
    template <class F, class... Extra>
    class_& def_static(const char* name, F&&, const Extra&...);
    template <class C, class M, class... Extra>
    class_& def_readwrite(const char* name, M C::*, const Extra&...);
    template <class C, class M, class... Extra>
    class_& def_readonly(const char* name, const M C::*, const Extra&...);
    template <class M, class... Extra>
    class_& def_readwrite_static(const char* name, M*, const Extra&...);
    template <class M, class... Extra>
    class_& def_readonly_static(const char* name, const M*, const Extra&...);
    template <class G, class... Extra>
    class_& def_property_readonly(const char* name, const G&, const Extra&...);
    template <class G, class... Extra>
    class_& def_property_readonly_static(const char* name, const G&, const Extra&...);
    template <class G, class S, class... Extra>
    class_& def_property(const char* name, const G&, const S&, const Extra&...);
    template <class G, class S, class... Extra>
    class_& def_property_static(const char* name, const G&, const S&, const Extra&...);
    template <class F>
    class_& def_buffer(F&&);
};
template <class T>
class enum_ : public class_<T> {
  public:
    template <class... Extra>
    enum_(const handle& scope, const char* name, const Extra&...);
    enum_& export_values();
    enum_& value(const char* name, T, const char* doc = nullptr);
};
template <class Vector, class Holder = std::unique_ptr<Vector>, class... Args>
class_<Vector, Holder> bind_vector(handle scope, const std::string& name, Args&&...);
template <class Map, class Holder = std::unique_ptr<Map>, class... Args>
class_<Map, Holder> bind_map(handle scope, const std::string& name, Args&&...);
template <class F>
F vectorize(const F&);

} // namespace pybind11

#define PYBIND11_MODULE(name, variable, ...)                 \
    static void pybind11_init_##name(::pybind11::module_&);  \
    extern "C" PyObject* PyInit_##name() {                   \
        ::pybind11::module_ module;                          \
        pybind11_init_##name(module);                        \
        return module.ptr();                                 \
    }                                                        \
    void pybind11_init_##name(::pybind11::module_& variable)
#define PYBIND11_EMBEDDED_MODULE(name, variable, ...) PYBIND11_MODULE(name, variable, __VA_ARGS__)
#define PYBIND11_MAKE_OPAQUE(...)
#define PYBIND11_DECLARE_HOLDER_TYPE(type, holder, ...)
#define PYBIND11_NUMPY_DTYPE(type, ...)
#define PYBIND11_TYPE_CASTER(type, name)                                                                     \
  protected:                                                                                                 \
    type value;                                                                                              \
                                                                                                             \
  public:                                                                                                    \
    operator type*();                                                                                        \
    operator type&();
#define PYBIND11_OVERRIDE(ret, base, fn, ...) return base::fn(__VA_ARGS__)
#define PYBIND11_OVERRIDE_PURE(ret, base, fn, ...) throw ::pybind11::cast_error(#fn)
#define PYBIND11_OVERLOAD(ret, base, fn, ...) PYBIND11_OVERRIDE(ret, base, fn, __VA_ARGS__)

#endif
