// ScalarType: the element types of a tensor, by number (PyTorch 2.14), and the C++ type of each. Types that a file does not
// name are only declared; see `rewriting.used_parts`.
#ifndef CUDA_WHEEL_PYTORCH_SCALAR_TYPES_H
#define CUDA_WHEEL_PYTORCH_SCALAR_TYPES_H

#include <c10/macros/Macros.h>
#ifndef CUDA_WHEEL_WITHOUT_BFLOAT16
#include <c10/util/BFloat16.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_FLOAT8
#include <c10/util/Float4_e2m1fn_x2.h>
#include <cuda_wheel_detail/pytorch/float8.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_HALF
#include <c10/util/Half.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_COMPLEX
#include <c10/util/complex.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_QUANTIZED
#include <c10/util/bits.h>
#include <c10/util/qint32.h>
#include <c10/util/qint8.h>
#include <c10/util/quint2x4.h>
#include <c10/util/quint4x2.h>
#include <c10/util/quint8.h>
#endif
#include <cuda_wheel_detail/pytorch/standard_library.h>
#include <cuda_wheel_detail/pytorch/type_lists.h>

namespace c10 {
struct BFloat16;
struct Float4_e2m1fn_x2;
struct Float8_e4m3fn;
struct Float8_e4m3fnuz;
struct Float8_e5m2;
struct Float8_e5m2fnuz;
struct Float8_e8m0fnu;
struct Half;
struct bits16;
struct bits1x8;
struct bits2x4;
struct bits4x2;
struct bits8;
template <class T>
struct complex;
struct qint32;
struct qint8;
struct quint2x4;
struct quint4x2;
struct quint8;
template <unsigned int N>
struct dummy_uint1_7_t {};
template <unsigned int N>
struct dummy_int1_7_t {};
} // namespace c10

#define AT_FORALL_INT_TYPES(_) _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long)
#define AT_FORALL_SCALAR_TYPES(_) AT_FORALL_INT_TYPES(_) _(float, Float) _(double, Double)
#define AT_FORALL_FLOAT8_TYPES(_)            \
    _(c10::Float8_e5m2, Float8_e5m2)         \
    _(c10::Float8_e4m3fn, Float8_e4m3fn)     \
    _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz) \
    _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz) \
    CUDA_WHEEL_PYTORCH_E8M0FNU(_(c10::Float8_e8m0fnu, Float8_e8m0fnu))
#define AT_FORALL_COMPLEX_TYPES(_) _(c10::complex<float>, ComplexFloat) _(c10::complex<double>, ComplexDouble)
#define AT_FORALL_QINT_TYPES(_)   \
    _(c10::qint8, QInt8)          \
    _(c10::quint8, QUInt8)        \
    _(c10::qint32, QInt32)        \
    _(c10::quint4x2, QUInt4x2)    \
    _(c10::quint2x4, QUInt2x4)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_EXCEPT_COMPLEX_HALF_F8NZ(_)                              \
    AT_FORALL_INT_TYPES(_) _(c10::Half, Half) _(float, Float) _(double, Double)                      \
    AT_FORALL_COMPLEX_TYPES(_) _(bool, Bool) _(c10::BFloat16, BFloat16)                              \
    _(c10::Float8_e5m2, Float8_e5m2) _(c10::Float8_e4m3fn, Float8_e4m3fn)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_)                                                       \
    AT_FORALL_INT_TYPES(_) _(c10::Half, Half) _(float, Float) _(double, Double)                      \
    _(c10::complex<c10::Half>, ComplexHalf) AT_FORALL_COMPLEX_TYPES(_) _(bool, Bool)                 \
    _(c10::BFloat16, BFloat16) AT_FORALL_FLOAT8_TYPES(_)
#define AT_FORALL_SCALAR_TYPES_AND(A, _) \
    AT_FORALL_SCALAR_TYPES(_) _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::A>, A)
#define AT_FORALL_SCALAR_TYPES_AND2(A, B, _) \
    AT_FORALL_SCALAR_TYPES_AND(A, _) _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::B>, B)
#define AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _) \
    AT_FORALL_SCALAR_TYPES_AND2(A, B, _) _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::C>, C)
#define AT_FORALL_SCALAR_TYPES_AND7(A, B, C, D, E, F, G, _)                                          \
    AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _)                                                          \
    _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::D>, D)                                        \
    _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::E>, E)                                        \
    _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::F>, F)                                        \
    _(c10::impl::ScalarTypeToCPPTypeT<c10::ScalarType::G>, G)

// In the order of their numbers, from 0.
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(_)                                             \
    AT_FORALL_INT_TYPES(_) _(c10::Half, Half) _(float, Float) _(double, Double)                      \
    _(c10::complex<c10::Half>, ComplexHalf) AT_FORALL_COMPLEX_TYPES(_) _(bool, Bool)                 \
    _(c10::qint8, QInt8) _(c10::quint8, QUInt8) _(c10::qint32, QInt32) _(c10::BFloat16, BFloat16)    \
    _(c10::quint4x2, QUInt4x2) _(c10::quint2x4, QUInt2x4) _(c10::bits1x8, Bits1x8)                   \
    _(c10::bits2x4, Bits2x4) _(c10::bits4x2, Bits4x2) _(c10::bits8, Bits8) _(c10::bits16, Bits16)    \
    _(c10::Float8_e5m2, Float8_e5m2) _(c10::Float8_e4m3fn, Float8_e4m3fn)                            \
    _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz) _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz)                \
    _(uint16_t, UInt16) _(uint32_t, UInt32) _(uint64_t, UInt64)                                      \
    _(c10::dummy_uint1_7_t<1>, UInt1) _(c10::dummy_uint1_7_t<2>, UInt2)                              \
    _(c10::dummy_uint1_7_t<3>, UInt3) _(c10::dummy_uint1_7_t<4>, UInt4)                              \
    _(c10::dummy_uint1_7_t<5>, UInt5) _(c10::dummy_uint1_7_t<6>, UInt6)                              \
    _(c10::dummy_uint1_7_t<7>, UInt7) _(c10::dummy_int1_7_t<1>, Int1) _(c10::dummy_int1_7_t<2>, Int2) \
    _(c10::dummy_int1_7_t<3>, Int3) _(c10::dummy_int1_7_t<4>, Int4) _(c10::dummy_int1_7_t<5>, Int5)  \
    _(c10::dummy_int1_7_t<6>, Int6) _(c10::dummy_int1_7_t<7>, Int7)                                  \
    _(c10::Float8_e8m0fnu, Float8_e8m0fnu) _(c10::Float4_e2m1fn_x2, Float4_e2m1fn_x2) \
    _(c10::complex<c10::BFloat16>, BComplex32)

namespace c10 {

enum class ScalarType : int8_t {
#define CUDA_WHEEL_PYTORCH_ENUMERATOR(type, name) name,
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(CUDA_WHEEL_PYTORCH_ENUMERATOR)
#undef CUDA_WHEEL_PYTORCH_ENUMERATOR
        Undefined,
    NumOptions
};
constexpr uint16_t NumScalarTypes = static_cast<uint16_t>(ScalarType::NumOptions);

template <class T>
struct CppTypeToScalarType;
namespace impl {
template <ScalarType N>
struct ScalarTypeToCPPType;
template <ScalarType N>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
} // namespace impl

template <ScalarType N>
struct cuda_wheel_scalar_constant {
    static constexpr ScalarType value = N;
    using value_type = ScalarType;
    using type = cuda_wheel_scalar_constant;
    constexpr operator ScalarType() const { return N; }
    constexpr ScalarType operator()() const { return N; }
};

#define CUDA_WHEEL_PYTORCH_SCALAR_TYPE(cpp, name)                                        \
    constexpr ScalarType k##name = ScalarType::name;                                     \
    template <>                                                                          \
    struct CppTypeToScalarType<cpp> : cuda_wheel_scalar_constant<ScalarType::name> {};   \
    namespace impl {                                                                     \
    template <>                                                                          \
    struct ScalarTypeToCPPType<ScalarType::name> {                                       \
        using type = cpp;                                                                \
        static type t;                                                                   \
    };                                                                                   \
    }
AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(CUDA_WHEEL_PYTORCH_SCALAR_TYPE)
#undef CUDA_WHEEL_PYTORCH_SCALAR_TYPE

const char* toString(ScalarType);
std::ostream& operator<<(std::ostream&, ScalarType);
size_t elementSize(ScalarType);
bool isIntegralType(ScalarType, bool include_bool);
bool isIntegralType(ScalarType);
bool isFloat8Type(ScalarType);
bool isReducedFloatingType(ScalarType);
bool isFloatingType(ScalarType);
bool isComplexType(ScalarType);
bool isQIntType(ScalarType);
bool isBitsType(ScalarType);
bool isBarebonesUnsignedType(ScalarType);
bool isSignedType(ScalarType);
bool isUnderlying(ScalarType type, ScalarType qtype);
ScalarType toQIntType(ScalarType);
ScalarType toUnderlying(ScalarType);
ScalarType toRealValueType(ScalarType);
ScalarType toComplexType(ScalarType);
bool canCast(ScalarType from, ScalarType to);
ScalarType promoteTypes(ScalarType, ScalarType);

} // namespace c10

namespace at {
using namespace c10;
template <c10::ScalarType N>
using ScalarTypeToCPPTypeT = c10::impl::ScalarTypeToCPPTypeT<N>;
} // namespace at

namespace torch {
using namespace at;
// The Python API's names of the types.
#define CUDA_WHEEL_PYTORCH_DTYPE(name, of) constexpr at::ScalarType name = at::ScalarType::of;
CUDA_WHEEL_PYTORCH_DTYPE(kUInt8, Byte)
CUDA_WHEEL_PYTORCH_DTYPE(kInt8, Char)
CUDA_WHEEL_PYTORCH_DTYPE(kInt16, Short)
CUDA_WHEEL_PYTORCH_DTYPE(kInt32, Int)
CUDA_WHEEL_PYTORCH_DTYPE(kInt64, Long)
CUDA_WHEEL_PYTORCH_DTYPE(kUInt16, UInt16)
CUDA_WHEEL_PYTORCH_DTYPE(kUInt32, UInt32)
CUDA_WHEEL_PYTORCH_DTYPE(kUInt64, UInt64)
CUDA_WHEEL_PYTORCH_DTYPE(kFloat16, Half)
CUDA_WHEEL_PYTORCH_DTYPE(kFloat32, Float)
CUDA_WHEEL_PYTORCH_DTYPE(kFloat64, Double)
CUDA_WHEEL_PYTORCH_DTYPE(kComplexFloat32, ComplexHalf)
CUDA_WHEEL_PYTORCH_DTYPE(kComplexFloat64, ComplexFloat)
CUDA_WHEEL_PYTORCH_DTYPE(kComplexFloat128, ComplexDouble)
#undef CUDA_WHEEL_PYTORCH_DTYPE
using Dtype = at::ScalarType;

namespace headeronly {
using c10::CppTypeToScalarType;
using c10::dummy_int1_7_t;
using c10::dummy_uint1_7_t;
using c10::isQIntType;
using c10::NumScalarTypes;
using c10::operator<<;
using c10::ScalarType;
using c10::toString;
using c10::toUnderlying;
namespace impl {
using c10::impl::ScalarTypeToCPPTypeT;
}
} // namespace headeronly
} // namespace torch

#endif
