// nanobind as bindings use it: objects, casts, arrays, functions, classes, enumerations, NB_MODULE.
#ifndef CUDA_WHEEL_LIBRARIES_NANOBIND_H
#define CUDA_WHEEL_LIBRARIES_NANOBIND_H

#include <Python.h>
#include <complex>
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
#include <utility>
#include <vector>

// The release whose interface this header declares; `defines` may name another.
#ifndef NB_VERSION_MAJOR
#define NB_VERSION_MAJOR 2
#define NB_VERSION_MINOR 9
#define NB_VERSION_PATCH 2
#endif
#define NB_INLINE inline
#define NB_NOINLINE
#define NB_EXPORT

namespace nanobind {

using ssize_t = std::ptrdiff_t;
using std::size_t;
enum class rv_policy { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal, none };

// --- Objects -----------------------------------------------------------------------------------------------------------

class object;
class str;
namespace detail {
struct accessor;
struct iterator;
template <class T, class = int>
struct type_caster;
template <class T>
struct dtype_traits;
} // namespace detail

class handle {
  public:
    handle() = default;
    handle(std::nullptr_t);
    handle(PyObject*);
    PyObject* ptr() const;
    const handle& inc_ref() const;
    const handle& dec_ref() const;
    explicit operator bool() const;
    bool is(handle) const;
    bool is_none() const;
    bool is_valid() const;
    bool is_type() const;
    bool equal(const handle&) const;
    bool operator==(const handle&) const;
    bool operator!=(const handle&) const;
    handle type() const;
    detail::accessor attr(const char*) const;
    detail::accessor attr(handle) const;
    template <class Key>
    detail::accessor operator[](const Key&) const;
    detail::accessor doc() const;
    template <class... Args>
    object operator()(Args&&...) const;
    detail::iterator begin() const;
    detail::iterator end() const;

  protected:
    PyObject* m_ptr;
};
class object : public handle {
  public:
    object() = default;
    object(const object&);
    object(object&&) noexcept;
    ~object();
    object& operator=(const object&);
    object& operator=(object&&) noexcept;
    handle release();
    void reset();
};
template <class T = object>
T borrow(handle);
template <class T = object>
T steal(handle);
namespace detail {
struct accessor : object {
    template <class T>
    accessor& operator=(T&&);
};
struct iterator {
    handle operator*() const;
    iterator& operator++();
    bool operator==(const iterator&) const;
    bool operator!=(const iterator&) const;
};
} // namespace detail

object none();
#define CUDA_WHEEL_NANOBIND_OBJECT(name) \
    class name : public object {         \
      public:                            \
        name();                          \
        name(const object&);             \
        explicit name(handle);
CUDA_WHEEL_NANOBIND_OBJECT(str)
    explicit str(const char*);
    str(const char*, size_t);
    const char* c_str() const;
    template <class... Args>
    str format(Args&&...) const;
};
CUDA_WHEEL_NANOBIND_OBJECT(bytes)
    explicit bytes(const char*);
    bytes(const void*, size_t);
    const char* c_str() const;
    const void* data() const;
    size_t size() const;
};
CUDA_WHEEL_NANOBIND_OBJECT(bool_)
    explicit bool_(bool);
    explicit operator bool() const;
};
CUDA_WHEEL_NANOBIND_OBJECT(int_)
    template <class T, class = typename std::enable_if<std::is_arithmetic<T>::value>::type>
    explicit int_(T);
    template <class T, class = typename std::enable_if<std::is_arithmetic<T>::value>::type>
    explicit operator T() const;
};
CUDA_WHEEL_NANOBIND_OBJECT(float_)
    explicit float_(double);
    explicit operator double() const;
};
CUDA_WHEEL_NANOBIND_OBJECT(tuple)
    size_t size() const;
};
CUDA_WHEEL_NANOBIND_OBJECT(list)
    size_t size() const;
    template <class T>
    void append(T&&);
    template <class T>
    void insert(ssize_t, T&&);
    void extend(handle);
    void clear();
    void sort();
    void reverse();
};
CUDA_WHEEL_NANOBIND_OBJECT(dict)
    size_t size() const;
    list keys() const;
    list values() const;
    list items() const;
    template <class T>
    bool contains(T&&) const;
    void clear();
    void update(handle);
    detail::iterator begin() const;
    detail::iterator end() const;
};
CUDA_WHEEL_NANOBIND_OBJECT(set)
    size_t size() const;
    template <class T>
    bool contains(T&&) const;
    template <class T>
    void add(T&&);
    void clear();
};
CUDA_WHEEL_NANOBIND_OBJECT(sequence)
};
CUDA_WHEEL_NANOBIND_OBJECT(mapping)
};
CUDA_WHEEL_NANOBIND_OBJECT(iterable)
};
CUDA_WHEEL_NANOBIND_OBJECT(callable)
};
CUDA_WHEEL_NANOBIND_OBJECT(slice)
    slice(ssize_t, ssize_t, ssize_t);
    std::tuple<ssize_t, ssize_t, ssize_t, size_t> compute(size_t) const;
};
CUDA_WHEEL_NANOBIND_OBJECT(type_object)
};
CUDA_WHEEL_NANOBIND_OBJECT(capsule)
    capsule(const void*, void (*cleanup)(void*) noexcept = nullptr);
    capsule(const void*, const char* name, void (*cleanup)(void*) noexcept = nullptr);
    const char* name() const;
    void* data() const;
    void* data(const char* name) const;
};
CUDA_WHEEL_NANOBIND_OBJECT(weakref)
};
class args : public tuple {
    using tuple::tuple;
};
class kwargs : public dict {
    using dict::dict;
};
class any : public object {
    using object::object;
};
#undef CUDA_WHEEL_NANOBIND_OBJECT
template <class T>
class handle_t : public handle {
    using handle::handle;
};
template <class... T>
class typed : public object {
    using object::object;
};

template <class T>
bool isinstance(handle);
bool isinstance(handle, handle);
template <class T>
T cast(const handle&, bool convert = true);
template <class T>
object cast(T&&, rv_policy = rv_policy::automatic_reference, handle parent = handle());
template <class T>
bool try_cast(const handle&, T&, bool convert = true) noexcept;
template <class... Args>
tuple make_tuple(Args&&...);
template <class... T>
object make_iterator(T&&...);
template <class... T>
object make_key_iterator(T&&...);
template <class... T>
object make_value_iterator(T&&...);
template <class T>
object find(const T&) noexcept;
template <class T>
handle type() noexcept;
bool hasattr(handle, const char*) noexcept;
object getattr(handle, const char*);
template <class T>
object getattr(handle, const char*, T&&);
template <class T>
void setattr(handle, const char*, T&&);
void delattr(handle, const char*);
size_t len(handle);
str repr(handle);
dict globals();
object eval(const str&, handle global = handle(), handle local = handle());
void exec(const str&, handle global = handle(), handle local = handle());
template <class... Args>
void print(Args&&...);
void set_leak_warnings(bool) noexcept;
template <class T>
T* inst_ptr(handle);
bool inst_ready(handle) noexcept;

// --- Errors and the GIL -----------------------------------------------------------------------------------------------

class python_error : public std::exception {
  public:
    python_error();
    const char* what() const noexcept override;
    bool matches(handle) const noexcept;
    void restore() noexcept;
    void discard_as_unraisable(const char*) noexcept;
};
class builtin_exception : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
#define CUDA_WHEEL_NANOBIND_ERROR(name)     \
    class name : public builtin_exception { \
      public:                               \
        name(const char* what = nullptr);   \
    };
CUDA_WHEEL_NANOBIND_ERROR(stop_iteration)
CUDA_WHEEL_NANOBIND_ERROR(index_error)
CUDA_WHEEL_NANOBIND_ERROR(key_error)
CUDA_WHEEL_NANOBIND_ERROR(value_error)
CUDA_WHEEL_NANOBIND_ERROR(type_error)
CUDA_WHEEL_NANOBIND_ERROR(buffer_error)
CUDA_WHEEL_NANOBIND_ERROR(import_error)
CUDA_WHEEL_NANOBIND_ERROR(attribute_error)
CUDA_WHEEL_NANOBIND_ERROR(next_overload)
#undef CUDA_WHEEL_NANOBIND_ERROR
struct cast_error : std::exception {};
template <class E>
class exception : public object {
  public:
    exception(handle, const char*, handle base = PyExc_Exception);
};
void raise(const char*, ...);
void raise_type_error(const char*, ...);
void raise_python_error();
void register_exception_translator(void (*)(const std::exception_ptr&, void*), void* = nullptr);

struct gil_scoped_acquire {
    gil_scoped_acquire() noexcept;
    ~gil_scoped_acquire();
};
struct gil_scoped_release {
    gil_scoped_release() noexcept;
    ~gil_scoped_release();
};
struct ft_mutex {
    void lock();
    void unlock();
};

// --- Arrays -----------------------------------------------------------------------------------------------------------

namespace dlpack {
enum class dtype_code : uint8_t { Int, UInt, Float, Bfloat = 4, Complex, Bool };
struct device {
    int32_t device_type = 0;
    int32_t device_id = 0;
};
struct dtype {
    uint8_t code = 0;
    uint8_t bits = 0;
    uint16_t lanes = 0;
    bool operator==(const dtype&) const;
    bool operator!=(const dtype&) const;
};
} // namespace dlpack
template <class T>
dlpack::dtype dtype();

#define CUDA_WHEEL_NANOBIND_DEVICE(name, number)    \
    struct name {                                   \
        static constexpr int32_t value = number;    \
        static constexpr bool is_device_type = true; \
    };
namespace device {
CUDA_WHEEL_NANOBIND_DEVICE(none, 0)
CUDA_WHEEL_NANOBIND_DEVICE(cpu, 1)
CUDA_WHEEL_NANOBIND_DEVICE(cuda, 2)
CUDA_WHEEL_NANOBIND_DEVICE(cuda_host, 3)
CUDA_WHEEL_NANOBIND_DEVICE(opencl, 4)
CUDA_WHEEL_NANOBIND_DEVICE(vulkan, 7)
CUDA_WHEEL_NANOBIND_DEVICE(metal, 8)
CUDA_WHEEL_NANOBIND_DEVICE(rocm, 10)
CUDA_WHEEL_NANOBIND_DEVICE(rocm_host, 11)
CUDA_WHEEL_NANOBIND_DEVICE(cuda_managed, 13)
CUDA_WHEEL_NANOBIND_DEVICE(oneapi, 14)
} // namespace device
#undef CUDA_WHEEL_NANOBIND_DEVICE

template <ssize_t... Extents>
class shape {};
template <size_t N>
struct ndim {};
struct c_contig {
    static constexpr char value = 'C';
};
struct f_contig {
    static constexpr char value = 'F';
};
struct any_contig {
    static constexpr char value = 'A';
};
struct numpy {};
struct pytorch {};
struct tensorflow {};
struct jax {};
struct cupy {};
struct memview {};
struct array_api {};
struct ro {};

namespace detail {
template <class T>
struct is_array_tag : std::false_type {};
#define CUDA_WHEEL_NANOBIND_TAG(...) \
    template <>                      \
    struct is_array_tag<__VA_ARGS__> : std::true_type {};
CUDA_WHEEL_NANOBIND_TAG(device::none)
CUDA_WHEEL_NANOBIND_TAG(device::cpu)
CUDA_WHEEL_NANOBIND_TAG(device::cuda)
CUDA_WHEEL_NANOBIND_TAG(device::cuda_host)
CUDA_WHEEL_NANOBIND_TAG(device::opencl)
CUDA_WHEEL_NANOBIND_TAG(device::vulkan)
CUDA_WHEEL_NANOBIND_TAG(device::metal)
CUDA_WHEEL_NANOBIND_TAG(device::rocm)
CUDA_WHEEL_NANOBIND_TAG(device::rocm_host)
CUDA_WHEEL_NANOBIND_TAG(device::cuda_managed)
CUDA_WHEEL_NANOBIND_TAG(device::oneapi)
CUDA_WHEEL_NANOBIND_TAG(c_contig)
CUDA_WHEEL_NANOBIND_TAG(f_contig)
CUDA_WHEEL_NANOBIND_TAG(any_contig)
CUDA_WHEEL_NANOBIND_TAG(numpy)
CUDA_WHEEL_NANOBIND_TAG(pytorch)
CUDA_WHEEL_NANOBIND_TAG(tensorflow)
CUDA_WHEEL_NANOBIND_TAG(jax)
CUDA_WHEEL_NANOBIND_TAG(cupy)
CUDA_WHEEL_NANOBIND_TAG(memview)
CUDA_WHEEL_NANOBIND_TAG(array_api)
#undef CUDA_WHEEL_NANOBIND_TAG
template <ssize_t... Extents>
struct is_array_tag<shape<Extents...>> : std::true_type {};
template <size_t N>
struct is_array_tag<ndim<N>> : std::true_type {};

template <class T>
struct type_is {
    using type = T;
};
// The type of an array's elements: the argument that is no tag, const if `ro` is one, else void.
template <bool IsReadOnly, class... Args>
struct element {
    using type = typename std::conditional<IsReadOnly, const void, void>::type;
};
template <bool IsReadOnly, class T, class... Args>
struct element<IsReadOnly, T, Args...>
    : std::conditional<is_array_tag<T>::value, element<IsReadOnly, Args...>,
                       type_is<typename std::conditional<IsReadOnly, const T, T>::type>>::type {};
template <bool IsReadOnly, class... Args>
struct element<IsReadOnly, ro, Args...> : element<true, Args...> {};
} // namespace detail

template <class... Args>
class ndarray {
  public:
    using Scalar = typename detail::element<false, Args...>::type;
    using VoidPtr = typename std::conditional<std::is_const<Scalar>::value, const void*, void*>::type;
    static constexpr bool ReadOnly = std::is_const<Scalar>::value;
    ndarray() = default;
    ndarray(VoidPtr, size_t ndim, const size_t* shape, handle owner = handle(), const int64_t* strides = nullptr,
            dlpack::dtype = dlpack::dtype(), int device_type = 0, int device_id = 0, char order = 'C');
    ndarray(VoidPtr, std::initializer_list<size_t> shape = {}, handle owner = handle(),
            std::initializer_list<int64_t> strides = {}, dlpack::dtype = dlpack::dtype(), int device_type = 0,
            int device_id = 0, char order = 'C');
    template <class... Others>
    explicit ndarray(const ndarray<Others...>&);
    ndarray(const ndarray&);
    ndarray(ndarray&&) noexcept;
    ~ndarray();
    ndarray& operator=(const ndarray&);
    ndarray& operator=(ndarray&&) noexcept;
    Scalar* data() const;
    size_t ndim() const;
    size_t shape(size_t) const;
    int64_t stride(size_t) const;
    const int64_t* shape_ptr() const;
    const int64_t* stride_ptr() const;
    size_t size() const;
    size_t nbytes() const;
    size_t itemsize() const;
    bool is_valid() const;
    int device_type() const;
    int device_id() const;
    dlpack::dtype dtype() const;
    handle* handle_ptr() const;
    template <class... Extra>
    ndarray<Args..., Extra...> view() const;
    template <class... Index>
    auto operator()(Index...) const -> typename std::add_lvalue_reference<Scalar>::type;
    object cast(rv_policy = rv_policy::automatic_reference, handle parent = handle());
};

// --- Bindings ----------------------------------------------------------------------------------------------------------

struct arg {
    constexpr explicit arg(const char* = nullptr) {}
    template <class T>
    arg operator=(T&&) const;
    arg& noconvert(bool = true);
    arg& none(bool = true);
    arg& sig(const char*);
};
namespace literals {
constexpr arg operator""_a(const char* name, size_t) { return arg(name); }
} // namespace literals
struct kw_only {};
struct lock_self {};
struct is_method {};
struct is_operator {};
struct is_final {};
struct is_implicit {};
struct is_arithmetic {};
struct is_flag {};
struct is_generic {};
struct is_weak_referenceable {};
struct dynamic_attr {};
struct never_destruct {};
struct raw_doc {
    constexpr raw_doc(const char*) {}
};
struct name {
    constexpr name(const char*) {}
};
struct scope {
    scope(handle);
};
struct sig {
    constexpr sig(const char*) {}
};
template <class T>
T for_getter(const T&);
template <class T>
T for_setter(const T&);
template <size_t Nurse, size_t Patient>
struct keep_alive {};
template <class T>
struct supplement {};
template <class... T>
struct call_guard {};
template <class Policy>
struct call_policy {};
template <class... Args>
struct init {};
template <class T>
struct init_implicit {};
template <class F>
init<> new_(F&&);
template <class... Args>
struct overload_cast_impl {
    template <class R>
    constexpr auto operator()(R (*function)(Args...)) const -> R (*)(Args...) {
        return function;
    }
    template <class R, class Class>
    constexpr auto operator()(R (Class::*function)(Args...), std::false_type = {}) const -> R (Class::*)(Args...) {
        return function;
    }
    template <class R, class Class>
    constexpr auto operator()(R (Class::*function)(Args...) const, std::true_type) const -> R (Class::*)(Args...) const {
        return function;
    }
};
template <class... Args>
static constexpr overload_cast_impl<Args...> overload_cast{};
static constexpr auto const_ = std::true_type{};

class module_ : public object {
  public:
    template <class F, class... Extra>
    module_& def(const char*, F&&, const Extra&...);
    module_ def_submodule(const char*, const char* doc = nullptr);
    static module_ import_(const char*);
};
template <class F, class... Extra>
object cpp_function(F&&, const Extra&...);

template <class T, class... Bases>
class class_ : public object {
  public:
    template <class... Extra>
    class_(handle scope, const char*, const Extra&...);
    template <class... Args, class... Extra>
    class_& def(init<Args...>, const Extra&...);
    template <class Arg, class... Extra>
    class_& def(init_implicit<Arg>, const Extra&...);
    template <class F, class... Extra>
    class_& def(const char*, F&&, const Extra&...);
    template <class Operator, class... Extra>
    class_& def(const Operator&, const Extra&...);
    template <class F, class... Extra>
    class_& def_static(const char*, F&&, const Extra&...);
    template <class Member, class... Extra>
    class_& def_ro(const char*, Member, const Extra&...);
    template <class Member, class... Extra>
    class_& def_rw(const char*, Member, const Extra&...);
    template <class Member, class... Extra>
    class_& def_ro_static(const char*, Member, const Extra&...);
    template <class Member, class... Extra>
    class_& def_rw_static(const char*, Member, const Extra&...);
    template <class Getter, class... Extra>
    class_& def_prop_ro(const char*, Getter&&, const Extra&...);
    template <class Getter, class Setter, class... Extra>
    class_& def_prop_rw(const char*, Getter&&, Setter&&, const Extra&...);
    template <class Getter, class... Extra>
    class_& def_prop_ro_static(const char*, Getter&&, const Extra&...);
};
template <class T>
class enum_ : public object {
  public:
    template <class... Extra>
    enum_(handle scope, const char*, const Extra&...);
    enum_& value(const char*, T, const char* doc = nullptr);
    enum_& export_values();
    template <class F, class... Extra>
    enum_& def(const char*, F&&, const Extra&...);
};
template <class Source, class Target>
void implicitly_convertible();
template <class Vector, class... Extra>
class_<Vector> bind_vector(handle scope, const char*, Extra&&...);
template <class Map, class... Extra>
class_<Map> bind_map(handle scope, const char*, Extra&&...);

} // namespace nanobind

#define NB_MAKE_OPAQUE(...)
#define NB_TRAMPOLINE(...)
#define NB_MODULE(name, variable)                             \
    static void nanobind_init_##name(nanobind::module_&);     \
    extern "C" PyObject* PyInit_##name() {                    \
        nanobind::module_ module;                             \
        nanobind_init_##name(module);                         \
        return module.release().ptr();                        \
    }                                                         \
    void nanobind_init_##name(nanobind::module_& variable)

#endif
