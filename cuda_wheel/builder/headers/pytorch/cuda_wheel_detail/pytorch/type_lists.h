// Lists of element types, and macros that expand to something for each type of any list.
#ifndef CUDA_WHEEL_PYTORCH_TYPE_LISTS_H
#define CUDA_WHEEL_PYTORCH_TYPE_LISTS_H

#if !__has_include(<ATen/core/PhiloxRNGEngine.h>) || __has_include(<torch/headeronly/util/Float8_e8m0fnu.h>) || \
    __has_include(<c10/util/Float8_e8m0fnu.h>)
#define CUDA_WHEEL_PYTORCH_E8M0FNU(...) __VA_ARGS__
#else  // the build environment's PyTorch is older than this type
#define CUDA_WHEEL_PYTORCH_E8M0FNU(...)
#endif
#define AT_EXPAND(...) __VA_ARGS__
#define AT_GUARD(...) __VA_ARGS__
#define AT_WRAP(...) __VA_ARGS__
#define AT_CONCAT_AUX(a, b) a##b
#define AT_CONCAT(a, b) AT_CONCAT_AUX(a, b)
#define AT_FLOAT8_TYPES                                                                             \
    torch::headeronly::ScalarType::Float8_e5m2, torch::headeronly::ScalarType::Float8_e5m2fnuz,     \
        torch::headeronly::ScalarType::Float8_e4m3fn, torch::headeronly::ScalarType::Float8_e4m3fnuz \
        CUDA_WHEEL_PYTORCH_E8M0FNU(, torch::headeronly::ScalarType::Float8_e8m0fnu)
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
    torch::headeronly::ScalarType::Float8_e5m2fnuz, torch::headeronly::ScalarType::Float8_e4m3fnuz \
    CUDA_WHEEL_PYTORCH_E8M0FNU(, torch::headeronly::ScalarType::Float8_e8m0fnu)

#define THO_AP_VAR_TMPL(C, N, T, ...) \
    AT_EXPAND(AT_CONCAT(CUDA_WHEEL_PYTORCH_EACH, AT_NUM_ARGS(__VA_ARGS__))(C, AT_WRAP(N), __VA_ARGS__))
#define CUDA_WHEEL_PYTORCH_TYPE(VALUE, BODY) BODY(torch::headeronly::impl::ScalarTypeToCPPTypeT<VALUE>, VALUE)
#define AT_FORALL_SCALAR_TYPES_V2(BODY, ...) THO_AP_VAR_TMPL(CUDA_WHEEL_PYTORCH_TYPE, AT_WRAP(BODY), , __VA_ARGS__)
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
