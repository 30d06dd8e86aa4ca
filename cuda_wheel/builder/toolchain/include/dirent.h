// <dirent.h> for host code: folders.
#ifndef CUDA_WHEEL_DIRENT_H
#define CUDA_WHEEL_DIRENT_H

#include <sys/types.h>

struct DIR;
struct dirent {
  ino_t d_ino;
  off_t d_off;
  unsigned short d_reclen;
  unsigned char d_type;
  char d_name[256];
};

extern "C" {
DIR* opendir(const char*);
dirent* readdir(DIR*);
int closedir(DIR*);
void rewinddir(DIR*);
int scandir(const char*, dirent***, int (*)(const dirent*), int (*)(const dirent**, const dirent**));
int alphasort(const dirent**, const dirent**);
}

#define DT_UNKNOWN 0
#define DT_DIR 4
#define DT_REG 8
#define DT_LNK 10

#endif
