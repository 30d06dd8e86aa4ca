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

#define THO_EMPTY(...)
#define THO_PRIVATE_CASE_TYPE_USING_HINT_TMPL(PRELUDE, enum_type, HINT, ...)                              \
    case enum_type: {                                                                                     \
        PRELUDE(enum_type);                                                                               \
        using HINT [[maybe_unused]] = torch::headeronly::impl::ScalarTypeToCPPTypeT<enum_type>;           \
        return __VA_ARGS__();                                                                             \
    }
#define THO_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...) \
    THO_PRIVATE_CASE_TYPE_USING_HINT_TMPL(THO_EMPTY, enum_type, HINT, __VA_ARGS__)
#define THO_DISPATCH_CASE_TMPL(CASE, enum_type, ...) CASE(enum_type, scalar_t, __VA_ARGS__)
#define THO_DISPATCH_CASE(enum_type, ...) THO_DISPATCH_CASE_TMPL(THO_PRIVATE_CASE_TYPE_USING_HINT, enum_type, __VA_ARGS__)
#define THO_DISPATCH_SWITCH_TMPL(PRELUDE, CHECK, TYPE, NAME, ...)                                         \
    [&] {                                                                                                 \
        const auto& the_type = TYPE;                                                                      \
        constexpr const char* at_dispatch_name = NAME;                                                    \
        torch::headeronly::ScalarType _st = ::detail::scalar_type(the_type);                              \
        PRELUDE(at_dispatch_name, _st);                                                                   \
        switch (_st) {                                                                                    \
            __VA_ARGS__                                                                                   \
            default:                                                                                      \
                CHECK(false, '"', at_dispatch_name, "\" not implemented for '", torch::headeronly::toString(_st), "'"); \
        }                                                                                                 \
    }()
#define THO_DISPATCH_SWITCH(TYPE, NAME, ...) THO_DISPATCH_SWITCH_TMPL(THO_EMPTY, STD_TORCH_CHECK, TYPE, NAME, __VA_ARGS__)

#define RECORD_KERNEL_FUNCTION_DTYPE(NAME, enum_type)
#define AT_PRIVATE_CHECK_SELECTIVE_BUILD(enum_type)
#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...) \
    THO_PRIVATE_CASE_TYPE_USING_HINT_TMPL(AT_PRIVATE_CHECK_SELECTIVE_BUILD, enum_type, HINT, __VA_ARGS__)
#define AT_DISPATCH_CASE(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) \
    THO_DISPATCH_SWITCH_TMPL(RECORD_KERNEL_FUNCTION_DTYPE, TORCH_CHECK_NOT_IMPLEMENTED, TYPE, NAME, __VA_ARGS__)

#define AT_DISPATCH_CASE_QINT(enum_type, scalar_type, ...)                                  \
    case enum_type: {                                                                       \
        using scalar_t = scalar_type;                                                       \
        using underlying_t [[maybe_unused]] = typename scalar_t::underlying;                \
        [[maybe_unused]] const auto& SCALAR_TYPE = enum_type;                               \
        [[maybe_unused]] const auto& UNDERLYING_TYPE = toUnderlying(enum_type);             \
        return __VA_ARGS__();                                                               \
    }
#define AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(enum_type, scalar_type, bitwidth, qmin, qmax, ...) \
    case enum_type: {                                                                       \
        using scalar_t = scalar_type;                                                       \
        using underlying_t [[maybe_unused]] = typename scalar_t::underlying;                \
        [[maybe_unused]] const auto& SCALAR_TYPE = enum_type;                               \
        [[maybe_unused]] const auto& UNDERLYING_TYPE = toUnderlying(enum_type);             \
        [[maybe_unused]] int bit_width = bitwidth;                                          \
        [[maybe_unused]] int64_t quant_min = qmin;                                          \
        [[maybe_unused]] int64_t quant_max = qmax;                                          \
        return __VA_ARGS__();                                                               \
    }

// --- Sets of types -------------------------------------------------------------------------------------------------

#include <cuda_wheel_detail/pytorch/dispatch_types.h>  // from tables/pytorch_types.txt

#define AT_DISPATCH_CASE_QINT_BYTE_TYPES(...)                     \
    AT_DISPATCH_CASE_QINT(at::kQInt8, at::qint8, __VA_ARGS__)     \
    AT_DISPATCH_CASE_QINT(at::kQUInt8, at::quint8, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES(...)          \
    AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__) \
    AT_DISPATCH_CASE_QINT(at::kQInt32, at::qint32, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES_AND(A, ...) AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES(...)                                                             \
    AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(at::kQInt8, at::qint8, CHAR_BIT, SCHAR_MIN, SCHAR_MAX, __VA_ARGS__)        \
    AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(at::kQUInt8, at::quint8, CHAR_BIT, 0, UCHAR_MAX, __VA_ARGS__)              \
    AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(at::kQInt32, at::qint32, CHAR_BIT * sizeof(int), INT_MIN, INT_MAX, __VA_ARGS__) \
    AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(at::kQUInt4x2, at::quint4x2, 4, 0, 15, __VA_ARGS__)                        \
    AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(at::kQUInt2x4, at::quint2x4, 2, 0, 3, __VA_ARGS__)

#define AT_DISPATCH_QINT_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_BYTE_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_AND_SUB_BYTE_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES_AND(A, __VA_ARGS__))

#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                            \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                          \
                       AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Int, index_t, __VA_ARGS__)  \
                       AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Long, index_t, __VA_ARGS__))

// --- AT_DISPATCH_V2: any list of types; see type_lists.h -------------------------------------------------------------------------------

#define THO_DISPATCH_V2_TMPL(SWITCH, CASE, TYPE, NAME, BODY, ...) \
    SWITCH(TYPE, NAME, THO_AP_VAR_TMPL(CASE, AT_WRAP(BODY), TYPE, __VA_ARGS__))
#define THO_DISPATCH_V2(TYPE, NAME, BODY, ...) \
    THO_DISPATCH_V2_TMPL(THO_DISPATCH_SWITCH, THO_DISPATCH_CASE, TYPE, NAME, AT_WRAP(BODY), __VA_ARGS__)
#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) \
    THO_DISPATCH_V2_TMPL(AT_DISPATCH_SWITCH, AT_DISPATCH_CASE, TYPE, NAME, AT_WRAP(BODY), __VA_ARGS__)
#define AT_AP_VAR(N, T, ...) THO_AP_VAR_TMPL(AT_DISPATCH_CASE, AT_WRAP(N), T, __VA_ARGS__)

#endif
