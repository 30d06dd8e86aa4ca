// <sys/epoll.h> for host code: waiting for many files.
#ifndef CUDA_WHEEL_SYS_EPOLL_H
#define CUDA_WHEEL_SYS_EPOLL_H

#include <stdint.h>

typedef union epoll_data {
  void* ptr;
  int fd;
  uint32_t u32;
  uint64_t u64;
} epoll_data_t;
struct __attribute__((packed)) epoll_event {
  uint32_t events;
  epoll_data_t data;
};

extern "C" {
int epoll_create(int);
int epoll_create1(int);
int epoll_ctl(int, int, int, epoll_event*);
int epoll_wait(int, epoll_event*, int, int);
}

#define EPOLLIN 1
#define EPOLLOUT 4
#define EPOLLERR 8
#define EPOLLHUP 16
#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

#endif
