// getTensorInfo and canUse32BitIndexMath: host functions that describe a tensor for a kernel.
#ifndef CUDA_WHEEL_PYTORCH_INDEX_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_INDEX_UTILS_CUH

#include <ATen/cuda/detail/TensorInfo.cuh>
#include <cstdint>
#include <limits>

namespace at {

class TensorBase;

namespace native {
bool canUse32BitIndexMath(const at::TensorBase& t, int64_t max_elem = std::numeric_limits<int32_t>::max());
}

namespace cuda {
namespace detail {

bool maybeOverlappingIndices(const at::TensorBase& t);
using at::native::canUse32BitIndexMath;

template <typename scalar, typename IndexType>
TensorInfo<scalar, IndexType> getTensorInfo(const at::TensorBase& t);

}
}
}

#endif
