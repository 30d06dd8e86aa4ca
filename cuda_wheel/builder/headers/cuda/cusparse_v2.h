// <cusparse_v2.h>: cuSPARSE, as in old releases.
#include <cusparse.h>
