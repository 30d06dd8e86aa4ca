// kernels: wide_copy; particles; bytes
#include <vector_types.h>
#include <vector_functions.h>

inline __host__ __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __host__ __device__ float3 operator*(float s, const float3& a) { return make_float3(s * a.x, s * a.y, s * a.z); }
inline __host__ __device__ void operator+=(float4& a, float4 b) { a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w; }
inline __host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

#define FLOAT4(x) (reinterpret_cast<float4*>(&(x))[0])

extern "C" __global__ void wide_copy(float* __restrict__ to, float* __restrict__ from, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        FLOAT4(to[i]) = FLOAT4(from[i]);
    float4 sum = __ldg(reinterpret_cast<const float4*>(from));
    sum += __ldcs(reinterpret_cast<const float4*>(from) + 1);
    __stcs(reinterpret_cast<float4*>(to), sum);
    reinterpret_cast<int4*>(to)[1] = __ldcg(reinterpret_cast<const int4*>(from));
}

struct __align__(16) Particle {
    float3 position;
    float mass;
    float3 velocity;
    float charge;
};

extern "C" __global__ void particles(Particle* all, float step)
{
    Particle mine = all[threadIdx.x];
    mine.position = mine.position + step * mine.velocity;
    mine.mass = sqrtf(dot(mine.position, mine.position)) + rnorm3df(1, 2, 3);
    all[threadIdx.x] = mine;
}

extern "C" __global__ void bytes(uchar4* x, const char4* y, const short2* z, longlong2* w, double2* unused, int3 size, dim3 grid)
{
    uint3 where = threadIdx;
    x[where.x] = make_uchar4(y->x, y->y, z->x, static_cast<unsigned char>(size.x * grid.y));
    w->x = make_longlong2(1, 2).y + (unused == nullptr) + make_ulonglong2(1, 2).x;
}
