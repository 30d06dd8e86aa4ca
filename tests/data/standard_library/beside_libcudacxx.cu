#include <utility>
#include <cuda/std/tuple>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/optional>
#include <cuda/std/functional>
#include <cuda/std/atomic>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_pipeline.h>
#include <cuda_awbarrier.h>
#include <tuple>
#include <array>
#include <string>
#include <functional>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_radix_sort.cuh>
static_assert(sizeof(int64_t)==8);
static_assert(std::is_same<cuda::std::int64_t,long>::value);
__global__ void k(int*o){ cuda::std::tuple<int,float> t{1,2.f}; auto [a,b]=t; const cuda::std::array<int,2> r{3,4}; auto [c,d]=r; cuda::std::pair<int,int> p{1,2}; auto [e,f]=p; auto [g,h]=std::make_pair(1,2); const auto [x,y]=std::make_tuple(1,2); o[0]=a+b+c+d+e+f+g+h+x+y; cuda::atomic_ref<int> q(o[1]); q.fetch_add(1); }
