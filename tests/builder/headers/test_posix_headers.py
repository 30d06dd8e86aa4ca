"""Host code may use POSIX and the C library; the images contain nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from cuda_wheel.builder.cxx.demangling import signature
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


PROCESSES_AND_SOCKETS = r"""
#include <alloca.h>
#include <arpa/inet.h>
#include <cxxabi.h>
#include <dirent.h>
#include <err.h>
#include <error.h>
#include <execinfo.h>
#include <glob.h>
#include <libgen.h>
#include <memory.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
struct Shared { pthread_barrier_t* barrier; pthread_rwlock_t lock; pthread_spinlock_t spin; sem_t* semaphore; };
static pthread_once_t once = PTHREAD_ONCE_INIT;
template <int N> __global__ void k(int* p) { *p = N; }
int folders(const char* name) {
  int found = 0;
  struct dirent* entry;
  DIR* folder = opendir(name);
  while ((entry = readdir(folder)) != nullptr) found += entry->d_type == DT_DIR && memcmp(entry->d_name, ".", 1);
  k<DT_DIR><<<1, 1>>>((int*)alloca(closedir(folder)));
  struct stat s;
  return lstat(name, &s) || S_ISLNK(s.st_mode) ? found : (int)s.st_mtime;
}
void* thread(void* argument) {
  cpu_set_t set;
  CPU_ZERO(&set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  if (pthread_barrier_wait(((Shared*)argument)->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) sem_post(nullptr);
  k<sizeof(pthread_barrier_t)><<<1, 1>>>((int*)shmat(shmget(IPC_PRIVATE, 4, IPC_CREAT | 0600), nullptr, 0));
  return nullptr;
}
int main() {
  sockaddr_un here; sockaddr_in there; addrinfo* found; pollfd file = {0, POLLIN, 0}; fd_set files; glob_t names;
  there.sin_port = htons(80), there.sin_addr.s_addr = htonl(INADDR_ANY), here.sun_family = AF_UNIX;
  int server = socket(AF_INET, SOCK_STREAM, 0), status, one = TCP_NODELAY;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(server, (sockaddr*)&there, sizeof there) || getaddrinfo("a", "80", nullptr, &found)) err(1, "%s", "bind");
  inet_pton(found->ai_family, "::1", &there), poll(&file, 1, -1), select(1, &files, 0, 0, nullptr);
  FD_ZERO(&files);
  tms used; timeb now; utsname machine; struct sysinfo memory; void* calls[8];
  ftime(&now), uname(&machine), sysinfo(&memory), backtrace(calls, 8), ioctl(server, 1), glob("*", 0, nullptr, &names);
  pid_t child = fork();
  if (waitpid(child, &status, WNOHANG) == child && WIFEXITED(status)) k<WNOHANG><<<1, WEXITSTATUS(status)>>>(nullptr);
  error(0, 0, "%s %s", basename(machine.nodename), abi::__cxa_demangle("i", nullptr, nullptr, &status));
  return (int)(times(&used) / sysconf(_SC_CLK_TCK)) + (int)CMSG_SPACE(sizeof(int));
}
"""


def test_posix_headers_declare_processes_threads_and_sockets(compiled: Callable[..., Compiled]) -> None:
    result = compiled(PROCESSES_AND_SOCKETS)
    assert set(result.kernels) == {"_Z1kILi1EEvPi", "_Z1kILi4EEvPi", "_Z1kILi32EEvPi"}
    assert (result.variables, result.left_out) == ((), ())
    assert "error" not in result.log


def test_posix_headers_declare_what_host_code_uses(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert set(result.kernels) == {"_Z1kPi"}
    assert (result.variables, result.left_out, result.log) == ((), (), "")


def test_rarer_headers_have_the_layouts_of_the_gnu_c_library(compiled: Callable[..., Compiled]) -> None:
    result = compiled(RARER)
    assert set(result.kernels) == {"_Z1kIfEvPT_", "_Z1kIdEvPT_"}
    assert (result.variables, result.left_out, result.log) == ((), (), "")


def test_names_that_other_headers_bring_are_declared_whole(compiled: Callable[..., Compiled]) -> None:
    """<string> includes <errno.h> and <stdlib.h> with GCC, and Python's header <unistd.h>."""
    result = compiled("""
    #include <stdarg.h>
    #include <cstdio>
    #include <string>
    #include <torch/extension.h>
    template <class T> __global__ void fill(T* p) { printf("%d", 1); *p = 0; }
    void log(const char* format, ...) { va_list list; va_start(list, format); vprintf(format, list); std::vprintf(format, list); }
    double read(const char* text, locale_t place) { errno = 0; double d = strtod_l(text, nullptr, place); return errno == ERANGE ? 0 : d; }
    void name() { char text[64]; gethostname(text, 64); }
    torch::Tensor solved(torch::Tensor x) {
      auto [u, s, v] = torch::linalg::svd(x, false); auto [q, r] = torch::linalg::eig(x);
      fill<<<1, 1>>>(u.data_ptr<float>());
      return torch::linalg::solve(torch::linalg::matrix_exp(x), s) + torch::special::erf(x) + torch::linalg_norm(v * q * r);
    }
    """)
    assert [signature(symbol).name for symbol in result.kernels] == ["fill<float>"]
    assert (result.left_out, result.log) == ((), "")
