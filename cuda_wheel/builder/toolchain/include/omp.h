// <omp.h> for host code: OpenMP's functions.
#ifndef CUDA_WHEEL_OMP_H
#define CUDA_WHEEL_OMP_H

typedef struct {
  int content;
} omp_lock_t;

extern "C" {
int omp_get_max_threads();
int omp_get_num_procs();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
void omp_set_num_threads(int);
double omp_get_wtime();
void omp_init_lock(omp_lock_t*);
void omp_destroy_lock(omp_lock_t*);
void omp_set_lock(omp_lock_t*);
void omp_unset_lock(omp_lock_t*);
}

#endif
