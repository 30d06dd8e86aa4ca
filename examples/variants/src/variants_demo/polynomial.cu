// REAL and DEGREE are macros of the variants in pyproject.toml.
struct Coefficients {
    REAL of_power[DEGREE + 1];
};

__global__ void polynomial(const REAL* x, REAL* y, int n, Coefficients coefficients)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    REAL sum = coefficients.of_power[DEGREE];
#pragma unroll
    for (int power = DEGREE - 1; power >= 0; --power)
        sum = sum * x[i] + coefficients.of_power[power];
    y[i] = sum;
}
