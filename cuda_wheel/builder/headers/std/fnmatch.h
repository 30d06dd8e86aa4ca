// <fnmatch.h> for host code: patterns of file names.
#ifndef CUDA_WHEEL_FNMATCH_H
#define CUDA_WHEEL_FNMATCH_H

extern "C" {
int fnmatch(const char*, const char*, int);
}

#define FNM_NOMATCH 1

#endif
