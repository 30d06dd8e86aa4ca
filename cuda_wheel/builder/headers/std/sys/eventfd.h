// <sys/eventfd.h> for host code: events as files.
#ifndef CUDA_WHEEL_SYS_EVENTFD_H
#define CUDA_WHEEL_SYS_EVENTFD_H

#include <stdint.h>

typedef uint64_t eventfd_t;

extern "C" {
int eventfd(unsigned int, int);
int eventfd_read(int, eventfd_t*);
int eventfd_write(int, eventfd_t);
}

#define EFD_NONBLOCK 04000
#define EFD_CLOEXEC 02000000

#endif
