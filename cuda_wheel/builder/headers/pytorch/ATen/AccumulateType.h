// at::acc_type<T, is_cuda>: the type that sums of T are kept in.
#ifndef CUDA_WHEEL_PYTORCH_ACCUMULATE_TYPE_H
#define CUDA_WHEEL_PYTORCH_ACCUMULATE_TYPE_H

#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <cuda_wheel_detail/pytorch/float8.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

namespace c10 {
enum class DeviceType : int8_t;
enum class ScalarType : int8_t;
}

namespace at {

namespace cuda_wheel_devices {
constexpr c10::DeviceType CPU = static_cast<c10::DeviceType>(0);
constexpr c10::DeviceType CUDA = static_cast<c10::DeviceType>(1);
constexpr c10::DeviceType XPU = static_cast<c10::DeviceType>(12);
constexpr c10::DeviceType MPS = static_cast<c10::DeviceType>(13);
}

template <typename T, c10::DeviceType device>
struct AccumulateTypeDevice {};
template <typename T, bool is_cuda>
struct AccumulateType {};
template <typename T>
struct AccumulateType<T, false> {
  using type = typename AccumulateTypeDevice<T, cuda_wheel_devices::CPU>::type;
};
template <typename T>
struct AccumulateType<T, true> {
  using type = typename AccumulateTypeDevice<T, cuda_wheel_devices::CUDA>::type;
};
template <typename T, c10::DeviceType device>
using acc_type_device = typename AccumulateTypeDevice<T, device>::type;
template <typename T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;

#define CUDA_WHEEL_SUMS_IN(T, sum, device)                   \
  template <>                                                \
  struct AccumulateTypeDevice<T, cuda_wheel_devices::device> { \
    using type = sum;                                        \
  };
// What is the same on every device.
#define CUDA_WHEEL_SUMS_ON(device)                              \
  CUDA_WHEEL_SUMS_IN(BFloat16, float, device)                   \
  CUDA_WHEEL_SUMS_IN(Half, float, device)                       \
  CUDA_WHEEL_SUMS_IN(Float8_e5m2, float, device)                \
  CUDA_WHEEL_SUMS_IN(Float8_e4m3fn, float, device)              \
  CUDA_WHEEL_SUMS_IN(Float8_e5m2fnuz, float, device)            \
  CUDA_WHEEL_SUMS_IN(Float8_e4m3fnuz, float, device)            \
  CUDA_WHEEL_SUMS_IN(int8_t, int64_t, device)                   \
  CUDA_WHEEL_SUMS_IN(uint8_t, int64_t, device)                  \
  CUDA_WHEEL_SUMS_IN(char, int64_t, device)                     \
  CUDA_WHEEL_SUMS_IN(int16_t, int64_t, device)                  \
  CUDA_WHEEL_SUMS_IN(int32_t, int64_t, device)                  \
  CUDA_WHEEL_SUMS_IN(int64_t, int64_t, device)                  \
  CUDA_WHEEL_SUMS_IN(bool, bool, device)                        \
  CUDA_WHEEL_SUMS_IN(c10::complex<Half>, c10::complex<float>, device)
CUDA_WHEEL_SUMS_ON(CUDA)
CUDA_WHEEL_SUMS_IN(half, float, CUDA)
CUDA_WHEEL_SUMS_IN(float, float, CUDA)
CUDA_WHEEL_SUMS_IN(double, double, CUDA)
CUDA_WHEEL_SUMS_IN(c10::complex<float>, c10::complex<float>, CUDA)
CUDA_WHEEL_SUMS_IN(c10::complex<double>, c10::complex<double>, CUDA)
CUDA_WHEEL_SUMS_ON(CPU)
CUDA_WHEEL_SUMS_IN(float, double, CPU)
CUDA_WHEEL_SUMS_IN(double, double, CPU)
CUDA_WHEEL_SUMS_IN(c10::complex<float>, c10::complex<double>, CPU)
CUDA_WHEEL_SUMS_IN(c10::complex<double>, c10::complex<double>, CPU)
CUDA_WHEEL_SUMS_ON(XPU)
CUDA_WHEEL_SUMS_IN(float, float, XPU)
CUDA_WHEEL_SUMS_IN(double, double, XPU)
CUDA_WHEEL_SUMS_IN(c10::complex<float>, c10::complex<float>, XPU)
CUDA_WHEEL_SUMS_IN(c10::complex<double>, c10::complex<double>, XPU)
CUDA_WHEEL_SUMS_ON(MPS)
CUDA_WHEEL_SUMS_IN(float, float, MPS)
CUDA_WHEEL_SUMS_IN(double, float, MPS)
CUDA_WHEEL_SUMS_IN(c10::complex<float>, c10::complex<float>, MPS)
CUDA_WHEEL_SUMS_IN(c10::complex<double>, c10::complex<float>, MPS)
#undef CUDA_WHEEL_SUMS_ON
#undef CUDA_WHEEL_SUMS_IN

c10::ScalarType toAccumulateType(c10::ScalarType type, c10::DeviceType device);
c10::ScalarType toAccumulateType(c10::ScalarType type, bool is_cuda);

}

#endif
