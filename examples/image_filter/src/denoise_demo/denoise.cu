// A bilateral filter: the mean of the pixels around, where near ones and those of like brightness weigh more.

constexpr int RADIUS = 4;

__global__ void denoise(
    const float* image, float* result, int height, int width, float contrast)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float here = image[y * width + x];
    float sum = 0, weights = 0;
    int last_row = min(y + RADIUS, height - 1), last_column = min(x + RADIUS, width - 1);
    for (int row = max(y - RADIUS, 0); row <= last_row; row++)
        for (int column = max(x - RADIUS, 0); column <= last_column; column++) {
            float value = image[row * width + column];
            float distance = (row - y) * (row - y) + (column - x) * (column - x);
            float difference = (value - here) / contrast;
            float likeness = 1 / (1 + difference * difference);
            float weight = likeness * likeness / (1 + distance / RADIUS);
            sum += weight * value;
            weights += weight;
        }
    result[y * width + x] = sum / weights;
}
