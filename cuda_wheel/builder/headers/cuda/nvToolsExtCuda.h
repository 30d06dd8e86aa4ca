// <nvToolsExtCuda.h>: the name that NVTX's header had before its third version.
#include <nvtx3/nvToolsExtCuda.h>
