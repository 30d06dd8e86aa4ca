// <setjmp.h> for host code: jumps out of functions.
#ifndef CUDA_WHEEL_SETJMP_H
#define CUDA_WHEEL_SETJMP_H

struct __jmp_buf_tag {
  alignas(8) char content[200];
};
typedef __jmp_buf_tag jmp_buf[1];

extern "C" {
int setjmp(jmp_buf);
[[noreturn]] void longjmp(jmp_buf, int);
}

#endif
