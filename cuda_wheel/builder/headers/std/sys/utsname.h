// <sys/utsname.h> for host code: the name of the system.
#ifndef CUDA_WHEEL_SYS_UTSNAME_H
#define CUDA_WHEEL_SYS_UTSNAME_H

struct utsname {
  char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65];
};

extern "C" {
int uname(utsname*);
}

#endif
