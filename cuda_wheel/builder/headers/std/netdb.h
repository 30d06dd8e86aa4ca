// <netdb.h> for host code: addresses of machines by name.
#ifndef CUDA_WHEEL_NETDB_H
#define CUDA_WHEEL_NETDB_H

#include <netinet/in.h>

struct hostent {
  char* h_name;
  char** h_aliases;
  int h_addrtype, h_length;
  char** h_addr_list;
};
struct addrinfo {
  int ai_flags, ai_family, ai_socktype, ai_protocol;
  socklen_t ai_addrlen;
  struct sockaddr* ai_addr;
  char* ai_canonname;
  struct addrinfo* ai_next;
};

extern "C" {
struct hostent* gethostbyname(const char*);
int getaddrinfo(const char*, const char*, const struct addrinfo*, struct addrinfo**);
void freeaddrinfo(struct addrinfo*);
int getnameinfo(const struct sockaddr*, socklen_t, char*, socklen_t, char*, socklen_t, int);
const char* gai_strerror(int);
}

#define h_addr h_addr_list[0]
#define AI_PASSIVE 1
#define NI_MAXHOST 1025
#define NI_NUMERICHOST 1

#endif
