// <sys/resource.h> for host code: the use of resources.
#ifndef CUDA_WHEEL_SYS_RESOURCE_H
#define CUDA_WHEEL_SYS_RESOURCE_H

#include <sys/time.h>

struct rusage {
  timeval ru_utime;
  timeval ru_stime;
  long ru_maxrss, ru_ixrss, ru_idrss, ru_isrss, ru_minflt, ru_majflt, ru_nswap, ru_inblock, ru_oublock, ru_msgsnd, ru_msgrcv,
      ru_nsignals, ru_nvcsw, ru_nivcsw;
};

extern "C" int getrusage(int, rusage*);

#define RUSAGE_SELF 0

#endif
