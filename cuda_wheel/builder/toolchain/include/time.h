// <time.h> for NVRTC: NVRTC predeclares clock and clock_t; device clocks count cycles, so there is no CLOCKS_PER_SEC.
#ifndef CUDA_WHEEL_TIME_H
#define CUDA_WHEEL_TIME_H

typedef long long time_t;

#endif
