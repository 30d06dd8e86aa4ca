// <glob.h> for host code: files whose names match a pattern.
#ifndef CUDA_WHEEL_GLOB_H
#define CUDA_WHEEL_GLOB_H

#include <sys/types.h>

typedef struct {
  size_t gl_pathc;
  char** gl_pathv;
  size_t gl_offs;
  int gl_flags;
  void (*gl_closedir)(void*);
  struct dirent* (*gl_readdir)(void*);
  void* (*gl_opendir)(const char*);
  int (*gl_lstat)(const char*, struct stat*);
  int (*gl_stat)(const char*, struct stat*);
} glob_t;

extern "C" {
int glob(const char*, int, int (*)(const char*, int), glob_t*);
void globfree(glob_t*);
}

#define GLOB_ERR 1
#define GLOB_MARK 2
#define GLOB_NOSORT 4
#define GLOB_NOSPACE 1
#define GLOB_ABORTED 2
#define GLOB_NOMATCH 3
#define GLOB_TILDE 0x1000

#endif
