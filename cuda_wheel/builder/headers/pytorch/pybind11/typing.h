#include <cuda_wheel_detail/pytorch/pybind11.h>
