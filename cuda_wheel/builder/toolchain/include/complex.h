// <complex.h> for NVRTC: C++ has its complex numbers in <complex>.
#include <complex>
