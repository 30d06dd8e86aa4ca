// <syslog.h> for host code: the log of the system.
#ifndef CUDA_WHEEL_SYSLOG_H
#define CUDA_WHEEL_SYSLOG_H

extern "C" {
void openlog(const char*, int, int);
void syslog(int, const char*, ...);
void closelog();
}

#define LOG_ERR 3
#define LOG_WARNING 4
#define LOG_INFO 6
#define LOG_DEBUG 7
#define LOG_PID 1
#define LOG_USER 8

#endif
