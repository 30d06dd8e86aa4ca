// <bits/stdint-intn.h> of glibc for host code: a part of <stdint.h>.
#include <stdint.h>
