// <poll.h> for host code: waiting for files.
#ifndef CUDA_WHEEL_POLL_H
#define CUDA_WHEEL_POLL_H

typedef unsigned long nfds_t;
struct pollfd {
  int fd;
  short events, revents;
};

extern "C" int poll(struct pollfd*, nfds_t, int);

#define POLLIN 1
#define POLLPRI 2
#define POLLOUT 4
#define POLLERR 8
#define POLLHUP 16
#define POLLNVAL 32

#endif
