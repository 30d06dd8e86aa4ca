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


def test_posix_headers_declare_what_host_code_uses(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert set(result.kernels) == {"_Z1kPi"}
    assert (result.variables, result.blanked, result.log) == ((), (), "")
