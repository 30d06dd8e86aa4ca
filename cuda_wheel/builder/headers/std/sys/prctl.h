// <sys/prctl.h> for host code: control of processes.
#ifndef CUDA_WHEEL_SYS_PRCTL_H
#define CUDA_WHEEL_SYS_PRCTL_H

extern "C" {
int prctl(int, ...);
}

#define PR_SET_PDEATHSIG 1
#define PR_SET_NAME 15

#endif
