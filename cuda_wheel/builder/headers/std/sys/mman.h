// <sys/mman.h> for host code: memory maps.
#ifndef CUDA_WHEEL_SYS_MMAN_H
#define CUDA_WHEEL_SYS_MMAN_H

#include <sys/types.h>

extern "C" {
void* mmap(void*, size_t, int, int, int, off_t);
int munmap(void*, size_t);
int mlock(const void*, size_t);
int munlock(const void*, size_t);
int madvise(void*, size_t, int);
int shm_open(const char*, int, mode_t);
int shm_unlink(const char*);
}

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20
#define MAP_FAILED ((void*)-1)

#endif
