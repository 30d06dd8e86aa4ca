// The macros that GCC predefines on Linux, which nvcc lets device code see, and those that nvcc adds: what is in a `#if` of
// a project means the same as with nvcc. Included before every file. A project's own definition counts.
// As `gcc -dM -E -x c++ -std=c++17 -fPIC` of GCC 12.2 prints them for x86-64, without those that NVRTC has and those of the
// formats of ISO/IEC TS 18661. The limits of float and double are spelled as CCCL spells them for NVRTC.
#ifndef CUDA_WHEEL_DETAIL_PREDEFINED_MACROS_H
#define CUDA_WHEEL_DETAIL_PREDEFINED_MACROS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _LP64
#define _LP64 1
#endif
#ifndef _STDC_PREDEF_H
#define _STDC_PREDEF_H 1
#endif
#ifndef __ATOMIC_ACQUIRE
#define __ATOMIC_ACQUIRE 2
#endif
#ifndef __ATOMIC_ACQ_REL
#define __ATOMIC_ACQ_REL 4
#endif
#ifndef __ATOMIC_CONSUME
#define __ATOMIC_CONSUME 1
#endif
#ifndef __ATOMIC_HLE_ACQUIRE
#define __ATOMIC_HLE_ACQUIRE 65536
#endif
#ifndef __ATOMIC_HLE_RELEASE
#define __ATOMIC_HLE_RELEASE 131072
#endif
#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#endif
#ifndef __ATOMIC_RELEASE
#define __ATOMIC_RELEASE 3
#endif
#ifndef __ATOMIC_SEQ_CST
#define __ATOMIC_SEQ_CST 5
#endif
#ifndef __BIGGEST_ALIGNMENT__
#define __BIGGEST_ALIGNMENT__ 16
#endif
#ifndef __BYTE_ORDER__
#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
#endif
#ifndef __CHAR16_TYPE__
#define __CHAR16_TYPE__ short unsigned int
#endif
#ifndef __CHAR32_TYPE__
#define __CHAR32_TYPE__ unsigned int
#endif
#ifndef __CHAR_BIT__
#define __CHAR_BIT__ 8
#endif
#ifndef __DBL_DECIMAL_DIG__
#define __DBL_DECIMAL_DIG__ 17
#endif
#ifndef __DBL_DENORM_MIN__
#define __DBL_DENORM_MIN__ 4.94065645841246544176568792868221372e-324
#endif
#ifndef __DBL_DIG__
#define __DBL_DIG__ 15
#endif
#ifndef __DBL_EPSILON__
#define __DBL_EPSILON__ 2.22044604925031308084726333618164062e-16
#endif
#ifndef __DBL_HAS_DENORM__
#define __DBL_HAS_DENORM__ 1
#endif
#ifndef __DBL_HAS_INFINITY__
#define __DBL_HAS_INFINITY__ 1
#endif
#ifndef __DBL_HAS_QUIET_NAN__
#define __DBL_HAS_QUIET_NAN__ 1
#endif
#ifndef __DBL_IS_IEC_60559__
#define __DBL_IS_IEC_60559__ 2
#endif
#ifndef __DBL_MANT_DIG__
#define __DBL_MANT_DIG__ 53
#endif
#ifndef __DBL_MAX_10_EXP__
#define __DBL_MAX_10_EXP__ 308
#endif
#ifndef __DBL_MAX_EXP__
#define __DBL_MAX_EXP__ 1024
#endif
#ifndef __DBL_MAX__
#define __DBL_MAX__ 1.79769313486231570814527423731704357e+308
#endif
#ifndef __DBL_MIN_10_EXP__
#define __DBL_MIN_10_EXP__ (-307)
#endif
#ifndef __DBL_MIN_EXP__
#define __DBL_MIN_EXP__ (-1021)
#endif
#ifndef __DBL_MIN__
#define __DBL_MIN__ 2.22507385850720138309023271733240406e-308
#endif
#ifndef __DBL_NORM_MAX__
#define __DBL_NORM_MAX__ double(1.79769313486231570814527423731704357e+308L)
#endif
#ifndef __DECIMAL_BID_FORMAT__
#define __DECIMAL_BID_FORMAT__ 1
#endif
#ifndef __DECIMAL_DIG__
#define __DECIMAL_DIG__ 21
#endif
#ifndef __DEC_EVAL_METHOD__
#define __DEC_EVAL_METHOD__ 2
#endif
#ifndef __DEPRECATED
#define __DEPRECATED 1
#endif
#ifndef __ELF__
#define __ELF__ 1
#endif
#ifndef __FINITE_MATH_ONLY__
#define __FINITE_MATH_ONLY__ 0
#endif
#ifndef __FLOAT_WORD_ORDER__
#define __FLOAT_WORD_ORDER__ __ORDER_LITTLE_ENDIAN__
#endif
#ifndef __FLT_DECIMAL_DIG__
#define __FLT_DECIMAL_DIG__ 9
#endif
#ifndef __FLT_DENORM_MIN__
#define __FLT_DENORM_MIN__ 1.40129846432481707092372958328991613e-45F
#endif
#ifndef __FLT_DIG__
#define __FLT_DIG__ 6
#endif
#ifndef __FLT_EPSILON__
#define __FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
#endif
#ifndef __FLT_EVAL_METHOD_TS_18661_3__
#define __FLT_EVAL_METHOD_TS_18661_3__ 0
#endif
#ifndef __FLT_EVAL_METHOD__
#define __FLT_EVAL_METHOD__ 0
#endif
#ifndef __FLT_HAS_DENORM__
#define __FLT_HAS_DENORM__ 1
#endif
#ifndef __FLT_HAS_INFINITY__
#define __FLT_HAS_INFINITY__ 1
#endif
#ifndef __FLT_HAS_QUIET_NAN__
#define __FLT_HAS_QUIET_NAN__ 1
#endif
#ifndef __FLT_IS_IEC_60559__
#define __FLT_IS_IEC_60559__ 2
#endif
#ifndef __FLT_MANT_DIG__
#define __FLT_MANT_DIG__ 24
#endif
#ifndef __FLT_MAX_10_EXP__
#define __FLT_MAX_10_EXP__ 38
#endif
#ifndef __FLT_MAX_EXP__
#define __FLT_MAX_EXP__ 128
#endif
#ifndef __FLT_MAX__
#define __FLT_MAX__ 3.40282346638528859811704183484516925e+38F
#endif
#ifndef __FLT_MIN_10_EXP__
#define __FLT_MIN_10_EXP__ (-37)
#endif
#ifndef __FLT_MIN_EXP__
#define __FLT_MIN_EXP__ (-125)
#endif
#ifndef __FLT_MIN__
#define __FLT_MIN__ 1.17549435082228750796873653722224568e-38F
#endif
#ifndef __FLT_NORM_MAX__
#define __FLT_NORM_MAX__ 3.40282346638528859811704183484516925e+38F
#endif
#ifndef __FLT_RADIX__
#define __FLT_RADIX__ 2
#endif
#ifndef __FXSR__
#define __FXSR__ 1
#endif
#ifndef __GCC_ASM_FLAG_OUTPUTS__
#define __GCC_ASM_FLAG_OUTPUTS__ 1
#endif
#ifndef __GCC_ATOMIC_BOOL_LOCK_FREE
#define __GCC_ATOMIC_BOOL_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_CHAR16_T_LOCK_FREE
#define __GCC_ATOMIC_CHAR16_T_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_CHAR32_T_LOCK_FREE
#define __GCC_ATOMIC_CHAR32_T_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_CHAR_LOCK_FREE
#define __GCC_ATOMIC_CHAR_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_INT_LOCK_FREE
#define __GCC_ATOMIC_INT_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_LLONG_LOCK_FREE
#define __GCC_ATOMIC_LLONG_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_LONG_LOCK_FREE
#define __GCC_ATOMIC_LONG_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_POINTER_LOCK_FREE
#define __GCC_ATOMIC_POINTER_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_SHORT_LOCK_FREE
#define __GCC_ATOMIC_SHORT_LOCK_FREE 2
#endif
#ifndef __GCC_ATOMIC_TEST_AND_SET_TRUEVAL
#define __GCC_ATOMIC_TEST_AND_SET_TRUEVAL 1
#endif
#ifndef __GCC_ATOMIC_WCHAR_T_LOCK_FREE
#define __GCC_ATOMIC_WCHAR_T_LOCK_FREE 2
#endif
#ifndef __GCC_CONSTRUCTIVE_SIZE
#define __GCC_CONSTRUCTIVE_SIZE 64
#endif
#ifndef __GCC_DESTRUCTIVE_SIZE
#define __GCC_DESTRUCTIVE_SIZE 64
#endif
#ifndef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_1
#define __GCC_HAVE_SYNC_COMPARE_AND_SWAP_1 1
#endif
#ifndef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_2
#define __GCC_HAVE_SYNC_COMPARE_AND_SWAP_2 1
#endif
#ifndef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
#define __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4 1
#endif
#ifndef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_8
#define __GCC_HAVE_SYNC_COMPARE_AND_SWAP_8 1
#endif
#ifndef __GNUC_EXECUTION_CHARSET_NAME
#define __GNUC_EXECUTION_CHARSET_NAME "UTF-8"
#endif
#ifndef __GNUC_MINOR__
#define __GNUC_MINOR__ 2
#endif
#ifndef __GNUC_PATCHLEVEL__
#define __GNUC_PATCHLEVEL__ 0
#endif
#ifndef __GNUC_STDC_INLINE__
#define __GNUC_STDC_INLINE__ 1
#endif
#ifndef __GNUC_WIDE_EXECUTION_CHARSET_NAME
#define __GNUC_WIDE_EXECUTION_CHARSET_NAME "UTF-32LE"
#endif
#ifndef __GNUC__
#define __GNUC__ 12
#endif
#ifndef __GNUG__
#define __GNUG__ 12
#endif
#ifndef __GXX_ABI_VERSION
#define __GXX_ABI_VERSION 1017
#endif
#ifndef __GXX_EXPERIMENTAL_CXX0X__
#define __GXX_EXPERIMENTAL_CXX0X__ 1
#endif
#ifndef __GXX_RTTI
#define __GXX_RTTI 1
#endif
#ifndef __GXX_WEAK__
#define __GXX_WEAK__ 1
#endif
#ifndef __HAVE_SPECULATION_SAFE_VALUE
#define __HAVE_SPECULATION_SAFE_VALUE 1
#endif
#ifndef __INT16_C
#define __INT16_C(c) c
#endif
#ifndef __INT16_MAX__
#define __INT16_MAX__ 0x7fff
#endif
#ifndef __INT16_TYPE__
#define __INT16_TYPE__ short int
#endif
#ifndef __INT32_C
#define __INT32_C(c) c
#endif
#ifndef __INT32_MAX__
#define __INT32_MAX__ 0x7fffffff
#endif
#ifndef __INT32_TYPE__
#define __INT32_TYPE__ int
#endif
#ifndef __INT64_C
#define __INT64_C(c) c##L
#endif
#ifndef __INT64_MAX__
#define __INT64_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INT64_TYPE__
#define __INT64_TYPE__ long int
#endif
#ifndef __INT8_C
#define __INT8_C(c) c
#endif
#ifndef __INT8_MAX__
#define __INT8_MAX__ 0x7f
#endif
#ifndef __INT8_TYPE__
#define __INT8_TYPE__ signed char
#endif
#ifndef __INTMAX_C
#define __INTMAX_C(c) c##L
#endif
#ifndef __INTMAX_MAX__
#define __INTMAX_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INTMAX_TYPE__
#define __INTMAX_TYPE__ long int
#endif
#ifndef __INTMAX_WIDTH__
#define __INTMAX_WIDTH__ 64
#endif
#ifndef __INTPTR_MAX__
#define __INTPTR_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INTPTR_TYPE__
#define __INTPTR_TYPE__ long int
#endif
#ifndef __INTPTR_WIDTH__
#define __INTPTR_WIDTH__ 64
#endif
#ifndef __INT_FAST16_MAX__
#define __INT_FAST16_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INT_FAST16_TYPE__
#define __INT_FAST16_TYPE__ long int
#endif
#ifndef __INT_FAST16_WIDTH__
#define __INT_FAST16_WIDTH__ 64
#endif
#ifndef __INT_FAST32_MAX__
#define __INT_FAST32_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INT_FAST32_TYPE__
#define __INT_FAST32_TYPE__ long int
#endif
#ifndef __INT_FAST32_WIDTH__
#define __INT_FAST32_WIDTH__ 64
#endif
#ifndef __INT_FAST64_MAX__
#define __INT_FAST64_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INT_FAST64_TYPE__
#define __INT_FAST64_TYPE__ long int
#endif
#ifndef __INT_FAST64_WIDTH__
#define __INT_FAST64_WIDTH__ 64
#endif
#ifndef __INT_FAST8_MAX__
#define __INT_FAST8_MAX__ 0x7f
#endif
#ifndef __INT_FAST8_TYPE__
#define __INT_FAST8_TYPE__ signed char
#endif
#ifndef __INT_FAST8_WIDTH__
#define __INT_FAST8_WIDTH__ 8
#endif
#ifndef __INT_LEAST16_MAX__
#define __INT_LEAST16_MAX__ 0x7fff
#endif
#ifndef __INT_LEAST16_TYPE__
#define __INT_LEAST16_TYPE__ short int
#endif
#ifndef __INT_LEAST16_WIDTH__
#define __INT_LEAST16_WIDTH__ 16
#endif
#ifndef __INT_LEAST32_MAX__
#define __INT_LEAST32_MAX__ 0x7fffffff
#endif
#ifndef __INT_LEAST32_TYPE__
#define __INT_LEAST32_TYPE__ int
#endif
#ifndef __INT_LEAST32_WIDTH__
#define __INT_LEAST32_WIDTH__ 32
#endif
#ifndef __INT_LEAST64_MAX__
#define __INT_LEAST64_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __INT_LEAST64_TYPE__
#define __INT_LEAST64_TYPE__ long int
#endif
#ifndef __INT_LEAST64_WIDTH__
#define __INT_LEAST64_WIDTH__ 64
#endif
#ifndef __INT_LEAST8_MAX__
#define __INT_LEAST8_MAX__ 0x7f
#endif
#ifndef __INT_LEAST8_TYPE__
#define __INT_LEAST8_TYPE__ signed char
#endif
#ifndef __INT_LEAST8_WIDTH__
#define __INT_LEAST8_WIDTH__ 8
#endif
#ifndef __INT_MAX__
#define __INT_MAX__ 0x7fffffff
#endif
#ifndef __INT_WIDTH__
#define __INT_WIDTH__ 32
#endif
#ifndef __LDBL_DECIMAL_DIG__
#define __LDBL_DECIMAL_DIG__ 21
#endif
#ifndef __LDBL_DENORM_MIN__
#define __LDBL_DENORM_MIN__ 3.64519953188247460252840593361941982e-4951L
#endif
#ifndef __LDBL_DIG__
#define __LDBL_DIG__ 18
#endif
#ifndef __LDBL_EPSILON__
#define __LDBL_EPSILON__ 1.08420217248550443400745280086994171e-19L
#endif
#ifndef __LDBL_HAS_DENORM__
#define __LDBL_HAS_DENORM__ 1
#endif
#ifndef __LDBL_HAS_INFINITY__
#define __LDBL_HAS_INFINITY__ 1
#endif
#ifndef __LDBL_HAS_QUIET_NAN__
#define __LDBL_HAS_QUIET_NAN__ 1
#endif
#ifndef __LDBL_IS_IEC_60559__
#define __LDBL_IS_IEC_60559__ 2
#endif
#ifndef __LDBL_MANT_DIG__
#define __LDBL_MANT_DIG__ 64
#endif
#ifndef __LDBL_MAX_10_EXP__
#define __LDBL_MAX_10_EXP__ 4932
#endif
#ifndef __LDBL_MAX_EXP__
#define __LDBL_MAX_EXP__ 16384
#endif
#ifndef __LDBL_MAX__
#define __LDBL_MAX__ 1.18973149535723176502126385303097021e+4932L
#endif
#ifndef __LDBL_MIN_10_EXP__
#define __LDBL_MIN_10_EXP__ (-4931)
#endif
#ifndef __LDBL_MIN_EXP__
#define __LDBL_MIN_EXP__ (-16381)
#endif
#ifndef __LDBL_MIN__
#define __LDBL_MIN__ 3.36210314311209350626267781732175260e-4932L
#endif
#ifndef __LDBL_NORM_MAX__
#define __LDBL_NORM_MAX__ 1.18973149535723176502126385303097021e+4932L
#endif
#ifndef __LONG_LONG_MAX__
#define __LONG_LONG_MAX__ 0x7fffffffffffffffLL
#endif
#ifndef __LONG_LONG_WIDTH__
#define __LONG_LONG_WIDTH__ 64
#endif
#ifndef __LONG_MAX__
#define __LONG_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __LONG_WIDTH__
#define __LONG_WIDTH__ 64
#endif
#ifndef __MMX_WITH_SSE__
#define __MMX_WITH_SSE__ 1
#endif
#ifndef __MMX__
#define __MMX__ 1
#endif
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif
#ifndef __ORDER_BIG_ENDIAN__
#define __ORDER_BIG_ENDIAN__ 4321
#endif
#ifndef __ORDER_LITTLE_ENDIAN__
#define __ORDER_LITTLE_ENDIAN__ 1234
#endif
#ifndef __ORDER_PDP_ENDIAN__
#define __ORDER_PDP_ENDIAN__ 3412
#endif
#ifndef __PIC__
#define __PIC__ 2
#endif
#ifndef __PTRDIFF_MAX__
#define __PTRDIFF_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __PTRDIFF_TYPE__
#define __PTRDIFF_TYPE__ long int
#endif
#ifndef __PTRDIFF_WIDTH__
#define __PTRDIFF_WIDTH__ 64
#endif
#ifndef __REGISTER_PREFIX__
#define __REGISTER_PREFIX__
#endif
#ifndef __SCHAR_MAX__
#define __SCHAR_MAX__ 0x7f
#endif
#ifndef __SCHAR_WIDTH__
#define __SCHAR_WIDTH__ 8
#endif
#ifndef __SEG_FS
#define __SEG_FS 1
#endif
#ifndef __SEG_GS
#define __SEG_GS 1
#endif
#ifndef __SHRT_MAX__
#define __SHRT_MAX__ 0x7fff
#endif
#ifndef __SHRT_WIDTH__
#define __SHRT_WIDTH__ 16
#endif
#ifndef __SIG_ATOMIC_MAX__
#define __SIG_ATOMIC_MAX__ 0x7fffffff
#endif
#ifndef __SIG_ATOMIC_MIN__
#define __SIG_ATOMIC_MIN__ (-__SIG_ATOMIC_MAX__ - 1)
#endif
#ifndef __SIG_ATOMIC_TYPE__
#define __SIG_ATOMIC_TYPE__ int
#endif
#ifndef __SIG_ATOMIC_WIDTH__
#define __SIG_ATOMIC_WIDTH__ 32
#endif
#ifndef __SIZEOF_DOUBLE__
#define __SIZEOF_DOUBLE__ 8
#endif
// Not __SIZEOF_FLOAT128__: NVRTC has no such type, and CCCL would use it for compute capability 10.0 and later.
#ifndef __SIZEOF_FLOAT80__
#define __SIZEOF_FLOAT80__ 16
#endif
#ifndef __SIZEOF_FLOAT__
#define __SIZEOF_FLOAT__ 4
#endif
#ifndef __SIZEOF_INT128__
#define __SIZEOF_INT128__ 16
#endif
#ifndef __SIZEOF_INT__
#define __SIZEOF_INT__ 4
#endif
#ifndef __SIZEOF_LONG_DOUBLE__
#define __SIZEOF_LONG_DOUBLE__ 16
#endif
#ifndef __SIZEOF_LONG_LONG__
#define __SIZEOF_LONG_LONG__ 8
#endif
#ifndef __SIZEOF_LONG__
#define __SIZEOF_LONG__ 8
#endif
#ifndef __SIZEOF_POINTER__
#define __SIZEOF_POINTER__ 8
#endif
#ifndef __SIZEOF_PTRDIFF_T__
#define __SIZEOF_PTRDIFF_T__ 8
#endif
#ifndef __SIZEOF_SHORT__
#define __SIZEOF_SHORT__ 2
#endif
#ifndef __SIZEOF_SIZE_T__
#define __SIZEOF_SIZE_T__ 8
#endif
#ifndef __SIZEOF_WCHAR_T__
#define __SIZEOF_WCHAR_T__ 4
#endif
#ifndef __SIZEOF_WINT_T__
#define __SIZEOF_WINT_T__ 4
#endif
#ifndef __SIZE_MAX__
#define __SIZE_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __SIZE_TYPE__
#define __SIZE_TYPE__ long unsigned int
#endif
#ifndef __SIZE_WIDTH__
#define __SIZE_WIDTH__ 64
#endif
#ifndef __SSE2_MATH__
#define __SSE2_MATH__ 1
#endif
#ifndef __SSE2__
#define __SSE2__ 1
#endif
#ifndef __SSE_MATH__
#define __SSE_MATH__ 1
#endif
#ifndef __SSE__
#define __SSE__ 1
#endif
#ifndef __STDCPP_THREADS__
#define __STDCPP_THREADS__ 1
#endif
#ifndef __STDC_IEC_559_COMPLEX__
#define __STDC_IEC_559_COMPLEX__ 1
#endif
#ifndef __STDC_IEC_559__
#define __STDC_IEC_559__ 1
#endif
#ifndef __STDC_IEC_60559_BFP__
#define __STDC_IEC_60559_BFP__ 201404L
#endif
#ifndef __STDC_IEC_60559_COMPLEX__
#define __STDC_IEC_60559_COMPLEX__ 201404L
#endif
#ifndef __STDC_ISO_10646__
#define __STDC_ISO_10646__ 201706L
#endif
#ifndef __STDC_UTF_16__
#define __STDC_UTF_16__ 1
#endif
#ifndef __STDC_UTF_32__
#define __STDC_UTF_32__ 1
#endif
#ifndef __STRICT_ANSI__
#define __STRICT_ANSI__ 1
#endif
#ifndef __UINT16_C
#define __UINT16_C(c) c
#endif
#ifndef __UINT16_MAX__
#define __UINT16_MAX__ 0xffff
#endif
#ifndef __UINT16_TYPE__
#define __UINT16_TYPE__ short unsigned int
#endif
#ifndef __UINT32_C
#define __UINT32_C(c) c##U
#endif
#ifndef __UINT32_MAX__
#define __UINT32_MAX__ 0xffffffffU
#endif
#ifndef __UINT32_TYPE__
#define __UINT32_TYPE__ unsigned int
#endif
#ifndef __UINT64_C
#define __UINT64_C(c) c##UL
#endif
#ifndef __UINT64_MAX__
#define __UINT64_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINT64_TYPE__
#define __UINT64_TYPE__ long unsigned int
#endif
#ifndef __UINT8_C
#define __UINT8_C(c) c
#endif
#ifndef __UINT8_MAX__
#define __UINT8_MAX__ 0xff
#endif
#ifndef __UINT8_TYPE__
#define __UINT8_TYPE__ unsigned char
#endif
#ifndef __UINTMAX_C
#define __UINTMAX_C(c) c##UL
#endif
#ifndef __UINTMAX_MAX__
#define __UINTMAX_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINTMAX_TYPE__
#define __UINTMAX_TYPE__ long unsigned int
#endif
#ifndef __UINTPTR_MAX__
#define __UINTPTR_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINTPTR_TYPE__
#define __UINTPTR_TYPE__ long unsigned int
#endif
#ifndef __UINT_FAST16_MAX__
#define __UINT_FAST16_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINT_FAST16_TYPE__
#define __UINT_FAST16_TYPE__ long unsigned int
#endif
#ifndef __UINT_FAST32_MAX__
#define __UINT_FAST32_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINT_FAST32_TYPE__
#define __UINT_FAST32_TYPE__ long unsigned int
#endif
#ifndef __UINT_FAST64_MAX__
#define __UINT_FAST64_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINT_FAST64_TYPE__
#define __UINT_FAST64_TYPE__ long unsigned int
#endif
#ifndef __UINT_FAST8_MAX__
#define __UINT_FAST8_MAX__ 0xff
#endif
#ifndef __UINT_FAST8_TYPE__
#define __UINT_FAST8_TYPE__ unsigned char
#endif
#ifndef __UINT_LEAST16_MAX__
#define __UINT_LEAST16_MAX__ 0xffff
#endif
#ifndef __UINT_LEAST16_TYPE__
#define __UINT_LEAST16_TYPE__ short unsigned int
#endif
#ifndef __UINT_LEAST32_MAX__
#define __UINT_LEAST32_MAX__ 0xffffffffU
#endif
#ifndef __UINT_LEAST32_TYPE__
#define __UINT_LEAST32_TYPE__ unsigned int
#endif
#ifndef __UINT_LEAST64_MAX__
#define __UINT_LEAST64_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __UINT_LEAST64_TYPE__
#define __UINT_LEAST64_TYPE__ long unsigned int
#endif
#ifndef __UINT_LEAST8_MAX__
#define __UINT_LEAST8_MAX__ 0xff
#endif
#ifndef __UINT_LEAST8_TYPE__
#define __UINT_LEAST8_TYPE__ unsigned char
#endif
#ifndef __USER_LABEL_PREFIX__
#define __USER_LABEL_PREFIX__
#endif
#ifndef __WCHAR_MAX__
#define __WCHAR_MAX__ 0x7fffffff
#endif
#ifndef __WCHAR_MIN__
#define __WCHAR_MIN__ (-__WCHAR_MAX__ - 1)
#endif
#ifndef __WCHAR_TYPE__
#define __WCHAR_TYPE__ int
#endif
#ifndef __WCHAR_WIDTH__
#define __WCHAR_WIDTH__ 32
#endif
#ifndef __WINT_MAX__
#define __WINT_MAX__ 0xffffffffU
#endif
#ifndef __WINT_MIN__
#define __WINT_MIN__ 0U
#endif
#ifndef __WINT_TYPE__
#define __WINT_TYPE__ unsigned int
#endif
#ifndef __WINT_WIDTH__
#define __WINT_WIDTH__ 32
#endif
#ifndef __amd64
#define __amd64 1
#endif
#ifndef __amd64__
#define __amd64__ 1
#endif
#ifndef __code_model_small__
#define __code_model_small__ 1
#endif
#ifndef __gnu_linux__
#define __gnu_linux__ 1
#endif
#ifndef __k8
#define __k8 1
#endif
#ifndef __k8__
#define __k8__ 1
#endif
#ifndef __linux
#define __linux 1
#endif
#ifndef __linux__
#define __linux__ 1
#endif
#ifndef __pic__
#define __pic__ 2
#endif
#ifndef __unix
#define __unix 1
#endif
#ifndef __unix__
#define __unix__ 1
#endif
#ifndef __x86_64
#define __x86_64 1
#endif
#ifndef __x86_64__
#define __x86_64__ 1
#endif
#ifndef CUDA_DOUBLE_MATH_FUNCTIONS
#define CUDA_DOUBLE_MATH_FUNCTIONS 1
#endif

#endif
