// <netdb.h> for host code: names of hosts.
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
  sockaddr* ai_addr;
  char* ai_canonname;
  addrinfo* ai_next;
};

extern "C" {
hostent* gethostbyname(const char*);
int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**);
void freeaddrinfo(addrinfo*);
const char* gai_strerror(int);
}

#define h_addr h_addr_list[0]
#define AI_PASSIVE 1

#endif
