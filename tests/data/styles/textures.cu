// kernels: sample; paint
#include <cuda_runtime.h>

struct Images {
    cudaTextureObject_t photo;
    cudaSurfaceObject_t canvas;
    cudaTextureObject_t volume;
};

extern "C" __global__ void sample(Images images, float4* out, int width, float depth)
{
    float x = (blockIdx.x * blockDim.x + threadIdx.x + 0.5f) / width;
    float4 colour = tex2D<float4>(images.photo, x, 0.5f);
    uchar4 raw;
    tex1Dfetch(&raw, images.photo, threadIdx.x);
    colour.w += tex3D<float>(images.volume, x, x, depth) + tex2DLod<float>(images.photo, x, x, 1.0f) + raw.x;
    colour.x += tex2DLayered<float>(images.photo, x, x, 2) + texCubemap<float>(images.photo, x, x, x);
    out[threadIdx.x] = colour;
}

extern "C" __global__ void paint(cudaSurfaceObject_t canvas, int width)
{
    int x = threadIdx.x, y = blockIdx.x;
    uchar4 old;
    surf2Dread(&old, canvas, x * sizeof(uchar4), y, cudaBoundaryModeClamp);
    surf2Dwrite(make_uchar4(old.w, old.x, 0, 255), canvas, x * sizeof(uchar4), y, cudaBoundaryModeZero);
    surf1Dwrite(surf1Dread<int>(canvas, 0), canvas, 4);
}
