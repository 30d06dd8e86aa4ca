// at::cuda::detail::TensorInfo: pointer, sizes and strides of a tensor as a kernel parameter; IndexToOffset.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_INFO_CUH
#define CUDA_WHEEL_PYTORCH_TENSOR_INFO_CUH

#include <c10/macros/Macros.h>

#define MAX_TENSORINFO_DIMS 25

namespace at {
namespace cuda {
namespace detail {

template <typename T, typename IndexType>
struct TensorInfo {
  TensorInfo();
  TensorInfo(T* p, int dim, IndexType sz[MAX_TENSORINFO_DIMS], IndexType st[MAX_TENSORINFO_DIMS]);
  void reduceDim(int dim);
  int collapseDims(const int excludeDim = -1);
  __host__ __device__ inline bool isContiguous() const { return (dims == 1 && strides[0] == 1); }

  T* data;
  IndexType sizes[MAX_TENSORINFO_DIMS];
  IndexType strides[MAX_TENSORINFO_DIMS];
  int dims;
};

// The offset of an element from its linear index. Dims is the number of dimensions, -1 if only info.dims knows it.
template <typename T, typename IndexType, int Dims>
struct IndexToOffset {
  static __host__ __device__ IndexType get(IndexType linearId, const TensorInfo<T, IndexType>& info) {
    IndexType offset = 0;
    for (int i = Dims - 1; i > 0; --i) {
      const IndexType index = linearId % info.sizes[i];
      offset += index * info.strides[i];
      linearId /= info.sizes[i];
    }
    return offset + linearId * info.strides[0];
  }
};
template <typename T, typename IndexType>
struct IndexToOffset<T, IndexType, -1> {
  static inline __host__ __device__ IndexType get(IndexType linearId, const TensorInfo<T, IndexType>& info) {
    IndexType offset = 0;
    for (int i = info.dims - 1; i > 0; --i) {
      const IndexType index = linearId % info.sizes[i];
      offset += index * info.strides[i];
      linearId /= info.sizes[i];
    }
    return offset + linearId * info.strides[0];
  }
};

}
}
}

#endif
