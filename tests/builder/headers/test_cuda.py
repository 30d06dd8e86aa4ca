"""Host code that calls CUDA's libraries compiles: the runtime and driver APIs, cuBLAS and its kin, Thrust and CUB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import STAND_INS, Toolchain

Compile = Callable[..., Compiled]


def kernels(result: Compiled) -> set[str]:
    return {signature(symbol).name for symbol in result.kernels}


RUNTIME = """
__device__ float table[4];
template <class T> __global__ void by_launch(T* p, int n) { p[n] = 1; }
template <class T> __global__ void by_configuration(T* p, int n) { p[n] = 2; }
template <class T> __global__ void by_occupancy(T* p) { p[0] = 3; }
template <class T> __global__ void by_attribute(T* p) { p[0] = 4; }
template <class T> __global__ void by_functor(T* p) { p[0] = 5; }
template <class T> __global__ void by_size(T p) { p[0] = 6; }
template <class T> __global__ void never(T* p) { p[0] = 7; }
void host(float* p, cudaStream_t stream) {
  cudaMalloc(&p, 4 * sizeof(*p));
  cudaMallocAsync(&p, 16, stream);
  cudaMemcpyToSymbol(table, p, sizeof(table));
  void* arguments[] = {&p};
  cudaLaunchKernel(by_launch<float>, dim3(1), dim3(32), arguments, 0, stream);
  cudaLaunchConfig_t configuration = {};
  cudaLaunchKernelEx(&configuration, by_configuration<double>, nullptr, 3);
  int grid, block;
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, by_occupancy<int>);
  cudaFuncSetAttribute(by_attribute<short>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, by_functor<long>, [](auto size) {
    by_size<<<1, size>>>(static_cast<decltype(size)*>(nullptr));
    return size_t(size);
  });
  cudaEvent_t event;
  cudaEventCreate(&event, cudaEventDisableTiming);
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) cudaGetErrorString(cudaGetLastError());
  if (std::make_pair(1, 2.0f).first > grid) return;
  static_assert(sizeof(uint) == 4 && std::numeric_limits<int>::max() == INT_MAX, "");
}
"""


def test_the_runtime_api_is_there_without_an_include(compiled: Compile) -> None:
    result = compiled(RUNTIME)
    names = (
        "launch<float>",
        "configuration<double>",
        "occupancy<int>",
        "attribute<short>",
        "functor<long>",
        "size<int*>",
    )
    assert kernels(result) == {f"by_{name}" for name in names}
    assert (result.left_out, result.log) == ((), "")


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("void f(double d) { cudaMalloc(d, 4); }", 'no instance of overloaded function "cudaMalloc" matches'),
        ("__global__ void k() { cudaDeviceReset(); }", "cudaDeviceReset"),
        ("void f() { cudaDoesNotExist(); } __device__ void g() { undeclared(); }", '"undeclared" is undefined'),
    ],
)
def test_wrong_calls_of_the_runtime_api_are_errors(mistake: str, told: str, compiled: Compile) -> None:
    with pytest.raises(CompileError, match=told):
        compiled(
            f"template <class T> __global__ void used(T* p) {{}}\nvoid h() {{ used<<<1, 1>>>((int*)0); }}\n{mistake}\n",
            host_code="whole",
        )


LIBRARIES = """
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_gl_interop.h>
#include <cuda_profiler_api.h>
#include <cudnn.h>
#include <cufftXt.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusolverSp.h>
#include <cusparse.h>
#include <nccl.h>
#include <nvToolsExt.h>
#include <nvml.h>
template <class T> __global__ void scale(T* p, float by) { p[threadIdx.x].x *= by; }
__global__ void copy(const __grid_constant__ CUtensorMap map, int* out) { *out = alignof(CUtensorMap); }
static_assert(sizeof(cufftComplex) == 8 && sizeof(cufftDoubleComplex) == 16 && sizeof(ncclUniqueId) == 128, "");
static_assert(CUBLAS_OP_T == 1 && CUBLAS_GEMM_DEFAULT == -1 && CUDA_R_16BF == 14 && ncclFloat == 7, "");
__device__ cufftComplex load(void* in, size_t offset, void*, void*) { return static_cast<cufftComplex*>(in)[offset]; }
__device__ cufftCallbackLoadC loader = load;
void host(float* a, cufftComplex* c, cudaStream_t stream) {
  cublasHandle_t blas;
  const float one = 1;
  if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS || cublasSetStream(blas, stream)) return;
  cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 1, 2, 3, &one, a, 1, a, 2, &one, a, 3);
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16F, 1, a, CUDA_R_16F, 1, &one, a, CUDA_R_32F, 1,
               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16F, 1, a, CUDA_R_16F, 1, &one, a, CUDA_R_32F, 1,
               CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
  cublasLtMatmulDescOpaque_t opaque = {};
  cublasLtMatmulDescInit(&opaque, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDesc_t matmul;
  cublasLtMatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cufftHandle plan;
  cufftPlan1d(&plan, 8, CUFFT_C2C, 1);
  cufftExecC2C(plan, c, c, CUFFT_FORWARD);
  scale<<<1, 8, 0, stream>>>(c, 0.125f);
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandGenerateUniform(generator, a, 8);
  cusparseHandle_t sparse;
  cusparseCreate(&sparse);
  cusparseSpMatDescr_t matrix;
  cusparseCreateCsr(&matrix, 1, 1, 1, a, a, a, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusolverDnHandle_t solver = nullptr;
  int work;
  cusolverDnSpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, 1, a, 1, &work);
  cudnnHandle_t dnn;
  if (cudnnCreate(&dnn) != CUDNN_STATUS_SUCCESS) cudnnGetErrorString(CUDNN_STATUS_NOT_INITIALIZED);
  ncclComm_t communicator = nullptr;
  ncclAllReduce(a, a, 8, ncclFloat, ncclSum, communicator, stream);
  nvtxRangePush("range");
  nvtxRangePop();
  nvmlInit();
  cudaProfilerStart();
  cuInit(0);
  cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}
"""


def test_host_code_calls_cuda_libraries(compiled: Compile) -> None:
    result = compiled(LIBRARIES, options=("--std=c++14", "--diag-suppress=549"))
    assert kernels(result) == {"scale<float2>", "copy"}
    assert (result.left_out, result.log) == ((), "")


def test_functions_of_libraries_take_handles_of_any_class_and_keep_their_results(compiled: Compile) -> None:
    text = """
#include <cusparse.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <type_traits>
struct Handle {
  Handle(const Handle&) = delete;
  operator cusparseHandle_t() const;
};
template <cublasStatus_t (*F)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const double*,
                              const double*, int, const double*, int, const double*, double*, int)>
__global__ void by_address() {}
template <class T> __global__ void by_result() {}
void host(const Handle& handle, cublasHandle_t blas, float* p) {
  if (cusparseSgemvi_bufferSize(handle, CUSPARSE_OPERATION_TRANSPOSE, 1, 1, 1, nullptr) != CUSPARSE_STATUS_SUCCESS) return;
  by_result<decltype(cublasSaxpy(blas, 1, p, p, 1, p, 1))><<<1, 1>>>();
  by_address<cublasDgemm><<<1, 1>>>();
  auto buffer = cusolverDnSgetrf_bufferSize;
  buffer(nullptr, 1, 1, p, 1, nullptr);
  static_assert(std::is_same<decltype(buffer(nullptr, 1)), cusolverStatus_t>::value, "");
}
"""
    assert kernels(compiled(text)) == {"by_address<&cublasDgemm_v2>", "by_result<cublasStatus_t>"}


@pytest.mark.parametrize(
    ("known", "version"),
    [("", 91000), ("#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 7\n", 80907)],
)
def test_the_version_of_cudnn_is_that_of_the_build_environment(
    known: str, version: int, compiled: Compile, toolchain: Toolchain, tmp_path: Path
) -> None:
    folder = tmp_path / "cudnn"
    folder.mkdir()
    if known:
        (folder / "cudnn_version.h").write_text(known)
    text = f"#include <cudnn.h>\nstatic_assert(CUDNN_VERSION == {version});\n__global__ void kernel() {{}}"
    assert kernels(compiled(text, include_dirs=("", *toolchain.header_folders, str(folder)))) == {"kernel"}


def test_host_code_calls_the_legacy_functions_of_cublas(compiled: Compile) -> None:
    """Macros put their names together."""
    calls = "cublasSaxpy(n, 2.0f, x, 1, x, 1); cublasDscal(n, 2.0, d, 1); copy<<<cublasIsamax(n, x, 1), 1>>>();"
    calls += "cublasCswap(n, c, 1, c, 1); cublasZcopy(n, z, 1, z, 1);"
    result = compiled(
        "#include <cublas.h>\n__global__ void copy() {}\n"
        f"void host(int n, float* x, double* d, cuComplex* c, cuDoubleComplex* z) {{ {calls} }}\n"
    )
    assert (kernels(result), result.left_out, result.log) == ({"copy"}, (), "")


THRUST = """
#include <cub/cub.cuh>
#include <thrust/complex.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
template <class T> __global__ void typed(T* p) { p[0] = T(); }
template <class It> __global__ void through(It it) { it[0] = 3; }
__global__ void in_device_code(float* p, int* q, thrust::complex<float>* z) {
  using Reduce = cub::BlockReduce<float, 32>;
  __shared__ typename Reduce::TempStorage storage;
  p[3] = Reduce(storage).Sum(p[threadIdx.x]);
  p[0] = thrust::reduce(thrust::seq, p, p + 4) + thrust::reduce(thrust::device, p, p + 4, 0.0f);
  thrust::inclusive_scan(thrust::device, p + 4, p + 8, p + 4);
  thrust::transform(thrust::seq, p, p + 4, p, [](float x) { return 2 * x; });
  q[0] = *thrust::lower_bound(thrust::seq, q, q + 10, thrust::max(q[1], q[2]));
  thrust::tuple<int, float> both = thrust::make_tuple(1, 2.0f);
  p[2] = thrust::get<1>(both);
  z[0] = thrust::exp(z[1]) * thrust::complex<float>(0, 1);
}
void host(int n, cudaStream_t stream) {
  thrust::host_vector<float> there(n, 1.0f);
  thrust::device_vector<float> here = there;
  try {
    if (cudaError_t error = cudaGetLastError()) throw thrust::system_error(error, thrust::cuda_category(), "scan");
  } catch (const thrust::system_error& error) {
    auto code = error.code().value() + *error.what();
    typed<<<1, 1>>>(&code);
  }
  thrust::device_vector<int> keys(n, 7);
  thrust::sequence(keys.begin(), keys.end());
  thrust::sort_by_key(thrust::cuda::par.on(stream), keys.begin(), keys.end(), here.begin(), thrust::greater<int>());
  auto sum = thrust::reduce(here.begin(), here.end());
  auto total = thrust::reduce(thrust::device, here.begin(), here.end(), 0.0, thrust::plus<double>());
  auto count = thrust::count(keys.begin(), keys.end(), 3);
  typed<<<1, 1>>>(&sum);
  typed<<<1, 1>>>(&total);
  typed<<<1, 1>>>(&count);
  typed<<<1, 1>>>(thrust::raw_pointer_cast(keys.data()));
  through<<<1, 1>>>(here.begin());
  auto pairs = thrust::make_zip_iterator(thrust::make_tuple(keys.begin(), here.begin()));
  thrust::sort(pairs, pairs + n, [] __device__ (auto a, auto b) { return thrust::get<0>(a) < thrust::get<0>(b); });
  thrust::for_each_n(thrust::device, thrust::counting_iterator<int>(0), n, [] __device__ (int i) {});
  keys.erase(thrust::unique(keys.begin(), keys.end()), keys.end());
  float first = here[0];
  here[1] = first;
  size_t bytes = 0;
  cub::DoubleBuffer<int> buffer(thrust::raw_pointer_cast(&keys[0]), nullptr);
  cudaError_t error = cub::DeviceRadixSort::SortKeys(nullptr, bytes, buffer, n, 0, 32, stream);
  error = cub::DeviceScan::InclusiveSum<float*>(nullptr, bytes, here.data().get(), here.data().get(), n);
}
"""


def test_thrust_and_cub_are_declared_for_host_code_and_work_in_device_code(compiled: Compile) -> None:
    result = compiled(THRUST, options=("--std=c++17", "--diag-suppress=1444,549"))
    iterator = next(name for name in kernels(result) if name.startswith("through<"))
    assert "normal_iterator" in iterator
    expected = {"in_device_code", "typed<float>", "typed<double>", "typed<long>", "typed<int>"}
    assert kernels(result) - {iterator} == expected
    assert result.left_out == ()
    assert STAND_INS[0] + "/thrust/detail/cuda_wheel/algorithms.h" in (result.headers or ())


FUNCTION = """
#include <nvfunctional>
__device__ int twice(int x) { return 2 * x; }
__global__ void k(int* out, int n) {
  int base = out[1];
  nvstd::function<int(int)> f = twice, g = [=](int x) { return x + base; }, none;
  if (n) f = g;
  out[0] = f(n) + (none == nullptr);
}
"""


def test_nvstd_function_works_in_device_code(compiled: Compile) -> None:
    assert kernels(compiled(FUNCTION)) == {"k"}


def test_the_preamble_emits_nothing(compiled: Compile) -> None:
    text = "__global__ void k(float* p) { p[threadIdx.x] = sqrtf(p[0]) + pow(2.0, 3); }\n"
    bare, whole = compiled(text), compiled(text, options=("--std=c++17", "--pre-include=cuda_wheel_detail/host_code.h"))
    assert bare.variables == whole.variables == ()
    assert (bare.ptx, bare.cubin) == (whole.ptx, whole.cubin)
