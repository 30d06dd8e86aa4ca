// <dlfcn.h> for host code: shared libraries.
#ifndef CUDA_WHEEL_DLFCN_H
#define CUDA_WHEEL_DLFCN_H

extern "C" {
void* dlopen(const char*, int);
void* dlsym(void*, const char*);
int dlclose(void*);
char* dlerror();
}

#define RTLD_LAZY 1
#define RTLD_NOW 2
#define RTLD_GLOBAL 0x100
#define RTLD_LOCAL 0

#endif
