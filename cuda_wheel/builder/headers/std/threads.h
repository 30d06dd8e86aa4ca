// <threads.h> for host code: threads of C.
#ifndef CUDA_WHEEL_THREADS_H
#define CUDA_WHEEL_THREADS_H

#include <time.h>

typedef unsigned long thrd_t;
typedef int (*thrd_start_t)(void*);
typedef unsigned int tss_t;
struct mtx_t {
  alignas(8) char content[40];
};
struct cnd_t {
  alignas(8) char content[48];
};
enum { thrd_success, thrd_busy, thrd_error, thrd_nomem, thrd_timedout };
enum { mtx_plain, mtx_recursive, mtx_timed };

extern "C" {
int thrd_create(thrd_t*, thrd_start_t, void*);
int thrd_join(thrd_t, int*);
int thrd_detach(thrd_t);
thrd_t thrd_current();
void thrd_yield();
int mtx_init(mtx_t*, int);
int mtx_lock(mtx_t*);
int mtx_trylock(mtx_t*);
int mtx_unlock(mtx_t*);
void mtx_destroy(mtx_t*);
int cnd_init(cnd_t*);
int cnd_wait(cnd_t*, mtx_t*);
int cnd_signal(cnd_t*);
int cnd_broadcast(cnd_t*);
void cnd_destroy(cnd_t*);
}

#endif
