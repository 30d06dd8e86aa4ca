// <getopt.h> for host code: options of the command line.
#ifndef CUDA_WHEEL_GETOPT_H
#define CUDA_WHEEL_GETOPT_H

#include <unistd.h>

struct option {
  const char* name;
  int has_arg;
  int* flag;
  int val;
};

extern "C" int getopt_long(int, char* const[], const char*, const option*, int*);

#define no_argument 0
#define required_argument 1
#define optional_argument 2

#endif
