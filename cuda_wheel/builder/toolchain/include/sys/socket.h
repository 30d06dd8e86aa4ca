// <sys/socket.h> for host code: sockets.
#ifndef CUDA_WHEEL_SYS_SOCKET_H
#define CUDA_WHEEL_SYS_SOCKET_H

#include <sys/uio.h>

typedef unsigned int socklen_t;
typedef unsigned short sa_family_t;
struct sockaddr {
  sa_family_t sa_family;
  char sa_data[14];
};
struct sockaddr_storage {
  sa_family_t ss_family;
  alignas(8) char content[120];
};
struct msghdr {
  void* msg_name;
  socklen_t msg_namelen;
  iovec* msg_iov;
  size_t msg_iovlen;
  void* msg_control;
  size_t msg_controllen;
  int msg_flags;
};

extern "C" {
int socket(int, int, int);
int socketpair(int, int, int, int*);
int bind(int, const sockaddr*, socklen_t);
int connect(int, const sockaddr*, socklen_t);
int listen(int, int);
int accept(int, sockaddr*, socklen_t*);
int shutdown(int, int);
int getsockname(int, sockaddr*, socklen_t*);
int getpeername(int, sockaddr*, socklen_t*);
int getsockopt(int, int, int, void*, socklen_t*);
int setsockopt(int, int, int, const void*, socklen_t);
ssize_t send(int, const void*, size_t, int);
ssize_t recv(int, void*, size_t, int);
ssize_t sendto(int, const void*, size_t, int, const sockaddr*, socklen_t);
ssize_t recvfrom(int, void*, size_t, int, sockaddr*, socklen_t*);
ssize_t sendmsg(int, const msghdr*, int);
ssize_t recvmsg(int, msghdr*, int);
}

#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOL_SOCKET 1
#define SO_REUSEADDR 2
#define SO_KEEPALIVE 9
#define SOMAXCONN 4096
#define MSG_PEEK 2
#define MSG_DONTWAIT 0x40
#define MSG_WAITALL 0x100
#define MSG_NOSIGNAL 0x4000
#define SHUT_RD 0
#define SHUT_WR 1
#define SHUT_RDWR 2

#endif
