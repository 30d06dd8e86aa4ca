// Thrust's exceptions, for host code.
#ifndef CUDA_WHEEL_THRUST_ERRORS_H
#define CUDA_WHEEL_THRUST_ERRORS_H

#include <stdexcept>
#include <string>
#include <thrust/detail/config.h>

THRUST_NAMESPACE_BEGIN

namespace system {
class error_condition;
class error_category {
 public:
  virtual ~error_category();
  virtual const char* name() const = 0;
  virtual std::string message(int) const = 0;
  bool operator==(const error_category&) const;
  bool operator!=(const error_category&) const;
};
class error_code {
  int value_;
  const error_category* category_;

 public:
  error_code();
  error_code(int, const error_category&);
  void assign(int, const error_category&);
  void clear();
  int value() const;
  const error_category& category() const;
  std::string message() const;
  operator bool() const;
};
const error_category& generic_category();
const error_category& system_category();
class system_error : public std::runtime_error {
  error_code code_;

 public:
  system_error(error_code, const std::string&);
  system_error(error_code, const char*);
  explicit system_error(error_code);
  system_error(int, const error_category&, const std::string&);
  system_error(int, const error_category&, const char*);
  system_error(int, const error_category&);
  virtual ~system_error() noexcept;
  const error_code& code() const noexcept;
  const char* what() const noexcept;
};
}
using system::error_category;
using system::error_code;
using system::generic_category;
using system::system_category;
using system::system_error;
const error_category& cuda_category();

THRUST_NAMESPACE_END

#endif
