// The text of code that PyTorch compiles at run time, of which only host code asks.
#ifndef CUDA_WHEEL_PYTORCH_JITTED_CODE_H
#define CUDA_WHEEL_PYTORCH_JITTED_CODE_H

#include <string>
#include <torch/headeronly/macros/Macros.h>

namespace cuda_wheel_detail {
// PyTorch's headers have constants of this type at namespace scope, where NVRTC takes no std::string.
struct JittedCode {
  operator std::string() const;
};
constexpr JittedCode operator+(JittedCode, JittedCode) { return {}; }
std::string operator+(JittedCode, const std::string&);
std::string operator+(const std::string&, JittedCode);
}

#ifndef AT_DISABLE_JITERATOR
#define AT_USE_JITERATOR() true
#else
#define AT_USE_JITERATOR() false
#endif
#define JITERATOR_HOST_DEVICE C10_HOST_DEVICE
#define stringify_code(...) #__VA_ARGS__
#define jiterator_code(...) __VA_ARGS__
#define jiterator_stringify(...) ::cuda_wheel_detail::JittedCode{};
#define jiterator_also_stringify_as(code, name) code static ::cuda_wheel_detail::JittedCode name;

#endif
