#include <cuda_wheel_detail/libraries/spdlog.h>
