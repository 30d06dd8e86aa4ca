// <thrust/tuple.h>: Thrust's own, without the warnings about its deprecated parts, which nvcc does not show.
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1444
#include_next <thrust/tuple.h>
#pragma nv_diagnostic pop
