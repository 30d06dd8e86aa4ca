// Thrust's execution policies. Thrust's own parallel back ends are left out: an image contains no kernels of Thrust.
#ifndef CUDA_WHEEL_THRUST_POLICIES_H
#define CUDA_WHEEL_THRUST_POLICIES_H

#include <driver_types.h>
#include <thrust/detail/config/namespace.h>
#include <thrust/detail/execution_policy.h>

THRUST_NAMESPACE_BEGIN

namespace detail {
struct seq_t : execution_policy<seq_t> { __host__ __device__ constexpr seq_t() {} };
}

namespace system {
namespace cuda {
namespace detail {
struct placed_t : thrust::execution_policy<placed_t> {
  placed_t on(const cudaStream_t& stream) const;
};
template <class Policy> struct on_stream : thrust::execution_policy<Policy> {
  placed_t on(const cudaStream_t& stream) const;
  template <class Allocator> placed_t operator()(Allocator&& allocator) const;
};
struct tag : on_stream<tag> { __host__ __device__ constexpr tag() {} };
struct par_t : on_stream<par_t> { __host__ __device__ constexpr par_t() {} };
struct par_nosync_t : on_stream<par_nosync_t> { __host__ __device__ constexpr par_nosync_t() {} };
cudaStream_t get_stream(const par_t&);
cudaStream_t get_stream(const placed_t&);
}
typedef detail::tag tag;
template <class Policy> using execution_policy = thrust::execution_policy<Policy>;
static const detail::par_t par;
static const detail::par_nosync_t par_nosync;
}
namespace cpp {
namespace detail {}
struct par_t : thrust::execution_policy<par_t> { __host__ __device__ constexpr par_t() {} };
typedef par_t tag;
static const par_t par;
}
namespace omp { using cpp::par; using cpp::tag; }
namespace tbb { using cpp::par; using cpp::tag; }
}
namespace cuda_cub = system::cuda;
namespace cuda = system::cuda;
namespace cpp = system::cpp;
namespace omp = system::omp;
namespace tbb = system::tbb;

typedef system::cuda::tag device_system_tag;
typedef system::cpp::tag host_system_tag;

namespace detail {
typedef system::cuda::detail::par_t device_t;
typedef system::cpp::par_t host_t;
}
static const detail::seq_t seq;
static const detail::device_t device;
static const detail::host_t host;

THRUST_NAMESPACE_END

#endif
