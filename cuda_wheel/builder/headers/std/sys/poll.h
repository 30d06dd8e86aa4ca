// <sys/poll.h> for host code: the same as <poll.h>.
#ifndef CUDA_WHEEL_SYS_POLL_H
#define CUDA_WHEEL_SYS_POLL_H

#include <poll.h>

#endif
