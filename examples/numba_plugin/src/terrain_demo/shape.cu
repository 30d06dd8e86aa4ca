// Replaces each height by what a function of the caller's makes of it.
extern "C" __device__ float profile(float height);

__global__ void shape(float* heights, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        heights[i] = profile(heights[i]);
}
