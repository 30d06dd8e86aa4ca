// <time.h> for NVRTC: times of host code; NVRTC predeclares clock and clock_t, which is long.
#ifndef CUDA_WHEEL_TIME_H
#define CUDA_WHEEL_TIME_H

#ifdef __LP64__
typedef long time_t;
#else
typedef long long time_t;
#endif

#define CLOCKS_PER_SEC (static_cast<clock_t>(1000000))
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_MONOTONIC_RAW 4
#define TIME_UTC 1

typedef int clockid_t;
struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
struct tm {
  int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
  long tm_gmtoff;
  const char* tm_zone;
};

extern "C" {
time_t time(time_t*);
double difftime(time_t, time_t);
time_t mktime(struct tm*);
struct tm* localtime(const time_t*);
struct tm* localtime_r(const time_t*, struct tm*);
struct tm* gmtime(const time_t*);
struct tm* gmtime_r(const time_t*, struct tm*);
char* ctime(const time_t*);
char* asctime(const struct tm*);
size_t strftime(char*, size_t, const char*, const struct tm*);
int clock_gettime(clockid_t, struct timespec*);
int clock_getres(clockid_t, struct timespec*);
int nanosleep(const struct timespec*, struct timespec*);
int timespec_get(struct timespec*, int);
}

#endif
