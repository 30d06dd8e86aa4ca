// <sys/wait.h> for host code: waiting for processes.
#ifndef CUDA_WHEEL_SYS_WAIT_H
#define CUDA_WHEEL_SYS_WAIT_H

#include <sys/types.h>

extern "C" {
pid_t wait(int*);
pid_t waitpid(pid_t, int*, int);
}

#define WNOHANG 1
#define WUNTRACED 2
#define WEXITSTATUS(status) (((status) & 0xff00) >> 8)
#define WTERMSIG(status) ((status) & 0x7f)
#define WIFEXITED(status) (WTERMSIG(status) == 0)
#define WIFSIGNALED(status) (((signed char)(WTERMSIG(status) + 1) >> 1) > 0)

#endif
