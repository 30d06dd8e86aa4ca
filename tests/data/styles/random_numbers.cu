// kernels: seed; uniform; pi
#include <stdint.h>
#include <math_constants.h>

typedef struct {
    uint32_t x, y, z, w, counter;
} State;

static __inline__ __device__ uint32_t next(State* s)
{
    uint32_t t = s->x ^ (s->x << 2);
    s->x = s->y, s->y = s->z, s->z = s->w;
    s->w = s->w ^ (s->w << 4) ^ t ^ (t >> 1);
    s->counter += 362437u;
    return s->w + s->counter;
}

__device__ __forceinline__ uint2 philox_round(uint2 block, uint32_t key)
{
    uint32_t high = __umulhi(0xD2511F53u, block.x), low = 0xD2511F53u * block.x;
    return make_uint2(high ^ block.y ^ key, low);
}

extern "C" __global__ void seed(State* states, uint64_t seed)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint2 block = make_uint2(i, (uint32_t)seed);
#pragma unroll 10
    for (int round = 0; round < 10; ++round)
        block = philox_round(block, (uint32_t)(seed >> 32) + round * 0x9E3779B9u);
    states[i] = {block.x | 1, block.y, i, ~i, 0};
}

extern "C" __global__ void uniform(State* states, float2* out, int n)
{
    State local = states[threadIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float u = next(&local) * 2.3283064e-10f, v = next(&local) * 2.3283064e-10f;
        float s, c, r = sqrtf(-2.0f * logf(u));
        sincospif(2.0f * v, &s, &c);
        out[i] = make_float2(r * s, r * c);
    }
    states[threadIdx.x] = local;
}

extern "C" __global__ void pi(State* states, unsigned long long* inside, int rounds)
{
    State local = states[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned long long mine = 0;
    while (rounds--) {
        float x = next(&local) / 4294967296.0f, y = next(&local) / 4294967296.0f;
        mine += x * x + y * y < CUDART_ONE_F;
    }
    atomicAdd(inside, mine);
}
