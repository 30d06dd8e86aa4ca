// at::PhiloxCudaState: seed and offset of a generator, or where they lie while a CUDA graph is captured.
#ifndef CUDA_WHEEL_PYTORCH_PHILOX_CUDA_STATE_RAW_CUH
#define CUDA_WHEEL_PYTORCH_PHILOX_CUDA_STATE_RAW_CUH

#include <cstdint>

namespace at {

struct PhiloxCudaState {
  PhiloxCudaState() = default;
  PhiloxCudaState(uint64_t seed, uint64_t offset);
  PhiloxCudaState(int64_t* seed, int64_t* offset_extragraph, uint64_t offset_intragraph);

  union Payload {
    uint64_t val;
    int64_t* ptr;
  };

  Payload seed_{};
  Payload offset_{};
  uint64_t offset_intragraph_ = 0;
  bool captured_ = false;
};

}

#endif
