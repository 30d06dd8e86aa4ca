// Smooth random heights between 0 and 1. Numba calls a function so: it returns 0, and its result is where the first
// argument points to.

__device__ float height_at(int x, int y)
{
    unsigned hash = 374761393u * x + 668265263u * y;
    hash = (hash ^ hash >> 13) * 1274126177u;
    return (hash >> 8) * (1.0f / (1 << 24));
}

__device__ float smooth(float t) { return t * t * (3 - 2 * t); }

extern "C" __device__ int noise(float* result, float x, float y)
{
    int left = floorf(x), top = floorf(y);
    float u = smooth(x - left), v = smooth(y - top);
    float above = height_at(left, top) * (1 - u) + height_at(left + 1, top) * u;
    float below = height_at(left, top + 1) * (1 - u) + height_at(left + 1, top + 1) * u;
    *result = above * (1 - v) + below * v;
    return 0;
}
