// <sched.h> for host code: the processors that a thread may use.
#ifndef CUDA_WHEEL_SCHED_H
#define CUDA_WHEEL_SCHED_H

#include <sys/types.h>

struct sched_param {
  int sched_priority;
};
typedef struct {
  unsigned long bits[16];
} cpu_set_t;

extern "C" {
int sched_yield();
int sched_getcpu();
int sched_setaffinity(pid_t, size_t, const cpu_set_t*);
int sched_getaffinity(pid_t, size_t, cpu_set_t*);
int sched_setscheduler(pid_t, int, const struct sched_param*);
int sched_get_priority_max(int);
int sched_get_priority_min(int);
void CPU_ZERO(cpu_set_t*);
void CPU_SET(int, cpu_set_t*);
void CPU_CLR(int, cpu_set_t*);
int CPU_ISSET(int, const cpu_set_t*);
int CPU_COUNT(const cpu_set_t*);
}

#define CPU_SETSIZE 1024
#define SCHED_OTHER 0
#define SCHED_FIFO 1
#define SCHED_RR 2

#endif
