// <err.h> for host code: messages of programs.
#ifndef CUDA_WHEEL_ERR_H
#define CUDA_WHEEL_ERR_H

extern "C" {
[[noreturn]] void err(int, const char*, ...);
[[noreturn]] void errx(int, const char*, ...);
void warn(const char*, ...);
void warnx(const char*, ...);
}

#endif
