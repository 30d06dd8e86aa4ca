// The dispatch macros: each runs its lambda once for every type that the macro of PyTorch 2.11 covers, so that the lambda's
// kernels are instantiated for exactly those types.
#ifndef CUDA_WHEEL_PYTORCH_DISPATCH_H
#define CUDA_WHEEL_PYTORCH_DISPATCH_H

#include <climits>
#ifndef CUDA_WHEEL_WITHOUT_DRIVER_API
#include <cuda.h>
#endif

#include <cuda_wheel_detail/pytorch/errors.h>
#include <cuda_wheel_detail/pytorch/scalar_types.h>
#include <cuda_wheel_detail/pytorch/tensor_options.h>

// What PyTorch before 2.2 wrote after the name of a type in a dispatch.
#define C10_UNUSED_DISPATCH_CUDA_WORKAROUND [[maybe_unused]]

namespace detail {
torch::headeronly::ScalarType scalar_type(torch::headeronly::ScalarType);
// Of older releases: a macro took `x.type()`.
torch::headeronly::ScalarType scalar_type(const at::DeprecatedTypeProperties&);
} // namespace detail
namespace at {
constexpr bool should_include_kernel_dtype(const char*, at::ScalarType) { return true; }
} // namespace at

// --- Cases and switches, on which packages build their own macros ----------------------------------------------------

#define CUDA_WHEEL_PYTORCH_NOTHING(...)
#define THO_EMPTY CUDA_WHEEL_PYTORCH_NOTHING
#define RECORD_KERNEL_FUNCTION_DTYPE CUDA_WHEEL_PYTORCH_NOTHING
#define AT_PRIVATE_CHECK_SELECTIVE_BUILD CUDA_WHEEL_PYTORCH_NOTHING

// The case of one element type. `alias` is its C++ type in the lambda behind it; `first` is a macro that the case runs.
#define THO_PRIVATE_CASE_TYPE_USING_HINT_TMPL(first, number, alias, ...)                                    \
    case number: {                                                                                          \
        typedef torch::headeronly::impl::ScalarTypeToCPPTypeT<number> alias [[maybe_unused]];               \
        first(number);                                                                                      \
        return __VA_ARGS__();                                                                               \
    }
#define THO_PRIVATE_CASE_TYPE_USING_HINT(...) THO_PRIVATE_CASE_TYPE_USING_HINT_TMPL(THO_EMPTY, __VA_ARGS__)
#define AT_PRIVATE_CASE_TYPE_USING_HINT(...) \
    THO_PRIVATE_CASE_TYPE_USING_HINT_TMPL(AT_PRIVATE_CHECK_SELECTIVE_BUILD, __VA_ARGS__)
#define THO_DISPATCH_CASE_TMPL(make_case, number, ...) make_case(number, scalar_t, __VA_ARGS__)
#define THO_DISPATCH_CASE(...) THO_DISPATCH_CASE_TMPL(THO_PRIVATE_CASE_TYPE_USING_HINT, __VA_ARGS__)
#define AT_DISPATCH_CASE(...) THO_DISPATCH_CASE_TMPL(AT_PRIVATE_CASE_TYPE_USING_HINT, __VA_ARGS__)

// The switch over the cases. Cases may use its variables.
#define THO_DISPATCH_SWITCH_TMPL(first, check, tensor_type, name, ...)                                      \
    [&] {                                                                                                   \
        constexpr auto at_dispatch_name = static_cast<const char*>(name);                                   \
        const auto& the_type = tensor_type;                                                                 \
        const auto _st = static_cast<torch::headeronly::ScalarType>(::detail::scalar_type(the_type));         \
        first(at_dispatch_name, _st);                                                                       \
        switch (_st) {                                                                                      \
            __VA_ARGS__                                                                                     \
        default:                                                                                            \
            check(false, at_dispatch_name, ": no case for ", torch::headeronly::toString(_st));      \
        }                                                                                                   \
    }()
#define THO_DISPATCH_SWITCH(...) THO_DISPATCH_SWITCH_TMPL(THO_EMPTY, STD_TORCH_CHECK, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(...) \
    THO_DISPATCH_SWITCH_TMPL(RECORD_KERNEL_FUNCTION_DTYPE, TORCH_CHECK_NOT_IMPLEMENTED, __VA_ARGS__)

// The case of a quantized type, with what `more` declares.
#define CUDA_WHEEL_PYTORCH_QUANTIZED(number, type, more, ...)                                               \
    case number: {                                                                                          \
        [[maybe_unused]] const auto& SCALAR_TYPE = number;                                                  \
        typedef type scalar_t;                                                                              \
        [[maybe_unused]] const auto& UNDERLYING_TYPE = toUnderlying(SCALAR_TYPE);                           \
        typedef typename scalar_t::underlying underlying_t [[maybe_unused]];                                \
        more return __VA_ARGS__();                                                                          \
    }
#define CUDA_WHEEL_PYTORCH_RANGE(width, lowest, highest)                                                    \
    [[maybe_unused]] const int64_t quant_max = highest, quant_min = lowest;                                 \
    [[maybe_unused]] const int bit_width = width;
#define AT_DISPATCH_CASE_QINT(number, type, ...) CUDA_WHEEL_PYTORCH_QUANTIZED(number, type, , __VA_ARGS__)
#define AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(number, type, width, lowest, highest, ...) \
    CUDA_WHEEL_PYTORCH_QUANTIZED(number, type, CUDA_WHEEL_PYTORCH_RANGE(width, lowest, highest), __VA_ARGS__)

// --- Sets of types -------------------------------------------------------------------------------------------------

#include <cuda_wheel_detail/pytorch/dispatch_types.h>  // from tables/pytorch_types.txt

// Quantized types: of one byte, of whole bytes, and all.
#define AT_DISPATCH_CASE_QINT_BYTE_TYPES(...) \
    AT_DISPATCH_CASE_QINT(at::ScalarType::QInt8, c10::qint8, __VA_ARGS__) \
    AT_DISPATCH_CASE_QINT(at::ScalarType::QUInt8, c10::quint8, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES(...) \
    AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_QINT(at::ScalarType::QInt32, c10::qint32, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES_AND(further, ...) \
    AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(further, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_QUANTIZED_BITS(number, type, width, lowest, ...) \
    AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(at::ScalarType::number, c10::type, width, lowest, \
                                       lowest + (int64_t{1} << width) - 1, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES(...) \
    CUDA_WHEEL_PYTORCH_QUANTIZED_BITS(QInt8, qint8, 8, -128, __VA_ARGS__) \
    CUDA_WHEEL_PYTORCH_QUANTIZED_BITS(QUInt8, quint8, 8, 0, __VA_ARGS__) \
    CUDA_WHEEL_PYTORCH_QUANTIZED_BITS(QInt32, qint32, 32, -2147483648LL, __VA_ARGS__) \
    CUDA_WHEEL_PYTORCH_QUANTIZED_BITS(QUInt4x2, quint4x2, 4, 0, __VA_ARGS__) \
    CUDA_WHEEL_PYTORCH_QUANTIZED_BITS(QUInt2x4, quint2x4, 2, 0, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_SWITCH(cases, type, name, ...) AT_DISPATCH_SWITCH(type, name, cases(__VA_ARGS__))
#define AT_DISPATCH_QINT_TYPES(...) CUDA_WHEEL_PYTORCH_SWITCH(AT_DISPATCH_CASE_QINT_TYPES, __VA_ARGS__)
#define AT_DISPATCH_QINT_BYTE_TYPES(...) CUDA_WHEEL_PYTORCH_SWITCH(AT_DISPATCH_CASE_QINT_BYTE_TYPES, __VA_ARGS__)
#define AT_DISPATCH_QINT_AND_SUB_BYTE_TYPES(...) \
    CUDA_WHEEL_PYTORCH_SWITCH(AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES, __VA_ARGS__)
#define AT_DISPATCH_QINT_TYPES_AND(further, type, name, ...) \
    AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_QINT_TYPES_AND(further, __VA_ARGS__))

// Types of an index, named `index_t`.
#define CUDA_WHEEL_PYTORCH_INDEX_CASES(...) \
    AT_PRIVATE_CASE_TYPE_USING_HINT(at::kInt, index_t, __VA_ARGS__) \
    AT_PRIVATE_CASE_TYPE_USING_HINT(at::kLong, index_t, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(...) CUDA_WHEEL_PYTORCH_SWITCH(CUDA_WHEEL_PYTORCH_INDEX_CASES, __VA_ARGS__)

// --- AT_DISPATCH_V2: any list of types; see type_lists.h -------------------------------------------------------------

#define THO_DISPATCH_V2_TMPL(make_switch, make_case, type, name, body, ...) \
    make_switch(type, name, THO_AP_VAR_TMPL(make_case, AT_WRAP(body), type, __VA_ARGS__))
#define THO_DISPATCH_V2(type, name, body, ...) \
    THO_DISPATCH_V2_TMPL(THO_DISPATCH_SWITCH, THO_DISPATCH_CASE, type, name, AT_WRAP(body), __VA_ARGS__)
#define AT_DISPATCH_V2(type, name, body, ...) \
    THO_DISPATCH_V2_TMPL(AT_DISPATCH_SWITCH, AT_DISPATCH_CASE, type, name, AT_WRAP(body), __VA_ARGS__)
#define AT_AP_VAR(body, ...) THO_AP_VAR_TMPL(AT_DISPATCH_CASE, AT_WRAP(body), __VA_ARGS__)

#endif
