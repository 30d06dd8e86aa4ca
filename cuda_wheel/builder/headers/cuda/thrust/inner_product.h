// <thrust/inner_product.h>: Thrust's algorithms.
#include <thrust/detail/cuda_wheel/algorithms.h>
