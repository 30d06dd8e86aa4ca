// at::philox_engine: the counter-based generator Philox 4x32, with PyTorch's ten rounds by default.
#ifndef CUDA_WHEEL_PYTORCH_PHILOX_RNG_ENGINE_H
#define CUDA_WHEEL_PYTORCH_PHILOX_RNG_ENGINE_H

#include <array>
#include <c10/macros/Macros.h>
#include <cmath>
#include <cstdint>
#include <cuda.h>

namespace at {

namespace detail {
typedef std::array<uint32_t, 4> UINT4;
typedef std::array<uint32_t, 2> UINT2;
typedef std::array<double, 2> DOUBLE2;
typedef std::array<float, 2> FLOAT2;
}

class philox_engine {
 public:
  C10_HOST_DEVICE inline explicit philox_engine(uint64_t seed = 67280421310721, uint64_t subsequence = 0,
                                                uint64_t offset = 0) {
    reset_state(seed, subsequence);
    incr_n(offset);
  }
  C10_HOST_DEVICE inline void reset_state(uint64_t seed = 67280421310721, uint64_t subsequence = 0) {
    key_[0] = static_cast<uint32_t>(seed);
    key_[1] = static_cast<uint32_t>(seed >> 32);
    counter_[0] = 0;
    counter_[1] = 0;
    counter_[2] = static_cast<uint32_t>(subsequence);
    counter_[3] = static_cast<uint32_t>(subsequence >> 32);
    used_ = 0;
  }
  C10_HOST_DEVICE inline void set_offset(uint64_t offset) {
    counter_[0] = static_cast<uint32_t>(offset);
    counter_[1] = static_cast<uint32_t>(offset >> 32);
  }
  C10_HOST_DEVICE uint64_t get_offset() const {
    return static_cast<uint64_t>(counter_[0]) | (static_cast<uint64_t>(counter_[1]) << 32);
  }

  // The next number; every fourth call computes the next four.
  C10_HOST_DEVICE inline uint32_t operator()(int32_t n_rounds = 10) {
    if (used_ == 0) {
      output_ = rounds(n_rounds);
      incr();
    }
    const uint32_t result = output_[static_cast<int>(used_)];
    used_ = (used_ + 1) & 3;
    return result;
  }
  float randn(uint32_t n_rounds);

  // Adds n to the counter of 128 bits.
  C10_HOST_DEVICE inline void incr_n(uint64_t n) {
    const uint32_t low = static_cast<uint32_t>(n);
    uint32_t high = static_cast<uint32_t>(n >> 32);
    counter_[0] += low;
    if (counter_[0] < low) {
      high++;
      counter_[1] += high;
      if (high != 0 && high <= counter_[1]) return;
    } else {
      counter_[1] += high;
      if (high <= counter_[1]) return;
    }
    if (++counter_[2]) return;
    ++counter_[3];
  }
  C10_HOST_DEVICE inline void incr() {
    if (++counter_[0]) return;
    if (++counter_[1]) return;
    if (++counter_[2]) return;
    ++counter_[3];
  }

 private:
  detail::UINT4 counter_;
  detail::UINT4 output_;
  detail::UINT2 key_;
  uint32_t used_;

  C10_HOST_DEVICE static inline detail::UINT4 single_round(const detail::UINT4& counter, const detail::UINT2& key) {
    const uint32_t high0 = __umulhi(0xD2511F53u, counter[0]);
    const uint32_t low0 = 0xD2511F53u * counter[0];
    const uint32_t high1 = __umulhi(0xCD9E8D57u, counter[2]);
    const uint32_t low1 = 0xCD9E8D57u * counter[2];
    detail::UINT4 result;
    result[0] = high1 ^ counter[1] ^ key[0];
    result[1] = low1;
    result[2] = high0 ^ counter[3] ^ key[1];
    result[3] = low0;
    return result;
  }
  C10_HOST_DEVICE inline detail::UINT4 rounds(uint32_t number) const {
    detail::UINT4 counter = counter_;
    detail::UINT2 key = key_;
    for (uint32_t round = 0; round < number - 1; round++) {
      counter = single_round(counter, key);
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    return single_round(counter, key);
  }
};

typedef philox_engine Philox4_32;

}

#endif
