// <sys/cdefs.h> for host code: macros of the C library.
#ifndef CUDA_WHEEL_SYS_CDEFS_H
#define CUDA_WHEEL_SYS_CDEFS_H

#define __BEGIN_DECLS extern "C" {
#define __END_DECLS }

#endif
