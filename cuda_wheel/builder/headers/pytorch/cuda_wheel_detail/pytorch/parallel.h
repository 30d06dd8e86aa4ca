// at::parallel_for and kin run their function in the caller's thread, so that generic lambdas are instantiated.
#ifndef CUDA_WHEEL_PYTORCH_PARALLEL_H
#define CUDA_WHEEL_PYTORCH_PARALLEL_H

#include <cstdint>
#include <functional>
#include <string>

namespace at {
namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}
int64_t divup(int64_t, int64_t);
void init_num_threads();
void set_num_threads(int);
int get_num_threads();
int get_thread_num();
bool in_parallel_region();
int get_num_interop_threads();
void set_num_interop_threads(int);
std::string get_parallel_info();
void launch(std::function<void()>);
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
    f(begin, end);
}
template <class T, class F, class Combine>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain_size, T identity, const F& f, const Combine& combine) {
    return combine(identity, f(begin, end, identity));
}
} // namespace at

#endif
