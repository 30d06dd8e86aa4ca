// Steps of z * z + c until |z| > 2, for each pixel of a band of rows of the plane from -1.6 to 1.6 and from -1 to 1.
__global__ void julia(int* steps, int first_row, int rows, int height, int width, double re, double im, int limit)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= rows)
        return;
    double x = 3.2 * (column + 0.5) / width - 1.6;
    double y = 2.0 * (first_row + row + 0.5) / height - 1.0;
    int step = 0;
    for (; step < limit && x * x + y * y <= 4; step++) {
        double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
    }
    steps[row * width + column] = step;
}
