// <thrust/complex.h>: Thrust's own. Its operators for streams need the streams' declarations, which it does not include
// with NVRTC in every release.
#include <iosfwd>
#include_next <thrust/complex.h>
