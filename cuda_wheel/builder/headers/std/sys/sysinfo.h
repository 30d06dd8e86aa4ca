// <sys/sysinfo.h> for host code: processors and memory of a machine.
#ifndef CUDA_WHEEL_SYS_SYSINFO_H
#define CUDA_WHEEL_SYS_SYSINFO_H

struct sysinfo {
  long uptime;
  unsigned long loads[3];
  unsigned long totalram, freeram, sharedram, bufferram, totalswap, freeswap;
  unsigned short procs, pad;
  unsigned long totalhigh, freehigh;
  unsigned int mem_unit;
};

extern "C" {
int sysinfo(struct sysinfo*);
int get_nprocs();
int get_nprocs_conf();
}

#endif
