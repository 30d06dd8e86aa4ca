#include <cmath>
__device__ int rank = 1, when = 2, integer = 3, mixed = 4;
__global__ void k(int* x) { x[0] = rank + when + integer + mixed; }
