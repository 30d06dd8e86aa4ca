// <signal.h> for host code: signals.
#ifndef CUDA_WHEEL_SIGNAL_H
#define CUDA_WHEEL_SIGNAL_H

typedef int sig_atomic_t;
typedef void (*sighandler_t)(int);

extern "C" {
sighandler_t signal(int, sighandler_t);
int raise(int);
}

#define SIG_DFL ((sighandler_t)0)
#define SIG_IGN ((sighandler_t)1)
#define SIG_ERR ((sighandler_t)-1)
#define SIGINT 2
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGFPE 8
#define SIGKILL 9
#define SIGSEGV 11
#define SIGTERM 15

#endif
