// <pthread.h> for host code: threads of POSIX.
#ifndef CUDA_WHEEL_PTHREAD_H
#define CUDA_WHEEL_PTHREAD_H

#include <sched.h>
#include <sys/types.h>

typedef unsigned long pthread_t;
typedef unsigned int pthread_key_t;
typedef int pthread_once_t;
typedef volatile int pthread_spinlock_t;

#define CUDA_WHEEL_PTHREAD_TYPE(name, size) \
  struct name {                             \
    alignas(size % 8 ? 4 : 8) char content[size]; \
  };
CUDA_WHEEL_PTHREAD_TYPE(pthread_attr_t, 56)
CUDA_WHEEL_PTHREAD_TYPE(pthread_mutex_t, 40)
CUDA_WHEEL_PTHREAD_TYPE(pthread_mutexattr_t, 4)
CUDA_WHEEL_PTHREAD_TYPE(pthread_cond_t, 48)
CUDA_WHEEL_PTHREAD_TYPE(pthread_condattr_t, 4)
CUDA_WHEEL_PTHREAD_TYPE(pthread_rwlock_t, 56)
CUDA_WHEEL_PTHREAD_TYPE(pthread_rwlockattr_t, 8)
CUDA_WHEEL_PTHREAD_TYPE(pthread_barrier_t, 32)
CUDA_WHEEL_PTHREAD_TYPE(pthread_barrierattr_t, 4)
#undef CUDA_WHEEL_PTHREAD_TYPE

extern "C" {
int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int pthread_join(pthread_t, void**);
int pthread_detach(pthread_t);
int pthread_cancel(pthread_t);
int pthread_kill(pthread_t, int);
int pthread_equal(pthread_t, pthread_t);
pthread_t pthread_self();
void pthread_exit(void*);
int pthread_once(pthread_once_t*, void (*)());
int pthread_setname_np(pthread_t, const char*);
int pthread_setaffinity_np(pthread_t, size_t, const cpu_set_t*);
int pthread_getaffinity_np(pthread_t, size_t, cpu_set_t*);
int pthread_setschedparam(pthread_t, int, const struct sched_param*);
int pthread_attr_init(pthread_attr_t*);
int pthread_attr_destroy(pthread_attr_t*);
int pthread_attr_setdetachstate(pthread_attr_t*, int);
int pthread_attr_setscope(pthread_attr_t*, int);
int pthread_attr_setstacksize(pthread_attr_t*, size_t);
int pthread_mutex_init(pthread_mutex_t*, const pthread_mutexattr_t*);
int pthread_mutex_destroy(pthread_mutex_t*);
int pthread_mutex_lock(pthread_mutex_t*);
int pthread_mutex_trylock(pthread_mutex_t*);
int pthread_mutex_unlock(pthread_mutex_t*);
int pthread_mutexattr_init(pthread_mutexattr_t*);
int pthread_mutexattr_destroy(pthread_mutexattr_t*);
int pthread_mutexattr_settype(pthread_mutexattr_t*, int);
int pthread_mutexattr_setpshared(pthread_mutexattr_t*, int);
int pthread_cond_init(pthread_cond_t*, const pthread_condattr_t*);
int pthread_cond_destroy(pthread_cond_t*);
int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*);
int pthread_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
int pthread_cond_signal(pthread_cond_t*);
int pthread_cond_broadcast(pthread_cond_t*);
int pthread_condattr_init(pthread_condattr_t*);
int pthread_condattr_destroy(pthread_condattr_t*);
int pthread_condattr_setpshared(pthread_condattr_t*, int);
int pthread_rwlock_init(pthread_rwlock_t*, const pthread_rwlockattr_t*);
int pthread_rwlock_destroy(pthread_rwlock_t*);
int pthread_rwlock_rdlock(pthread_rwlock_t*);
int pthread_rwlock_wrlock(pthread_rwlock_t*);
int pthread_rwlock_unlock(pthread_rwlock_t*);
int pthread_barrier_init(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned int);
int pthread_barrier_destroy(pthread_barrier_t*);
int pthread_barrier_wait(pthread_barrier_t*);
int pthread_barrierattr_init(pthread_barrierattr_t*);
int pthread_barrierattr_destroy(pthread_barrierattr_t*);
int pthread_barrierattr_setpshared(pthread_barrierattr_t*, int);
int pthread_spin_init(pthread_spinlock_t*, int);
int pthread_spin_destroy(pthread_spinlock_t*);
int pthread_spin_lock(pthread_spinlock_t*);
int pthread_spin_trylock(pthread_spinlock_t*);
int pthread_spin_unlock(pthread_spinlock_t*);
int pthread_key_create(pthread_key_t*, void (*)(void*));
int pthread_key_delete(pthread_key_t);
void* pthread_getspecific(pthread_key_t);
int pthread_setspecific(pthread_key_t, const void*);
}

#define PTHREAD_MUTEX_INITIALIZER {}
#define PTHREAD_COND_INITIALIZER {}
#define PTHREAD_RWLOCK_INITIALIZER {}
#define PTHREAD_ONCE_INIT 0
#define PTHREAD_CREATE_JOINABLE 0
#define PTHREAD_CREATE_DETACHED 1
#define PTHREAD_SCOPE_SYSTEM 0
#define PTHREAD_SCOPE_PROCESS 1
#define PTHREAD_PROCESS_PRIVATE 0
#define PTHREAD_PROCESS_SHARED 1
#define PTHREAD_MUTEX_NORMAL 0
#define PTHREAD_MUTEX_RECURSIVE 1
#define PTHREAD_MUTEX_ERRORCHECK 2
#define PTHREAD_BARRIER_SERIAL_THREAD (-1)

#endif
