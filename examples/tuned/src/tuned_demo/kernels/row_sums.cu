// LANES, a macro of the variants in pyproject.toml, is how many threads sum a row together.
__global__ void row_sums(const float* x, float* sums, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    float sum = 0;
    if (row < rows)
        for (int column = lane; column < columns; column += LANES)
            sum += x[(long long)row * columns + column];
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance, LANES);
    if (row < rows && lane == 0)
        sums[row] = sum;
}
