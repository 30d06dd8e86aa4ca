// <stdbool.h> for NVRTC: bool, true and false are keywords in C++.
#ifndef CUDA_WHEEL_STDBOOL_H
#define CUDA_WHEEL_STDBOOL_H

#define __bool_true_false_are_defined 1

#endif
