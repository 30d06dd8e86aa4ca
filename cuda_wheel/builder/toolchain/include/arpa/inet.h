// <arpa/inet.h> for host code: addresses of the Internet as text.
#ifndef CUDA_WHEEL_ARPA_INET_H
#define CUDA_WHEEL_ARPA_INET_H

#include <netinet/in.h>

extern "C" {
in_addr_t inet_addr(const char*);
char* inet_ntoa(in_addr);
int inet_aton(const char*, in_addr*);
const char* inet_ntop(int, const void*, char*, socklen_t);
int inet_pton(int, const char*, void*);
}

#endif
