// at::cuda::detail::IntDivider: division by a number that the host knows; of 32 bits, by a multiplication and a shift.
#ifndef CUDA_WHEEL_PYTORCH_INTEGER_DIVIDER_CUH
#define CUDA_WHEEL_PYTORCH_INTEGER_DIVIDER_CUH

#include <c10/macros/Macros.h>

namespace at {
namespace cuda {
namespace detail {

template <typename Value>
struct DivMod {
  Value div, mod;
  C10_HOST_DEVICE DivMod(Value div, Value mod) : div(div), mod(mod) {}
};

template <typename Value>
struct IntDivider {
  IntDivider() = default;
  IntDivider(Value d) : divisor(d) {}
  C10_HOST_DEVICE inline Value div(Value n) const { return n / divisor; }
  C10_HOST_DEVICE inline Value mod(Value n) const { return n % divisor; }
  C10_HOST_DEVICE inline DivMod<Value> divmod(Value n) const { return DivMod<Value>(n / divisor, n % divisor); }

  Value divisor;
};

template <>
struct IntDivider<unsigned int> {
  IntDivider() = default;
  IntDivider(unsigned int d);
  C10_HOST_DEVICE inline unsigned int div(unsigned int n) const { return (__umulhi(n, m1) + n) >> shift; }
  C10_HOST_DEVICE inline unsigned int mod(unsigned int n) const { return n - div(n) * divisor; }
  C10_HOST_DEVICE inline DivMod<unsigned int> divmod(unsigned int n) const {
    const unsigned int quotient = div(n);
    return DivMod<unsigned int>(quotient, n - quotient * divisor);
  }

  unsigned int divisor;
  unsigned int m1;
  unsigned int shift;
};

}
}
}

#endif
