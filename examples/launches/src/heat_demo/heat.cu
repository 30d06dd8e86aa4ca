// One step of the heat equation on a rod whose ends keep their temperature.
#include <cuda_runtime.h>

extern "C" __global__ void step(const float* __restrict__ before, float* __restrict__ after, float rate, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();  // the next step's blocks may start when there is room for them
    cudaGridDependencySynchronize();  // and wait here until this step has ended, and all that it wrote can be read
#endif
    if (i < n) {
        float here = before[i];
        bool inside = i > 0 && i < n - 1;
        after[i] = inside ? here + rate * (before[i - 1] - 2 * here + before[i + 1]) : here;
    }
}
