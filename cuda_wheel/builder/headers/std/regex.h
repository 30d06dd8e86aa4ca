// <regex.h> for host code: regular expressions of POSIX.
#ifndef CUDA_WHEEL_REGEX_H
#define CUDA_WHEEL_REGEX_H

#include <stddef.h>

struct regex_t {
  alignas(8) char content[64];
};
struct regmatch_t {
  int rm_so, rm_eo;
};

extern "C" {
int regcomp(regex_t*, const char*, int);
int regexec(const regex_t*, const char*, size_t, regmatch_t*, int);
size_t regerror(int, const regex_t*, char*, size_t);
void regfree(regex_t*);
}

#define REG_EXTENDED 1
#define REG_ICASE 2
#define REG_NOSUB 8
#define REG_NOMATCH 1

#endif
