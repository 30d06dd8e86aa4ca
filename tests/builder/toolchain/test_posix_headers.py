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
    assert (result.variables, result.blanked) == ((), ())
    assert "error" not in result.log


def test_posix_headers_declare_what_host_code_uses(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert set(result.kernels) == {"_Z1kPi"}
    assert (result.variables, result.blanked, result.log) == ((), (), "")
