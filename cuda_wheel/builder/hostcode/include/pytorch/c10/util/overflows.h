// c10::overflows: whether a number does not fit into another type. Host code asks it before conversions.
#ifndef CUDA_WHEEL_PYTORCH_OVERFLOWS_H
#define CUDA_WHEEL_PYTORCH_OVERFLOWS_H

#include <c10/macros/Macros.h>
#include <c10/util/TypeSafeSignMath.h>
#include <c10/util/complex.h>
#include <cmath>
#include <limits>
#include <type_traits>

namespace c10 {

template <typename To, typename From>
bool overflows(From f, bool strict_unsigned = false);

}

#endif
