// <glob.h> for host code: paths by patterns.
#ifndef CUDA_WHEEL_GLOB_H
#define CUDA_WHEEL_GLOB_H

#include <stddef.h>

struct glob_t {
  size_t gl_pathc;
  char** gl_pathv;
  size_t gl_offs;
  char content[48];
};

extern "C" {
int glob(const char*, int, int (*)(const char*, int), glob_t*);
void globfree(glob_t*);
}

#define GLOB_NOSORT 4
#define GLOB_TILDE 4096

#endif
