// <aio.h> for host code: asynchronous input and output.
#ifndef CUDA_WHEEL_AIO_H
#define CUDA_WHEEL_AIO_H

#include <sys/types.h>

struct aiocb {
  int aio_fildes, aio_lio_opcode, aio_reqprio;
  volatile void* aio_buf;
  size_t aio_nbytes;
  alignas(8) char content[136];
};

extern "C" {
int aio_read(aiocb*);
int aio_write(aiocb*);
int aio_error(const aiocb*);
ssize_t aio_return(aiocb*);
}

#endif
