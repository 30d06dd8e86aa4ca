// kernels: blur; count_up
__constant__ float weights[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
__constant__ struct {
    int width, height;
} image;
__device__ int counter = 7;
__device__ float2 table[2] = {{1.0f, 2.0f}, {3.0f, 4.0f}};
__device__ volatile unsigned ticket;
__managed__ int shared_with_host = 3;
__device__ __managed__ float more[4];
__device__ const char* const names[] = {"one", "two"};
static __device__ unsigned long long hidden;
__device__ int* where = &counter;
extern __constant__ float later[2];
__constant__ float later[2] = {1, 2};
const int RADIUS = 2;
static const float SCALE = 0.5f;
constexpr double LIMIT = 1.0;

extern "C" __global__ void blur(const float* in, float* out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int i = -RADIUS; i <= RADIUS; ++i)
        sum += weights[i + RADIUS] * in[min(max(x + i, 0), image.width - 1)];
    out[x] = SCALE * sum + later[0] + LIMIT;
}

extern "C" __global__ void count_up(int* out)
{
    static __device__ int calls = 1;
    *out = atomicAdd(&counter, 1) + shared_with_host + (int)more[1] + names[threadIdx.x & 1][0] + calls++ + *where;
    hidden += atomicInc((unsigned*)&ticket, 3);
    out[1] = table[1].x;
}
