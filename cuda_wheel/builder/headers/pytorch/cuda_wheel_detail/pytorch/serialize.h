// torch::save and torch::load, and the reading and writing of archives.
#ifndef CUDA_WHEEL_PYTORCH_SERIALIZE_H
#define CUDA_WHEEL_PYTORCH_SERIALIZE_H

#include <cuda_wheel_detail/pytorch/ivalue.h>

namespace torch {
namespace serialize {
class OutputArchive {
  public:
    void write(const std::string& key, const at::Tensor&, bool is_buffer = false);
    void save_to(const std::string& file);

    CUDA_WHEEL_HOST_OBJECT;
};
class InputArchive {
  public:
    void read(const std::string& key, at::Tensor&, bool is_buffer = false);
    void load_from(const std::string& file);

    CUDA_WHEEL_HOST_OBJECT;
};
} // namespace serialize
template <class T, class... Args>
void save(const T&, Args&&...);
template <class T, class... Args>
void load(T&, Args&&...);
std::vector<char> pickle_save(const c10::IValue&);
c10::IValue pickle_load(const std::vector<char>&);
} // namespace torch

#endif
