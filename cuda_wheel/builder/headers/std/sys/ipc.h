// <sys/ipc.h> for host code: keys of shared objects.
#ifndef CUDA_WHEEL_SYS_IPC_H
#define CUDA_WHEEL_SYS_IPC_H

#include <sys/types.h>

typedef int key_t;

extern "C" {
key_t ftok(const char*, int);
}

#define IPC_PRIVATE ((key_t)0)
#define IPC_CREAT 01000
#define IPC_EXCL 02000
#define IPC_NOWAIT 04000
#define IPC_RMID 0
#define IPC_SET 1
#define IPC_STAT 2

#endif
