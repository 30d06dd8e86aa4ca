// <unistd.h> for host code: functions of POSIX.
#ifndef CUDA_WHEEL_UNISTD_H
#define CUDA_WHEEL_UNISTD_H

#include <sys/types.h>

extern "C" {
int close(int);
ssize_t read(int, void*, size_t);
ssize_t write(int, const void*, size_t);
off_t lseek(int, off_t, int);
ssize_t pread(int, void*, size_t, off_t);
ssize_t pwrite(int, const void*, size_t, off_t);
int access(const char*, int);
int unlink(const char*);
int link(const char*, const char*);
int symlink(const char*, const char*);
ssize_t readlink(const char*, char*, size_t);
int rmdir(const char*);
int chdir(const char*);
int chown(const char*, uid_t, gid_t);
char* getcwd(char*, size_t);
int truncate(const char*, off_t);
int ftruncate(int, off_t);
int fsync(int);
int dup(int);
int dup2(int, int);
int pipe(int[2]);
int gethostname(char*, size_t);
int getopt(int, char* const[], const char*);
long sysconf(int);
int getpagesize();
long syscall(long, ...);
pid_t getpid();
pid_t getppid();
pid_t setsid();
uid_t getuid();
uid_t geteuid();
gid_t getgid();
pid_t fork();
int execv(const char*, char* const[]);
int execvp(const char*, char* const[]);
int execve(const char*, char* const[], char* const[]);
int execl(const char*, const char*, ...);
int execlp(const char*, const char*, ...);
[[noreturn]] void _exit(int);
unsigned int sleep(unsigned int);
int usleep(unsigned int);
unsigned int alarm(unsigned int);
int pause();
int nice(int);
int isatty(int);
char* getlogin();
extern char* optarg;
extern int optind, opterr, optopt;
extern char** environ;
}

#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#ifndef SEEK_SET
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#endif
#define F_OK 0
#define X_OK 1
#define W_OK 2
#define R_OK 4
#define _SC_CLK_TCK 2
#define _SC_PAGESIZE 30
#define _SC_PAGE_SIZE 30
#define _SC_NPROCESSORS_CONF 83
#define _SC_NPROCESSORS_ONLN 84
#define _SC_PHYS_PAGES 85
#define _SC_AVPHYS_PAGES 86

#endif
