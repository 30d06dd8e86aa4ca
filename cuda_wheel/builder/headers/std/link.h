// <link.h> for host code: the libraries of a process.
#ifndef CUDA_WHEEL_LINK_H
#define CUDA_WHEEL_LINK_H

#include <dlfcn.h>

struct dl_phdr_info {
  unsigned long dlpi_addr;
  const char* dlpi_name;
  const void* dlpi_phdr;
  unsigned short dlpi_phnum;
  unsigned long long dlpi_adds, dlpi_subs;
  size_t dlpi_tls_modid;
  void* dlpi_tls_data;
};

extern "C" {
int dl_iterate_phdr(int (*)(dl_phdr_info*, size_t, void*), void*);
}

#endif
