// <bits/stdint-uintn.h> of glibc for host code: a part of <stdint.h>.
#include <stdint.h>
