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

// --- The cases of each set of types; A, B, ... are the enumerators that a caller adds ----------------------------------

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)              \
    AT_DISPATCH_CASE(at::ScalarType::Double, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
    AT_DISPATCH_CASE_FLOATING_TYPES_AND(at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)    \
    AT_DISPATCH_CASE(at::ScalarType::Half, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                      \
    AT_DISPATCH_CASE(at::ScalarType::ComplexDouble, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)         \
    AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)            \
    AT_DISPATCH_CASE(at::ScalarType::Byte, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Char, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Int, __VA_ARGS__)  \
    AT_DISPATCH_CASE(at::ScalarType::Long, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)          \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)         \
    AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
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
#define AT_DISPATCH_CASE_BIT_TYPES(...)                    \
    AT_DISPATCH_CASE(at::ScalarType::Bits1x8, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Bits2x4, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Bits4x2, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::Bits8, __VA_ARGS__)   \
    AT_DISPATCH_CASE(at::ScalarType::Bits16, __VA_ARGS__)

#define CUDA_WHEEL_PYTORCH_AND1(A, ...) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND2(A, B, ...) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND3(A, B, C, ...) CUDA_WHEEL_PYTORCH_AND2(A, B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND4(A, B, C, D, ...) CUDA_WHEEL_PYTORCH_AND3(A, B, C, __VA_ARGS__) AT_DISPATCH_CASE(D, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND5(A, B, C, D, E, ...) \
    CUDA_WHEEL_PYTORCH_AND4(A, B, C, D, __VA_ARGS__) AT_DISPATCH_CASE(E, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND6(A, B, C, D, E, F, ...) \
    CUDA_WHEEL_PYTORCH_AND5(A, B, C, D, E, __VA_ARGS__) AT_DISPATCH_CASE(F, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND7(A, B, C, D, E, F, G, ...) \
    CUDA_WHEEL_PYTORCH_AND6(A, B, C, D, E, F, __VA_ARGS__) AT_DISPATCH_CASE(G, __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_AND8(A, B, C, D, E, F, G, H, ...) \
    CUDA_WHEEL_PYTORCH_AND7(A, B, C, D, E, F, G, __VA_ARGS__) AT_DISPATCH_CASE(H, __VA_ARGS__)

#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(A, B, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND2(A, B, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(A, B, C, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND3(A, B, C, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(A, B, C, D, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND4(A, B, C, D, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND5(A, B, C, D, E, ...) \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND5(A, B, C, D, E, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND(A, ...) \
    AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(A, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND2(A, B, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(A, B, C, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND3(A, B, C, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(A, B, C, D, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND4(A, B, C, D, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(A, B, C, D, E, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND5(A, B, C, D, E, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(A, B, C, D, E, F, ...) \
    AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND6(A, B, C, D, E, F, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(A, ...) \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(A, ...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(A, B, ...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND2(A, B, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(A, B, C, ...) \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND3(A, B, C, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(A, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(A, B, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND2(A, B, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND3(A, B, C, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND4(A, B, C, D, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(A, B, C, D, E, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND5(A, B, C, D, E, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(A, B, C, D, E, F, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND6(A, B, C, D, E, F, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(A, B, C, D, E, F, G, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND7(A, B, C, D, E, F, G, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(A, B, C, D, E, F, G, H, ...) \
    AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) CUDA_WHEEL_PYTORCH_AND8(A, B, C, D, E, F, G, H, __VA_ARGS__)

// --- The macros that users write -------------------------------------------------------------------------------------

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_QINT_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_BYTE_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_AND_SUB_BYTE_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES(__VA_ARGS__))
#define AT_DISPATCH_BIT_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_BIT_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(A, B, C, D, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND5(A, B, C, D, E, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND5(A, B, C, D, E, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(A, B, C, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(A, B, C, D, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(A, B, C, D, E, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(A, B, C, D, E, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(A, B, C, D, E, F, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(A, B, C, D, E, F, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(A, B, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(A, B, C, D, E, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(A, B, C, D, E, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(A, B, C, D, E, F, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(A, B, C, D, E, F, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND7(A, B, C, D, E, F, G, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(A, B, C, D, E, F, G, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND8(A, B, C, D, E, F, G, H, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(A, B, C, D, E, F, G, H, __VA_ARGS__))

#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                            \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                          \
                       AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Int, index_t, __VA_ARGS__)  \
                       AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Long, index_t, __VA_ARGS__))

// --- AT_DISPATCH_V2: any list of types -------------------------------------------------------------------------------

#define AT_EXPAND(...) __VA_ARGS__
#define AT_GUARD(...) __VA_ARGS__
#define AT_WRAP(...) __VA_ARGS__
#define AT_CONCAT_AUX(a, b) a##b
#define AT_CONCAT(a, b) AT_CONCAT_AUX(a, b)
#define AT_FLOAT8_TYPES                                                                             \
    torch::headeronly::ScalarType::Float8_e5m2, torch::headeronly::ScalarType::Float8_e5m2fnuz,     \
        torch::headeronly::ScalarType::Float8_e4m3fn, torch::headeronly::ScalarType::Float8_e4m3fnuz, \
        torch::headeronly::ScalarType::Float8_e8m0fnu
#define AT_INTEGRAL_TYPES                                                                           \
    torch::headeronly::ScalarType::Byte, torch::headeronly::ScalarType::Char, torch::headeronly::ScalarType::Int, \
        torch::headeronly::ScalarType::Long, torch::headeronly::ScalarType::Short
#define AT_FLOATING_TYPES torch::headeronly::ScalarType::Double, torch::headeronly::ScalarType::Float
#define AT_BAREBONES_UNSIGNED_TYPES \
    torch::headeronly::ScalarType::UInt16, torch::headeronly::ScalarType::UInt32, torch::headeronly::ScalarType::UInt64
#define AT_INTEGRAL_TYPES_V2 AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES)
#define AT_COMPLEX_TYPES torch::headeronly::ScalarType::ComplexDouble, torch::headeronly::ScalarType::ComplexFloat
#define AT_QINT_TYPES \
    torch::headeronly::ScalarType::QInt8, torch::headeronly::ScalarType::QUInt8, torch::headeronly::ScalarType::QInt32
#define AT_ALL_TYPES AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_FLOATING_TYPES)
#define AT_ALL_TYPES_AND_COMPLEX AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES)
#define AT_OPAQUE_TYPES \
    torch::headeronly::ScalarType::Byte, AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), torch::headeronly::ScalarType::ComplexDouble
// Those to which the elements of an operand of at::native::gpu_kernel may be converted (PyTorch 2.14).
#define AT_ALL_SCALAR_TYPES_WITH_COMPLEX                                                            \
    torch::headeronly::ScalarType::Byte, torch::headeronly::ScalarType::Char, \
    torch::headeronly::ScalarType::Short, torch::headeronly::ScalarType::Int, \
    torch::headeronly::ScalarType::Long, torch::headeronly::ScalarType::Half, \
    torch::headeronly::ScalarType::Float, torch::headeronly::ScalarType::Double, \
    torch::headeronly::ScalarType::ComplexHalf, torch::headeronly::ScalarType::BComplex32, \
    torch::headeronly::ScalarType::ComplexFloat, torch::headeronly::ScalarType::ComplexDouble, \
    torch::headeronly::ScalarType::Bool, torch::headeronly::ScalarType::BFloat16, \
    torch::headeronly::ScalarType::Float8_e5m2, torch::headeronly::ScalarType::Float8_e4m3fn, \
    torch::headeronly::ScalarType::Float8_e5m2fnuz, torch::headeronly::ScalarType::Float8_e4m3fnuz, \
    torch::headeronly::ScalarType::Float8_e8m0fnu

#define THO_DISPATCH_V2_TMPL(SWITCH, CASE, TYPE, NAME, BODY, ...) \
    SWITCH(TYPE, NAME, THO_AP_VAR_TMPL(CASE, AT_WRAP(BODY), TYPE, __VA_ARGS__))
#define THO_DISPATCH_V2(TYPE, NAME, BODY, ...) \
    THO_DISPATCH_V2_TMPL(THO_DISPATCH_SWITCH, THO_DISPATCH_CASE, TYPE, NAME, AT_WRAP(BODY), __VA_ARGS__)
#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) \
    THO_DISPATCH_V2_TMPL(AT_DISPATCH_SWITCH, AT_DISPATCH_CASE, TYPE, NAME, AT_WRAP(BODY), __VA_ARGS__)
#define THO_AP_VAR_TMPL(C, N, T, ...) \
    AT_EXPAND(AT_CONCAT(CUDA_WHEEL_PYTORCH_EACH, AT_NUM_ARGS(__VA_ARGS__))(C, AT_WRAP(N), __VA_ARGS__))
#define CUDA_WHEEL_PYTORCH_TYPE(VALUE, BODY) BODY(torch::headeronly::impl::ScalarTypeToCPPTypeT<VALUE>, VALUE)
#define AT_FORALL_SCALAR_TYPES_V2(BODY, ...) THO_AP_VAR_TMPL(CUDA_WHEEL_PYTORCH_TYPE, AT_WRAP(BODY), , __VA_ARGS__)
#define AT_AP_VAR(N, T, ...) THO_AP_VAR_TMPL(AT_DISPATCH_CASE, AT_WRAP(N), T, __VA_ARGS__)
#define AT_NUM_ARGS(...) AT_EXPAND(AT_NUM_ARGS_AUX(__VA_ARGS__, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1))
#define AT_NUM_ARGS_AUX(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, _41, _42, _43, _44, _45, _46, _47, _48, _49, _50, _51, _52, _53, _54, _55, _56, _57, _58, _59, _60, N, ...) N
#define CUDA_WHEEL_PYTORCH_EACH1(C, N, A) C(A, N)
#define CUDA_WHEEL_PYTORCH_EACH2(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH1(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH3(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH2(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH4(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH3(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH5(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH4(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH6(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH5(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH7(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH6(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH8(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH7(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH9(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH8(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH10(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH9(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH11(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH10(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH12(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH11(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH13(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH12(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH14(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH13(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH15(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH14(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH16(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH15(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH17(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH16(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH18(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH17(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH19(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH18(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH20(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH19(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH21(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH20(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH22(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH21(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH23(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH22(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH24(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH23(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH25(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH24(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH26(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH25(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH27(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH26(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH28(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH27(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH29(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH28(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH30(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH29(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH31(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH30(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH32(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH31(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH33(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH32(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH34(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH33(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH35(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH34(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH36(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH35(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH37(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH36(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH38(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH37(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH39(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH38(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH40(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH39(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH41(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH40(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH42(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH41(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH43(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH42(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH44(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH43(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH45(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH44(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH46(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH45(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH47(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH46(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH48(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH47(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH49(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH48(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH50(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH49(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH51(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH50(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH52(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH51(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH53(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH52(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH54(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH53(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH55(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH54(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH56(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH55(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH57(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH56(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH58(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH57(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH59(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH58(C, AT_WRAP(N), __VA_ARGS__)
#define CUDA_WHEEL_PYTORCH_EACH60(C, N, A, ...) C(A, N) CUDA_WHEEL_PYTORCH_EACH59(C, AT_WRAP(N), __VA_ARGS__)
#endif
