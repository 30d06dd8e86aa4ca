// <ucontext.h> for host code: contexts of functions.
#ifndef CUDA_WHEEL_UCONTEXT_H
#define CUDA_WHEEL_UCONTEXT_H

struct ucontext_t {
  alignas(8) char content[968];
};

extern "C" {
int getcontext(ucontext_t*);
int setcontext(const ucontext_t*);
}

#endif
