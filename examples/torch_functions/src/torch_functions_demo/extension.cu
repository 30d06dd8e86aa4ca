// A PyTorch extension as it was written for nvcc. cuda-wheel compiles this file unedited; its host functions are in
// __init__.py, in Python.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

// --- the nearest point: one instance for each number of dimensions -------------------------------------------

template <typename T, int D>
__global__ void nearest_kernel(const T* points, const T* queries, int64_t* index, int n, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m)
        return;
    T best = 0;
    int64_t found = -1;
    for (int j = 0; j < n; ++j) {
        T distance = 0;
        for (int d = 0; d < D; ++d) {
            T difference = points[j * D + d] - queries[i * D + d];
            distance += difference * difference;
        }
        if (found < 0 || distance < best) {
            best = distance;
            found = j;
        }
    }
    index[i] = found;
}

template <typename T>
void launch_nearest(
    const at::Tensor& points, const at::Tensor& queries, at::Tensor& index)
{
    int n = points.size(0), m = queries.size(0);
    int blocks = (m + 127) / 128;
    auto stream = at::cuda::getCurrentCUDAStream();
    auto p = points.data_ptr<T>();
    auto q = queries.data_ptr<T>();
    auto i = index.data_ptr<int64_t>();
    switch (points.size(1)) {
    case 1: nearest_kernel<T, 1><<<blocks, 128, 0, stream>>>(p, q, i, n, m); break;
    case 2: nearest_kernel<T, 2><<<blocks, 128, 0, stream>>>(p, q, i, n, m); break;
    case 3: nearest_kernel<T, 3><<<blocks, 128, 0, stream>>>(p, q, i, n, m); break;
    case 4: nearest_kernel<T, 4><<<blocks, 128, 0, stream>>>(p, q, i, n, m); break;
    default:
        TORCH_CHECK(false, "points must have 1 to 4 dimensions, not ", points.size(1));
    }
}

at::Tensor nearest(at::Tensor points, at::Tensor queries)
{
    TORCH_CHECK(
        points.size(1) == queries.size(1),
        "points and queries must have the same dimensions");
    const c10::cuda::CUDAGuard guard(points.device());
    points = points.contiguous();
    queries = queries.contiguous();
    auto index = at::empty({queries.size(0)}, points.options().dtype(at::kLong));
    AT_DISPATCH_FLOATING_TYPES(points.scalar_type(), "nearest", [&] {
        launch_nearest<scalar_t>(points, queries, index);
    });
    return index;
}

// --- elements above a threshold: two passes, and a size that the host reads back ------------------------------------

__global__ void mark_kernel(const float* x, int* marks, float threshold, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        marks[i] = x[i] > threshold;
}

__global__ void collect_kernel(const float* x, const int* marks, const int64_t* places, float* found, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && marks[i])
        found[places[i] - 1] = x[i];
}

at::Tensor above(at::Tensor x, double threshold)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    int n = x.numel();
    auto marks = at::empty({n}, x.options().dtype(at::kInt));
    if (n == 0)
        return at::empty({0}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    mark_kernel<<<(n + 255) / 256, 256, 0, stream>>>(
        x.data_ptr<float>(), marks.data_ptr<int>(), threshold, n);
    auto places = at::cumsum(marks, 0);
    auto found = at::empty({places[n - 1].item<int64_t>()}, x.options());
    collect_kernel<<<(n + 255) / 256, 256, 0, stream>>>(
        x.data_ptr<float>(), marks.data_ptr<int>(), places.data_ptr<int64_t>(),
        found.data_ptr<float>(), n);
    return found;
}

// --- a list of tensors, scaled in place: their addresses in a struct, several tensors a launch ----------------------

constexpr int LISTED = 8;

struct TensorList {
    float* addresses[LISTED];
    int64_t sizes[LISTED];
    int count;
};

__global__ void scale_kernel(TensorList list, float factor)
{
    for (int t = 0; t < list.count; ++t)
        for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < list.sizes[t]; i += gridDim.x * blockDim.x)
            list.addresses[t][i] *= factor;
}

void scale_all(std::vector<at::Tensor> tensors, double factor)
{
    if (tensors.empty())
        return;
    const c10::cuda::CUDAGuard guard(tensors[0].device());
    TensorList list;
    list.count = 0;
    for (size_t t = 0; t < tensors.size(); ++t) {
        TORCH_CHECK(tensors[t].is_contiguous(), "tensors must be contiguous");
        list.addresses[list.count] = tensors[t].data_ptr<float>();
        list.sizes[list.count] = tensors[t].numel();
        if (++list.count == LISTED || t + 1 == tensors.size()) {
            scale_kernel<<<64, 256, 0, at::cuda::getCurrentCUDAStream()>>>(list, factor);
            list.count = 0;
        }
    }
}

// --- sums of rows: accessors by value, any strides ----------------------------------------------------------------

template <typename T>
__global__ void row_sums_kernel(
    const at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> x, at::PackedTensorAccessor32<T, 1> sums)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= x.size(0))
        return;
    T sum = 0;
    for (int column = 0; column < x.size(1); ++column)
        sum += x[row][column];
    sums[row] = sum;
}

at::Tensor row_sums(at::Tensor x)
{
    const c10::cuda::CUDAGuard guard(x.device());
    int rows = x.size(0);
    auto sums = at::empty({rows}, x.options());
    if (rows == 0)
        return sums;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "row_sums", [&] {
        auto stream = at::cuda::getCurrentCUDAStream();
        row_sums_kernel<scalar_t><<<(rows + 127) / 128, 128, 0, stream>>>(
            x.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
            sums.packed_accessor32<scalar_t, 1>());
    });
    return sums;
}

// --- random numbers of PyTorch's generator, and a flag that no kernel sees -------------------------------------------

__device__ uint32_t philox(uint64_t seed, uint64_t offset, uint64_t sequence)
{
    uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
    uint32_t counter[4] = {uint32_t(offset), uint32_t(offset >> 32), uint32_t(sequence), uint32_t(sequence >> 32)};
    for (int round = 0; round < 10; ++round) {
        uint32_t low0 = 0xD2511F53u * counter[0], high0 = __umulhi(0xD2511F53u, counter[0]);
        uint32_t low1 = 0xCD9E8D57u * counter[2], high1 = __umulhi(0xCD9E8D57u, counter[2]);
        counter[0] = high1 ^ counter[1] ^ key[0];
        counter[1] = low1;
        counter[2] = high0 ^ counter[3] ^ key[1];
        counter[3] = low0;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter[0];
}

__global__ void dropout_kernel(
    const float* x, float* y, bool* kept, int n, float probability, uint64_t seed, uint64_t offset)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        bool keep = philox(seed, offset / 4, i) * 2.3283064e-10f >= probability;
        y[i] = keep ? x[i] / (1.0f - probability) : 0.0f;
        if (kept)
            kept[i] = keep;
    }
}

std::tuple<at::Tensor, at::Tensor> dropout(at::Tensor x, double probability, bool train)
{
    if (!train || probability == 0)
        return {x.clone(), at::empty({0}, x.options().dtype(at::kBool))};
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    int n = x.numel();
    auto y = at::empty_like(x);
    auto kept = at::empty(x.sizes(), x.options().dtype(at::kBool));
    auto generator = at::get_generator_or_default<at::CUDAGeneratorImpl>(
        c10::nullopt, at::cuda::detail::getDefaultCUDAGenerator());
    std::pair<uint64_t, uint64_t> state;
    {
        std::lock_guard<std::mutex> lock(generator->mutex_);
        state = generator->philox_engine_inputs(4);
    }
    if (n > 0)
        dropout_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), kept.data_ptr<bool>(), n,
            probability, state.first, state.second);
    return {y, kept};
}

// --- a number of half precision by value, and a tensor that may be missing ---------------------------------------------

__global__ void blend_kernel(const c10::Half* x, const c10::Half* y, c10::Half* result, c10::Half weight, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        result[i] = c10::Half(float(x[i]) + float(weight) * (y ? float(y[i]) : 1.0f));
}

at::Tensor blend(at::Tensor x, c10::optional<at::Tensor> y, double weight)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    at::Tensor other = y.has_value() ? y->contiguous() : at::Tensor();
    int n = x.numel();
    auto result = at::empty_like(x);
    if (n > 0)
        blend_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<c10::Half>(),
            other.defined() ? other.data_ptr<c10::Half>() : nullptr,
            result.data_ptr<c10::Half>(), c10::Half(weight), n);
    return result;
}

// --- a function and its derivatives: two launches, and PyTorch's operations between -------------------------------------

__global__ void square_kernel(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * x[i];
}

__global__ void divide_kernel(const float* x, const float* total, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] / total[0];
}

at::Tensor normalise(at::Tensor x)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    int n = x.numel();
    auto squares = at::empty_like(x), y = at::empty_like(x);
    if (n == 0)
        return y;
    auto stream = at::cuda::getCurrentCUDAStream();
    square_kernel<<<(n + 255) / 256, 256, 0, stream>>>(
        x.data_ptr<float>(), squares.data_ptr<float>(), n);
    auto total = at::sqrt(at::sum(squares));
    divide_kernel<<<(n + 255) / 256, 256, 0, stream>>>(
        x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("nearest", &nearest);
    m.def("above", &above);
    m.def("scale_all", &scale_all);
    m.def("row_sums", &row_sums);
    m.def("dropout", &dropout);
    m.def("blend", &blend);
    m.def("normalise", &normalise);
}
