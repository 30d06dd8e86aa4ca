// <sys/stat.h> for host code: the status of files.
#ifndef CUDA_WHEEL_SYS_STAT_H
#define CUDA_WHEEL_SYS_STAT_H

#include <sys/types.h>

struct stat {
  dev_t st_dev;
  ino_t st_ino;
  mode_t st_mode;
  off_t st_size;
  time_t st_mtime;
};

extern "C" {
int stat(const char*, struct stat*);
int fstat(int, struct stat*);
int mkdir(const char*, mode_t);
int chmod(const char*, mode_t);
}

#define S_IRUSR 0400
#define S_IWUSR 0200
#define S_IXUSR 0100
#define S_IRWXU 0700
#define S_ISDIR(mode) (((mode) & 0170000) == 0040000)
#define S_ISREG(mode) (((mode) & 0170000) == 0100000)

#endif
