// <sys/un.h> for host code: addresses of sockets of one machine.
#ifndef CUDA_WHEEL_SYS_UN_H
#define CUDA_WHEEL_SYS_UN_H

#include <sys/socket.h>

struct sockaddr_un {
  sa_family_t sun_family;
  char sun_path[108];
};

#endif
