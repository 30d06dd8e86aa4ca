#include <cuda_wheel_detail/libraries/fmt.h>
