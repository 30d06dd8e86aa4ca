// <sys/select.h> for host code: waiting for files.
#ifndef CUDA_WHEEL_SYS_SELECT_H
#define CUDA_WHEEL_SYS_SELECT_H

#include <sys/time.h>

typedef struct {
  long bits[16];
} fd_set;

extern "C" {
int select(int, fd_set*, fd_set*, fd_set*, struct timeval*);
void FD_ZERO(fd_set*);
void FD_SET(int, fd_set*);
void FD_CLR(int, fd_set*);
int FD_ISSET(int, const fd_set*);
}

#define FD_SETSIZE 1024

#endif
