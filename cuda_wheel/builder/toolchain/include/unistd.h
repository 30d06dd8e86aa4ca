// <unistd.h> for host code: functions of POSIX.
#ifndef CUDA_WHEEL_UNISTD_H
#define CUDA_WHEEL_UNISTD_H

#include <sys/types.h>

extern "C" {
int close(int);
ssize_t read(int, void*, size_t);
ssize_t write(int, const void*, size_t);
off_t lseek(int, off_t, int);
int access(const char*, int);
int unlink(const char*);
int rmdir(const char*);
int chdir(const char*);
char* getcwd(char*, size_t);
int ftruncate(int, off_t);
int gethostname(char*, size_t);
int getopt(int, char* const[], const char*);
long sysconf(int);
long syscall(long, ...);
pid_t getpid();
pid_t getppid();
uid_t getuid();
pid_t fork();
unsigned int sleep(unsigned int);
int usleep(unsigned int);
int isatty(int);
extern char* optarg;
extern int optind, opterr, optopt;
}

#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define F_OK 0
#define X_OK 1
#define W_OK 2
#define R_OK 4
#define _SC_PAGESIZE 30
#define _SC_NPROCESSORS_ONLN 84
#define _SC_PHYS_PAGES 85

#endif
