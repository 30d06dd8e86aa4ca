// <grp.h> for host code: groups of users.
#ifndef CUDA_WHEEL_GRP_H
#define CUDA_WHEEL_GRP_H

#include <sys/types.h>

struct group {
  char *gr_name, *gr_passwd;
  gid_t gr_gid;
  char** gr_mem;
};

extern "C" {
group* getgrgid(gid_t);
group* getgrnam(const char*);
}

#endif
