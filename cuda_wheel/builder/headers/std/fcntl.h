// <fcntl.h> for host code: opening files.
#ifndef CUDA_WHEEL_FCNTL_H
#define CUDA_WHEEL_FCNTL_H

#include <sys/types.h>

extern "C" {
int open(const char*, int, ...);
int creat(const char*, mode_t);
int fcntl(int, int, ...);
}

#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0100
#define O_EXCL 0200
#define O_TRUNC 01000
#define O_APPEND 02000

#endif
