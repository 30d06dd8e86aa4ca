// <sys/syscall.h> for host code: numbers of system calls.
#ifndef CUDA_WHEEL_SYS_SYSCALL_H
#define CUDA_WHEEL_SYS_SYSCALL_H

#define SYS_gettid 186

#endif
