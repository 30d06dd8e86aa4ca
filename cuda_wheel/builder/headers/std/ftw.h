// <ftw.h> for host code: walks through folders.
#ifndef CUDA_WHEEL_FTW_H
#define CUDA_WHEEL_FTW_H

#include <sys/stat.h>

struct FTW {
  int base, level;
};

extern "C" {
int ftw(const char*, int (*)(const char*, const struct stat*, int), int);
int nftw(const char*, int (*)(const char*, const struct stat*, int, FTW*), int, int);
}

#define FTW_F 0
#define FTW_D 1
#define FTW_PHYS 1
#define FTW_DEPTH 8

#endif
