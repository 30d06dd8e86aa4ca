// <sys/file.h> for host code: locks of files.
#ifndef CUDA_WHEEL_SYS_FILE_H
#define CUDA_WHEEL_SYS_FILE_H

#include <fcntl.h>

extern "C" {
int flock(int, int);
}

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

#endif
