// The macros of <float.h>. In device code long double is double, so LDBL_* are those of double.
// No include guard: libcu++ also defines some of these, differently in each release, so this file is included
// again after it (see cuda/std/). With CUDA_WHEEL_FORGET defined, it only undefines the names.

#undef FLT_RADIX
#undef FLT_ROUNDS
#undef FLT_EVAL_METHOD
#undef DECIMAL_DIG
#undef FLT_MANT_DIG
#undef FLT_DIG
#undef FLT_DECIMAL_DIG
#undef FLT_MIN_EXP
#undef FLT_MIN_10_EXP
#undef FLT_MAX_EXP
#undef FLT_MAX_10_EXP
#undef FLT_HAS_SUBNORM
#undef FLT_MAX
#undef FLT_MIN
#undef FLT_EPSILON
#undef FLT_TRUE_MIN
#undef DBL_MANT_DIG
#undef DBL_DIG
#undef DBL_DECIMAL_DIG
#undef DBL_MIN_EXP
#undef DBL_MIN_10_EXP
#undef DBL_MAX_EXP
#undef DBL_MAX_10_EXP
#undef DBL_HAS_SUBNORM
#undef DBL_MAX
#undef DBL_MIN
#undef DBL_EPSILON
#undef DBL_TRUE_MIN
#undef LDBL_MANT_DIG
#undef LDBL_DIG
#undef LDBL_DECIMAL_DIG
#undef LDBL_MIN_EXP
#undef LDBL_MIN_10_EXP
#undef LDBL_MAX_EXP
#undef LDBL_MAX_10_EXP
#undef LDBL_HAS_SUBNORM
#undef LDBL_MAX
#undef LDBL_MIN
#undef LDBL_EPSILON
#undef LDBL_TRUE_MIN

#ifndef CUDA_WHEEL_FORGET
#define FLT_RADIX 2
#define FLT_ROUNDS 1
#define FLT_EVAL_METHOD 0
#define DECIMAL_DIG 17
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_DECIMAL_DIG 9
#define FLT_MIN_EXP (-125)
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_EXP 128
#define FLT_MAX_10_EXP 38
#define FLT_HAS_SUBNORM 1
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define FLT_TRUE_MIN 1.401298464e-45F
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_DECIMAL_DIG 17
#define DBL_MIN_EXP (-1021)
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_EXP 1024
#define DBL_MAX_10_EXP 308
#define DBL_HAS_SUBNORM 1
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_TRUE_MIN 4.9406564584124654e-324
#define LDBL_MANT_DIG 53
#define LDBL_DIG 15
#define LDBL_DECIMAL_DIG 17
#define LDBL_MIN_EXP (-1021)
#define LDBL_MIN_10_EXP (-307)
#define LDBL_MAX_EXP 1024
#define LDBL_MAX_10_EXP 308
#define LDBL_HAS_SUBNORM 1
#define LDBL_MAX 1.7976931348623157e+308L
#define LDBL_MIN 2.2250738585072014e-308L
#define LDBL_EPSILON 2.2204460492503131e-16L
#define LDBL_TRUE_MIN 4.9406564584124654e-324L
#endif
