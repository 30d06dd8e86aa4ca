// INFINITY and NAN of <math.h>: constant expressions, for host and device functions.
// No include guard: libcu++'s <cmath> also defines them, so this file is included again after it (see cuda/std/cmath).
#undef INFINITY
#undef NAN

#ifndef CUDA_WHEEL_FORGET
#define INFINITY (__builtin_bit_cast(float, 0x7f800000))
#define NAN (__builtin_bit_cast(float, 0x7fc00000))
#endif
