// <sys/select.h> for host code: waiting for several files.
#ifndef CUDA_WHEEL_SYS_SELECT_H
#define CUDA_WHEEL_SYS_SELECT_H

#include <sys/time.h>
#include <sys/types.h>

struct fd_set {
  long bits[16];
};

extern "C" {
int select(int, fd_set*, fd_set*, fd_set*, timeval*);
void FD_ZERO(fd_set*);
void FD_SET(int, fd_set*);
void FD_CLR(int, fd_set*);
int FD_ISSET(int, const fd_set*);
}

#define FD_SETSIZE 1024

#endif
