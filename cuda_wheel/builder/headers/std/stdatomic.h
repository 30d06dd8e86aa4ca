// <stdatomic.h> for host code: in C++, the names of <atomic> in the global namespace.
#ifndef CUDA_WHEEL_STDATOMIC_H
#define CUDA_WHEEL_STDATOMIC_H

#include <atomic>

using std::atomic_bool;
using std::atomic_flag;
using std::atomic_int;
using std::atomic_long;
using std::atomic_size_t;
using std::atomic_uint;
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

#endif
