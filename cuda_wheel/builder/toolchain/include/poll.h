// <poll.h> for host code: waiting for several files.
#ifndef CUDA_WHEEL_POLL_H
#define CUDA_WHEEL_POLL_H

struct pollfd {
  int fd;
  short events, revents;
};

extern "C" {
int poll(pollfd*, unsigned long, int);
}

#define POLLIN 1
#define POLLOUT 4
#define POLLERR 8
#define POLLHUP 16

#endif
