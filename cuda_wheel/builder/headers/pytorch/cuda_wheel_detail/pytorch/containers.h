// PyTorch's small utilities: ArrayRef, SmallVector, intrusive_ptr, irange, List, Dict and the names of std in c10.
#ifndef CUDA_WHEEL_PYTORCH_CONTAINERS_H
#define CUDA_WHEEL_PYTORCH_CONTAINERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_wheel_detail/pytorch/errors.h>

namespace c10 {

using std::in_place;
using std::in_place_t;
using std::in_place_type_t;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using string_view = std::string_view;
template <class T>
T value_or_else(const std::optional<T>&, std::function<T()>);

template <class T, unsigned N>
class SmallVector;

template <class T>
class SmallVectorImpl {
  public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;
    using reference = T&;
    using const_reference = const T&;
    using size_type = size_t;
    T* begin();
    T* end();
    const T* begin() const;
    const T* end() const;
    T* data();
    const T* data() const;
    T& operator[](size_t);
    const T& operator[](size_t) const;
    T& front();
    const T& front() const;
    T& back();
    const T& back() const;
    size_t size() const;
    size_t capacity() const;
    bool empty() const;
    void clear();
    void resize(size_t);
    void resize(size_t, const T&);
    void reserve(size_t);
    void push_back(const T&);
    void push_back(T&&);
    template <class... Args>
    T& emplace_back(Args&&...);
    void pop_back();
    T* insert(T* where, T value);
    template <class I>
    T* insert(T* where, I first, I last);
    T* erase(const T*);
    T* erase(const T*, const T*);
    template <class I>
    void append(I first, I last);
    void append(std::initializer_list<T>);
    void assign(size_t, const T&);
    template <class I, class = typename std::iterator_traits<I>::iterator_category>
    void assign(I first, I last);
    bool operator==(const SmallVectorImpl&) const;
    bool operator!=(const SmallVectorImpl&) const;

  private:
    void* cuda_wheel_layout[2] = {};
};

template <class T, unsigned N = 8>
class SmallVector : public SmallVectorImpl<T> {
  public:
    SmallVector();
    explicit SmallVector(size_t, const T& value = T());
    template <class I, class = typename std::iterator_traits<I>::iterator_category>
    SmallVector(I first, I last);
    template <class C, class = decltype(std::declval<const C&>().begin()),
              class = typename std::enable_if<!std::is_same<C, std::initializer_list<T>>::value>::type, class = void>
    explicit SmallVector(const C&);
    SmallVector(std::initializer_list<T>);
    SmallVector(const SmallVector&);
    SmallVector& operator=(const SmallVector&);
    SmallVector& operator=(std::initializer_list<T>);

  private:
    alignas(T) char cuda_wheel_elements[N * sizeof(T)] = {};
};

// ArrayRef's base, which the stable interface takes; kernels' parameters may name it.
template <class T>
class HeaderOnlyArrayRef {
    const T* data_;
    size_t size_;

  public:
    using iterator = const T*;
    using const_iterator = const T*;
    using size_type = size_t;
    using value_type = T;
    using reverse_iterator = std::reverse_iterator<iterator>;

    constexpr HeaderOnlyArrayRef() : data_(nullptr), size_(0) {}
    constexpr HeaderOnlyArrayRef(const T& one) : data_(&one), size_(1) {}
    constexpr HeaderOnlyArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
    constexpr HeaderOnlyArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
    template <class C, class P = decltype(std::declval<const C&>().data()), class = decltype(std::declval<const C&>().size()),
              class = typename std::enable_if<(std::is_same<P, const T*>::value || std::is_same<P, T*>::value) &&
                                              !std::is_base_of<HeaderOnlyArrayRef, C>::value>::type>
    constexpr HeaderOnlyArrayRef(const C& container) : data_(container.data()), size_(container.size()) {}
    constexpr HeaderOnlyArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), size_(list.size()) {}
    template <size_t N>
    constexpr HeaderOnlyArrayRef(const T (&array)[N]) : data_(array), size_(N) {}

    constexpr iterator begin() const { return data_; }
    constexpr iterator end() const { return data_ + size_; }
    constexpr const_iterator cbegin() const { return data_; }
    constexpr const_iterator cend() const { return data_ + size_; }
    reverse_iterator rbegin() const;
    reverse_iterator rend() const;
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T* data() const { return data_; }
    constexpr size_t size() const { return size_; }
    constexpr const T& front() const { return data_[0]; }
    constexpr const T& back() const { return data_[size_ - 1]; }
    constexpr const T& operator[](size_t i) const { return data_[i]; }
    constexpr const T& at(size_t i) const { return data_[i]; }
    constexpr bool equals(HeaderOnlyArrayRef other) const {
        if (size_ != other.size_) return false;
        for (size_t i = 0; i < size_; i++)
            if (!(data_[i] == other.data_[i])) return false;
        return true;
    }
    std::vector<T> vec() const;
};

template <class T>
class ArrayRef : public HeaderOnlyArrayRef<T> {
  public:
    using HeaderOnlyArrayRef<T>::HeaderOnlyArrayRef;
    constexpr ArrayRef() = default;
    constexpr ArrayRef(HeaderOnlyArrayRef<T> base) : HeaderOnlyArrayRef<T>(base) {}
    constexpr ArrayRef slice(size_t first, size_t count) const { return ArrayRef(this->data() + first, count); }
    constexpr ArrayRef slice(size_t first) const { return ArrayRef(this->data() + first, this->size() - first); }
};

template <class T>
ArrayRef<T> makeArrayRef(const T&);
template <class T>
ArrayRef<T> makeArrayRef(const T*, size_t);
template <class T>
ArrayRef<T> makeArrayRef(const std::vector<T>&);
template <class T>
std::ostream& operator<<(std::ostream&, ArrayRef<T>);
// With another ArrayRef, or with what converts to one.
template <class T>
constexpr bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <class T>
constexpr bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
#define CUDA_WHEEL_PYTORCH_COMPARES(Other)     \
    template <class T>                         \
    bool operator==(const Other&, ArrayRef<T>); \
    template <class T>                         \
    bool operator!=(const Other&, ArrayRef<T>); \
    template <class T>                         \
    bool operator==(ArrayRef<T>, const Other&); \
    template <class T>                         \
    bool operator!=(ArrayRef<T>, const Other&);
CUDA_WHEEL_PYTORCH_COMPARES(std::vector<T>)
CUDA_WHEEL_PYTORCH_COMPARES(SmallVectorImpl<T>)
#undef CUDA_WHEEL_PYTORCH_COMPARES
using IntArrayRef = ArrayRef<int64_t>;
using IntList = IntArrayRef;

template <class T>
class OptionalArrayRef {
  public:
    OptionalArrayRef() noexcept;
    OptionalArrayRef(std::nullopt_t) noexcept;
    OptionalArrayRef(ArrayRef<T>);
    OptionalArrayRef(const std::optional<ArrayRef<T>>&);
    OptionalArrayRef(const T&);
    OptionalArrayRef(const std::initializer_list<T>&);
    template <class C, class P = decltype(std::declval<const C&>().data()), class = decltype(std::declval<const C&>().size())>
    OptionalArrayRef(const C&);
    bool has_value() const noexcept;
    explicit operator bool() const noexcept;
    const ArrayRef<T>& value() const;
    ArrayRef<T> value_or(ArrayRef<T>) const;
    const ArrayRef<T>& operator*() const;
    const ArrayRef<T>* operator->() const;

  private:
    void* cuda_wheel_layout[3] = {};
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
using DimVector = SmallVector<int64_t, 5>;

class intrusive_ptr_target {
  protected:
    intrusive_ptr_target() noexcept;
    virtual ~intrusive_ptr_target();

  private:
    virtual void release_resources();

    CUDA_WHEEL_HOST_OBJECT;
};


template <class T, class Null = void>
class intrusive_ptr {
  public:
    using element_type = T;
    intrusive_ptr() noexcept;
    intrusive_ptr(std::nullptr_t) noexcept;
    explicit intrusive_ptr(std::unique_ptr<T>) noexcept;
    intrusive_ptr(const intrusive_ptr&);
    template <class U, class N, class = typename std::enable_if<std::is_convertible<U*, T*>::value>::type>
    intrusive_ptr(const intrusive_ptr<U, N>&);
    ~intrusive_ptr();
    intrusive_ptr& operator=(const intrusive_ptr&);
    T* get() const noexcept;
    T& operator*() const noexcept;
    T* operator->() const noexcept;
    operator bool() const noexcept;
    void reset() noexcept;
    size_t use_count() const noexcept;
    size_t weak_use_count() const noexcept;
    bool unique() const noexcept;
    bool defined() const noexcept;
    T* release() noexcept;
    template <class... Args>
    static intrusive_ptr make(Args&&...);
    static intrusive_ptr reclaim(T*);
    static intrusive_ptr unsafe_steal_from_new(T*);
    bool operator==(const intrusive_ptr&) const noexcept;
    bool operator!=(const intrusive_ptr&) const noexcept;

  private:
    void* cuda_wheel_layout = {};
};
template <class T, class Null = void, class... Args>
intrusive_ptr<T, Null> make_intrusive(Args&&...);
template <class T, class Null = void>
class weak_intrusive_ptr {
  public:
    weak_intrusive_ptr(const intrusive_ptr<T, Null>&);
    intrusive_ptr<T, Null> lock() const noexcept;
    bool expired() const noexcept;

  private:
    void* cuda_wheel_layout = {};
};

template <class T>
class MaybeOwned {
  public:
    MaybeOwned();
    static MaybeOwned borrowed(const T&);
    static MaybeOwned owned(T&&);
    template <class... Args>
    static MaybeOwned owned(std::in_place_t, Args&&...);
    const T& operator*() const&;
    const T* operator->() const;
    bool isOwned() const noexcept;

  private:
    void* cuda_wheel_layout[2] = {};
};

template <class Signature>
class function_ref;
template <class R, class... Args>
class function_ref<R(Args...)> {
  public:
    function_ref(std::nullptr_t = nullptr);
    template <class F, class = decltype(std::declval<F&>()(std::declval<Args>()...))>
    function_ref(F&& f) {
        if (false) f(std::declval<Args>()...);
    }
    R operator()(Args...) const;
    operator bool() const;
};

// Host loops, and loops of constexpr functions, which device code may call.
namespace detail {
template <class I>
struct integer_iterator {
    I value;
    constexpr I operator*() const { return value; }
    constexpr const I* operator->() const { return &value; }
    constexpr integer_iterator& operator++() {
        ++value;
        return *this;
    }
    constexpr integer_iterator operator++(int) {
        integer_iterator before = *this;
        ++value;
        return before;
    }
    constexpr bool operator==(const integer_iterator& other) const { return value == other.value; }
    constexpr bool operator!=(const integer_iterator& other) const { return value != other.value; }
};
} // namespace detail
template <class I>
struct integer_range {
    detail::integer_iterator<I> begin_, end_;
    constexpr integer_range(I begin, I end) : begin_{begin}, end_{end} {}
    constexpr detail::integer_iterator<I> begin() const { return begin_; }
    constexpr detail::integer_iterator<I> end() const { return end_; }
};
template <class I, class J>
constexpr integer_range<J> irange(I begin, J end) {
    return {static_cast<J>(begin), static_cast<J>(begin) > end ? static_cast<J>(begin) : end};
}
template <class I>
constexpr integer_range<I> irange(I end) {
    return {I(), end < I() ? I() : end};
}

template <class T>
class List {
  public:
    using value_type = T;
    using iterator = T*;
    List();
    List(std::initializer_list<T>);
    explicit List(ArrayRef<T>);
    T get(size_t) const;
    T operator[](size_t) const;
    T extract(size_t) const;
    void set(size_t, T) const;
    void push_back(const T&) const;
    template <class... Args>
    void emplace_back(Args&&...) const;
    void append(List) const;
    void resize(size_t) const;
    void reserve(size_t) const;
    void clear() const;
    bool empty() const;
    size_t size() const;
    iterator begin() const;
    iterator end() const;
    std::vector<T> vec() const;
    List copy() const;

  private:
    void* cuda_wheel_layout = {};
};

template <class K, class V>
struct DictEntry {
    const K& key() const;
    const V& value() const;
    void setValue(V) const;

    CUDA_WHEEL_HOST_OBJECT;
};
template <class K, class V>
class Dict {
  public:
    using key_type = K;
    using mapped_type = V;
    using iterator = DictEntry<K, V>*;
    Dict();
    V at(const K&) const;
    bool contains(const K&) const;
    iterator find(const K&) const;
    template <class A, class B>
    std::pair<iterator, bool> insert(A&&, B&&) const;
    template <class A, class B>
    std::pair<iterator, bool> insert_or_assign(A&&, B&&) const;
    size_t erase(const K&) const;
    size_t size() const;
    bool empty() const;
    void clear() const;
    void reserve(size_t) const;
    iterator begin() const;
    iterator end() const;

  private:
    void* cuda_wheel_layout = {};
};

template <class T>
using remove_cvref_t = typename std::remove_cv<typename std::remove_reference<T>::type>::type;

template <class C>
int64_t multiply_integers(const C&);
template <class I>
int64_t multiply_integers(I first, I last);
template <class C>
int64_t sum_integers(const C&);
std::string Join(const std::string& separator, const std::vector<std::string>&);
int64_t maybe_wrap_dim(int64_t dim, int64_t rank, bool wrap_scalar = true);

} // namespace c10

namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
namespace headeronly {
using c10::HeaderOnlyArrayRef;
using IntHeaderOnlyArrayRef = HeaderOnlyArrayRef<int64_t>;
} // namespace headeronly
} // namespace torch

#endif
