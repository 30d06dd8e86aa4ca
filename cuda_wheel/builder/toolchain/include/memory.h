// <memory.h> for host code: the old name of <string.h>.
#include <string.h>
