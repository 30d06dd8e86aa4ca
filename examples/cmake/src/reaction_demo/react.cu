// A step of the Gray-Scott model: u feeds v, both spread, and v decays. The edges of the plane meet.
__global__ void react(const float* u, const float* v, float* next_u, float* next_v, int size)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size)
        return;
    int row = y * size;
    int above = (y ? y - 1 : size - 1) * size, below = (y < size - 1 ? y + 1 : 0) * size;
    int left = x ? x - 1 : size - 1, right = x < size - 1 ? x + 1 : 0;
    auto spread = [&](const float* a) {
        return a[above + x] + a[below + x] + a[row + left] + a[row + right] - 4 * a[row + x];
    };
    float here_u = u[row + x], here_v = v[row + x];
    float reaction = here_u * here_v * here_v;
    next_u[row + x] = here_u + 0.16f * spread(u) - reaction + FEED * (1 - here_u);
    next_v[row + x] = here_v + 0.08f * spread(v) + reaction - (FEED + KILL) * here_v;
}
