// kernels: produce
// The driver API and the runtime API in one file, with texture and graph objects that the host creates.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cudaTypedefs.h>
#include <cstring>
#include <string>

struct Launch {
    CUfunction function;
    CUdeviceptr memory;
    CUstream stream;
    dim3 grid;
};

static const char* name_of(CUresult result)
{
    const char* text = nullptr;
    cuGetErrorName(result, &text);
    return text;
}

extern "C" __global__ void produce(Launch launch, cudaTextureObject_t texture, cudaPitchedPtr pitched, cudaExtent extent)
{
    float* memory = reinterpret_cast<float*>(launch.memory);
    memory[threadIdx.x] = tex1D<float>(texture, threadIdx.x) + launch.grid.x + extent.width;
    static_cast<char*>(pitched.ptr)[pitched.pitch] = 1;
}

cudaTextureObject_t texture_of(cudaArray_t array)
{
    cudaResourceDesc resource;
    std::memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModeLinear;
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &resource, &description, nullptr);
    (void)channel;
    return texture;
}

std::string run(Launch launch, cudaArray_t array)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamBeginCapture(launch.stream, cudaStreamCaptureModeGlobal);
    produce<<<launch.grid, 32, 0, launch.stream>>>(launch, texture_of(array), cudaPitchedPtr{}, make_cudaExtent(1, 1, 1));
    cudaStreamEndCapture(launch.stream, &graph);
    cudaGraphInstantiate(&ready, graph, 0);
    return name_of(cuLaunchKernel(launch.function, 1, 1, 1, 32, 1, 1, 0, launch.stream, nullptr, nullptr));
}
