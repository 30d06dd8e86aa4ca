// <sys/uio.h> for host code: reading and writing in pieces.
#ifndef CUDA_WHEEL_SYS_UIO_H
#define CUDA_WHEEL_SYS_UIO_H

#include <sys/types.h>

struct iovec {
  void* iov_base;
  size_t iov_len;
};

extern "C" {
ssize_t readv(int, const struct iovec*, int);
ssize_t writev(int, const struct iovec*, int);
}

#endif
