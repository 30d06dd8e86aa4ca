// PyTorch's exceptions and checks: TORCH_CHECK and its kin evaluate their condition and type-check their message.
#ifndef CUDA_WHEEL_PYTORCH_ERRORS_H
#define CUDA_WHEEL_PYTORCH_ERRORS_H

#include <c10/macros/Macros.h>
#include <cuda_wheel_detail/pytorch/host_object.h>
#include <cuda_wheel_detail/pytorch/standard_library.h>

namespace c10 {

struct SourceLocation {
    const char* function;
    const char* file;
    uint32_t line;
};
std::ostream& operator<<(std::ostream&, const SourceLocation&);

template <class... Args>
std::string str(const Args&...);

class Error : public std::exception {
  public:
    Error(SourceLocation, std::string message);
    Error(std::string message, std::string backtrace, const void* caller = nullptr);
    Error(const char* file, uint32_t line, const char* condition, const std::string& message,
          const std::string& backtrace, const void* caller = nullptr);
    void add_context(std::string message);
    const std::string& msg() const;
    const std::vector<std::string>& context() const;
    const char* what() const noexcept override;
    const void* caller() const noexcept;
    virtual const char* what_without_backtrace() const noexcept;

    CUDA_WHEEL_HOST_OBJECT;
};

#define CUDA_WHEEL_PYTORCH_ERROR(name, base) \
    class name : public base {               \
        using base::base;                    \
    };
CUDA_WHEEL_PYTORCH_ERROR(ErrorAlwaysShowCppStacktrace, Error)
CUDA_WHEEL_PYTORCH_ERROR(IndexError, Error)
CUDA_WHEEL_PYTORCH_ERROR(ValueError, Error)
CUDA_WHEEL_PYTORCH_ERROR(TypeError, Error)
CUDA_WHEEL_PYTORCH_ERROR(NotImplementedError, Error)
CUDA_WHEEL_PYTORCH_ERROR(BufferError, Error)
CUDA_WHEEL_PYTORCH_ERROR(EnforceFiniteError, Error)
CUDA_WHEEL_PYTORCH_ERROR(LinAlgError, Error)
CUDA_WHEEL_PYTORCH_ERROR(OutOfMemoryError, Error)
CUDA_WHEEL_PYTORCH_ERROR(SyntaxError, Error)
CUDA_WHEEL_PYTORCH_ERROR(DistError, Error)
CUDA_WHEEL_PYTORCH_ERROR(DistBackendError, DistError)
#undef CUDA_WHEEL_PYTORCH_ERROR

namespace detail {
template <class... Args>
[[noreturn]] void torchCheckFail(const Args&...);
template <class... Args>
void warn(const Args&...);
// What `TORCH_CHECK_EQ(a, b) << "message"` streams into.
struct MessageStream {
    template <class T>
    const MessageStream& operator<<(const T&) const;

    CUDA_WHEEL_HOST_OBJECT;
};
template <class T>
T require_not_null(const char* name, T&& value);
} // namespace detail
} // namespace c10

namespace at {
using c10::Error;
}

#define C10_THROW_ERROR(type, message) \
    throw ::c10::type(::c10::SourceLocation{__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, message)
#define C10_BUILD_ERROR(type, message) \
    ::c10::type({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, message)

#define TORCH_RETHROW(e, ...)               \
    do {                                    \
        e.add_context(::c10::str(__VA_ARGS__)); \
        throw;                              \
    } while (false)

// As in PyTorch, each is an `if` statement, so that no semicolon need follow it.
#define TORCH_CHECK(cond, ...)                            \
    if (!(cond)) {                                        \
        ::c10::detail::torchCheckFail(#cond, ##__VA_ARGS__); \
    }
#define TORCH_CHECK_WITH(type, cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_WITH_MSG(type, cond, kind, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_BUFFER(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_ALWAYS_SHOW_CPP_STACKTRACE(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(cond, argN, ...) TORCH_CHECK(cond, "invalid argument ", argN, ": ", __VA_ARGS__)
#define TORCH_CHECK_IF_NOT_ON_CUDA(cond, ...)
#define TORCH_INTERNAL_ASSERT(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
    while (false)                             \
    TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif

#define TORCH_WARN(...) ::c10::detail::warn(__VA_ARGS__);
#define TORCH_WARN_ONCE(...) ::c10::detail::warn(__VA_ARGS__);
#define TORCH_WARN_DEPRECATION(...) ::c10::detail::warn(__VA_ARGS__);

#define CUDA_WHEEL_PYTORCH_COMPARE(a, b, op) \
    if (!((a)op(b))) ::c10::detail::MessageStream() << (a) << (b)
#define TORCH_CHECK_OP(a, b, op) CUDA_WHEEL_PYTORCH_COMPARE(a, b, op)
#define TORCH_CHECK_EQ(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, ==)
#define TORCH_CHECK_NE(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, !=)
#define TORCH_CHECK_LE(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, <=)
#define TORCH_CHECK_LT(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, <)
#define TORCH_CHECK_GE(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, >=)
#define TORCH_CHECK_GT(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, >)
#define TORCH_DCHECK_EQ(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, ==)
#define TORCH_DCHECK_NE(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, !=)
#define TORCH_DCHECK_LE(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, <=)
#define TORCH_DCHECK_LT(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, <)
#define TORCH_DCHECK_GE(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, >=)
#define TORCH_DCHECK_GT(a, b) CUDA_WHEEL_PYTORCH_COMPARE(a, b, >)
#define TORCH_CHECK_NOTNULL(value) ::c10::detail::require_not_null(#value, value)
#define TORCH_DCHECK_NOTNULL(value) ::c10::detail::require_not_null(#value, value)

#define STD_TORCH_CHECK(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define STD_TORCH_CHECK_MSG(cond, type, ...) TORCH_CHECK(cond, ##__VA_ARGS__)

// Of older releases; packages still write them.
#define AT_CHECK(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define AT_ASSERT(...)                      \
    do {                                    \
        TORCH_INTERNAL_ASSERT(__VA_ARGS__); \
    } while (false)
#define AT_ASSERTM(cond, ...)                        \
    do {                                             \
        TORCH_INTERNAL_ASSERT(cond, ##__VA_ARGS__); \
    } while (false)
#define AT_ERROR(...)                               \
    do {                                            \
        ::c10::detail::torchCheckFail(__VA_ARGS__); \
    } while (false)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#define AT_INDEX_ERROR(...) AT_ERROR(__VA_ARGS__)
#define AT_INDEXERROR(...) AT_ERROR(__VA_ARGS__)

#endif
