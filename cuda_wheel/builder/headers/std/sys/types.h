// <sys/types.h> for host code: the types of POSIX.
#ifndef CUDA_WHEEL_SYS_TYPES_H
#define CUDA_WHEEL_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef long ssize_t;
typedef long off_t;
typedef int pid_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef unsigned int mode_t;
typedef unsigned long dev_t;
typedef unsigned long ino_t;
typedef unsigned long nlink_t;
typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;
typedef unsigned long u_long;

#endif
