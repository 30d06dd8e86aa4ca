// <sys/shm.h> for host code: memory that processes share.
#ifndef CUDA_WHEEL_SYS_SHM_H
#define CUDA_WHEEL_SYS_SHM_H

#include <sys/ipc.h>

struct shmid_ds;

extern "C" {
int shmget(key_t, size_t, int);
void* shmat(int, const void*, int);
int shmdt(const void*);
int shmctl(int, int, struct shmid_ds*);
}

#endif
