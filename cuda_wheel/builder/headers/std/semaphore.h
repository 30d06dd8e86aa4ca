// <semaphore.h> for host code: semaphores of POSIX.
#ifndef CUDA_WHEEL_SEMAPHORE_H
#define CUDA_WHEEL_SEMAPHORE_H

#include <time.h>

union sem_t {
  char content[32];
  long align;
};

extern "C" {
int sem_init(sem_t*, int, unsigned int);
int sem_destroy(sem_t*);
int sem_wait(sem_t*);
int sem_trywait(sem_t*);
int sem_timedwait(sem_t*, const timespec*);
int sem_post(sem_t*);
int sem_getvalue(sem_t*, int*);
sem_t* sem_open(const char*, int, ...);
int sem_close(sem_t*);
int sem_unlink(const char*);
}

#define SEM_FAILED ((sem_t*)0)

#endif
