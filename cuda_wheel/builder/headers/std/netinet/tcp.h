// <netinet/tcp.h> for host code: options of TCP.
#ifndef CUDA_WHEEL_NETINET_TCP_H
#define CUDA_WHEEL_NETINET_TCP_H

#define TCP_NODELAY 1
#define TCP_KEEPIDLE 4
#define TCP_KEEPINTVL 5
#define TCP_KEEPCNT 6

#endif
