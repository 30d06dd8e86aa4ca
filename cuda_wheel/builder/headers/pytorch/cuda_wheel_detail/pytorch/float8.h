// PyTorch's floating-point types of 8 bits. What they convert to differs between releases, so that
// they are PyTorch's own, or incomplete without PyTorch.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT8_H
#define CUDA_WHEEL_PYTORCH_FLOAT8_H

// With TORCH_STABLE_ONLY, the headers of c10 refuse to be included.
#if __has_include(<torch/headeronly/util/Float8_e4m3fn.h>)
#include <torch/headeronly/util/Float8_e4m3fn.h>
#elif __has_include(<c10/util/Float8_e4m3fn.h>)
#include <c10/util/Float8_e4m3fn.h>
#endif
#if __has_include(<torch/headeronly/util/Float8_e4m3fnuz.h>)
#include <torch/headeronly/util/Float8_e4m3fnuz.h>
#elif __has_include(<c10/util/Float8_e4m3fnuz.h>)
#include <c10/util/Float8_e4m3fnuz.h>
#endif
#if __has_include(<torch/headeronly/util/Float8_e5m2.h>)
#include <torch/headeronly/util/Float8_e5m2.h>
#elif __has_include(<c10/util/Float8_e5m2.h>)
#include <c10/util/Float8_e5m2.h>
#endif
#if __has_include(<torch/headeronly/util/Float8_e5m2fnuz.h>)
#include <torch/headeronly/util/Float8_e5m2fnuz.h>
#elif __has_include(<c10/util/Float8_e5m2fnuz.h>)
#include <c10/util/Float8_e5m2fnuz.h>
#endif
#if __has_include(<torch/headeronly/util/Float8_e8m0fnu.h>)
#include <torch/headeronly/util/Float8_e8m0fnu.h>
#elif __has_include(<c10/util/Float8_e8m0fnu.h>)
#include <c10/util/Float8_e8m0fnu.h>
#endif

namespace c10 {
struct Float8_e4m3fn;
struct Float8_e4m3fnuz;
struct Float8_e5m2;
struct Float8_e5m2fnuz;
struct Float8_e8m0fnu;
}

#endif
