// <pthread.h> for host code: threads of POSIX.
#ifndef CUDA_WHEEL_PTHREAD_H
#define CUDA_WHEEL_PTHREAD_H

#include <sys/types.h>

typedef unsigned long pthread_t;
struct pthread_attr_t {
  char content[56];
};
struct pthread_mutex_t {
  char content[40];
};
struct pthread_cond_t {
  char content[48];
};
struct pthread_mutexattr_t {
  char content[4];
};
struct pthread_condattr_t {
  char content[4];
};

extern "C" {
int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int pthread_join(pthread_t, void**);
int pthread_detach(pthread_t);
pthread_t pthread_self();
void pthread_exit(void*);
int pthread_mutex_init(pthread_mutex_t*, const pthread_mutexattr_t*);
int pthread_mutex_destroy(pthread_mutex_t*);
int pthread_mutex_lock(pthread_mutex_t*);
int pthread_mutex_trylock(pthread_mutex_t*);
int pthread_mutex_unlock(pthread_mutex_t*);
int pthread_cond_init(pthread_cond_t*, const pthread_condattr_t*);
int pthread_cond_destroy(pthread_cond_t*);
int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*);
int pthread_cond_signal(pthread_cond_t*);
int pthread_cond_broadcast(pthread_cond_t*);
}

#define PTHREAD_MUTEX_INITIALIZER {}
#define PTHREAD_COND_INITIALIZER {}

#endif
