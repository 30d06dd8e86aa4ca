// <omp.h> for host code: OpenMP's functions. Sizes and numbers are those of GCC's libgomp.
#ifndef CUDA_WHEEL_OMP_H
#define CUDA_WHEEL_OMP_H

typedef struct {
  int content;
} omp_lock_t;
typedef struct {
  alignas(8) char content[16];
} omp_nest_lock_t;

typedef enum omp_sched_t {
  omp_sched_static = 1,
  omp_sched_dynamic = 2,
  omp_sched_guided = 3,
  omp_sched_auto = 4,
  omp_sched_monotonic = 0x80000000U
} omp_sched_t;
typedef enum omp_proc_bind_t {
  omp_proc_bind_false = 0,
  omp_proc_bind_true = 1,
  omp_proc_bind_primary = 2,
  omp_proc_bind_master = 2,
  omp_proc_bind_close = 3,
  omp_proc_bind_spread = 4
} omp_proc_bind_t;
typedef enum omp_sync_hint_t {
  omp_sync_hint_none = 0,
  omp_lock_hint_none = 0,
  omp_sync_hint_uncontended = 1,
  omp_lock_hint_uncontended = 1,
  omp_sync_hint_contended = 2,
  omp_lock_hint_contended = 2,
  omp_sync_hint_nonspeculative = 4,
  omp_lock_hint_nonspeculative = 4,
  omp_sync_hint_speculative = 8,
  omp_lock_hint_speculative = 8
} omp_sync_hint_t;
typedef omp_sync_hint_t omp_lock_hint_t;

extern "C" {
void omp_set_num_threads(int);
int omp_get_num_threads();
int omp_get_max_threads();
int omp_get_thread_num();
int omp_get_num_procs();
int omp_in_parallel();
void omp_set_dynamic(int);
int omp_get_dynamic();
void omp_set_nested(int);
int omp_get_nested();
int omp_get_cancellation();
void omp_set_schedule(omp_sched_t, int);
void omp_get_schedule(omp_sched_t*, int*);
int omp_get_thread_limit();
int omp_get_supported_active_levels();
void omp_set_max_active_levels(int);
int omp_get_max_active_levels();
int omp_get_level();
int omp_get_active_level();
int omp_get_ancestor_thread_num(int);
int omp_get_team_size(int);
int omp_in_final();
omp_proc_bind_t omp_get_proc_bind();
int omp_get_num_places();
int omp_get_place_num_procs(int);
void omp_get_place_proc_ids(int, int*);
int omp_get_place_num();
int omp_get_partition_num_places();
void omp_get_partition_place_nums(int*);
void omp_set_default_device(int);
int omp_get_default_device();
int omp_get_num_devices();
int omp_get_device_num();
int omp_get_initial_device();
int omp_is_initial_device();
int omp_get_num_teams();
int omp_get_team_num();
int omp_get_max_task_priority();
double omp_get_wtime();
double omp_get_wtick();
void omp_init_lock(omp_lock_t*);
void omp_init_lock_with_hint(omp_lock_t*, omp_sync_hint_t);
void omp_destroy_lock(omp_lock_t*);
void omp_set_lock(omp_lock_t*);
void omp_unset_lock(omp_lock_t*);
int omp_test_lock(omp_lock_t*);
void omp_init_nest_lock(omp_nest_lock_t*);
void omp_init_nest_lock_with_hint(omp_nest_lock_t*, omp_sync_hint_t);
void omp_destroy_nest_lock(omp_nest_lock_t*);
void omp_set_nest_lock(omp_nest_lock_t*);
void omp_unset_nest_lock(omp_nest_lock_t*);
int omp_test_nest_lock(omp_nest_lock_t*);
}

#endif
