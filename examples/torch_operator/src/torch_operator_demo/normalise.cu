// Each row of x divided by the root of the mean of its squares: one block of 128 threads for each row.

// The sum of each thread's value over the block, which all threads get.
__device__ float block_sum(float value)
{
    __shared__ float sums[128];
    sums[threadIdx.x] = value;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    float sum = sums[0];
    __syncthreads();  // the next call writes sums
    return sum;
}

__global__ void normalise(const float* x, float* y, float* scale, int columns, float epsilon)
{
    long long start = blockIdx.x * (long long)columns;
    float squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        squares += x[start + i] * x[start + i];
    float factor = rsqrtf(block_sum(squares) / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[start + i] = x[start + i] * factor;
    if (threadIdx.x == 0)
        scale[blockIdx.x] = factor;  // for the gradient
}

__global__ void normalise_gradient(const float* grad_y, const float* y, const float* scale, float* grad_x, int columns)
{
    long long start = blockIdx.x * (long long)columns;
    float products = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        products += grad_y[start + i] * y[start + i];
    float mean = block_sum(products) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        grad_x[start + i] = scale[blockIdx.x] * (grad_y[start + i] - y[start + i] * mean);
}
