// average += rate * (sample - average)
__global__ void update(float* average, const float* sample, float rate, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        average[i] += rate * (sample[i] - average[i]);
}
