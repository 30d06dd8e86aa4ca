// A member of types of which only host code has objects, and whose layouts are not PyTorch's, as those differ between its
// releases. It is larger than the parameters of a kernel may be, so that a kernel that takes such an object is an error,
// also within another object.
#ifndef CUDA_WHEEL_PYTORCH_HOST_OBJECT_H
#define CUDA_WHEEL_PYTORCH_HOST_OBJECT_H

#define CUDA_WHEEL_HOST_OBJECT \
  private:                     \
    char cuda_wheel_host_object[1 << 20]

#endif
