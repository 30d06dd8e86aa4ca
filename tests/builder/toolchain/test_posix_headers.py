"""Host code may use POSIX and the C library; the images contain nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from cuda_wheel.builder.jobs import Compiled

SOURCE = r"""
#include <errno.h>
#include <ctype.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <getopt.h>
#include <fcntl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <omp.h>
#include <strings.h>
#include <malloc.h>
#include <endian.h>
#include <locale.h>
#include <wchar.h>
#include <stdalign.h>
#include <setjmp.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__global__ void k(int* p) { *p = 1; }
int main(int argc, char** argv) {
  struct stat s; timeval t; gettimeofday(&t, nullptr); if (stat("x", &s) && errno == ENOENT) raise(SIGTRAP);
  while (getopt(argc, argv, "a") != -1) pthread_mutex_lock(&lock);
  void* m = mmap(nullptr, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, open("a", O_RDWR | O_CREAT, 0600), 0);
  k<<<1, omp_get_max_threads()>>>((int*)m); jmp_buf b; if (setjmp(b)) longjmp(b, 1);
  return isdigit('a') + strcasecmp("a", "b") + (int)getpid() + (int)wcslen(L"a");
}
"""

RARER = r"""
#include <arpa/inet.h>
#include <byteswap.h>
#include <cblas.h>
#include <dirent.h>
#include <execinfo.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <regex.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
template <class T> __global__ void k(T* p) {}
template <class T> void gemm(const CBLAS_TRANSPOSE a, T* p) { if (a == CblasNoTrans) k<T><<<1, 1>>>(p); }
static_assert(sizeof(sockaddr_in) == 16 && sizeof(sockaddr_un) == 110 && sizeof(epoll_event) == 12 && sizeof(cpu_set_t) == 128);
static_assert(sizeof(dirent) == 280 && sizeof(struct sysinfo) == 112 && sizeof(utsname) == 390 && sizeof(addrinfo) == 48);
static_assert(sizeof(sem_t) == 32 && sizeof(regex_t) == 64 && sizeof(sockaddr_storage) == 128);
int main() {
  sockaddr_in address{}; address.sin_family = AF_INET; address.sin_port = htons(80); inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  int s = socket(AF_INET, SOCK_STREAM, 0), yes = 1; setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(s, (sockaddr*)&address, sizeof address)) { void* frames[9]; backtrace_symbols_fd(frames, backtrace(frames, 9), 2); }
  if (DIR* folder = opendir(".")) { while (dirent* entry = readdir(folder)) if (entry->d_type == DT_REG) break; closedir(folder); }
  cpu_set_t cores; CPU_ZERO(&cores); CPU_SET(3, &cores); sched_setaffinity(0, sizeof cores, &cores);
  float* shared = (float*)shmat(shmget(IPC_PRIVATE, 64, IPC_CREAT | 0600), nullptr, 0); gemm(CblasNoTrans, shared);
  double x[2]; cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 1, 1, 1, 1.0, x, 1, x, 1, 0.0, x, 1); gemm(CblasTrans, x);
  struct sysinfo facts; sysinfo(&facts); utsname name; uname(&name); int status = bswap_32(1u); waitpid(-1, &status, WNOHANG);
  return WIFEXITED(status) ? WEXITSTATUS(status) : (int)facts.totalram;
}
"""


def test_posix_headers_declare_what_host_code_uses(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert set(result.kernels) == {"_Z1kPi"}
    assert (result.variables, result.blanked, result.log) == ((), (), "")


def test_rarer_headers_have_the_layouts_of_the_gnu_c_library(compiled: Callable[..., Compiled]) -> None:
    result = compiled(RARER)
    assert set(result.kernels) == {"_Z1kIfEvPT_", "_Z1kIdEvPT_"}
    assert (result.variables, result.blanked, result.log) == ((), (), "")
