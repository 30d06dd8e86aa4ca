// <sys/statvfs.h> for host code: the space of file systems.
#ifndef CUDA_WHEEL_SYS_STATVFS_H
#define CUDA_WHEEL_SYS_STATVFS_H

struct statvfs {
  unsigned long f_bsize, f_frsize, f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail, f_fsid, f_flag, f_namemax;
  int __f_spare[6];
};

extern "C" {
int statvfs(const char*, struct statvfs*);
int fstatvfs(int, struct statvfs*);
}

#endif
