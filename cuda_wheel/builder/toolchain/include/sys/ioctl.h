// <sys/ioctl.h> for host code: control of devices.
#ifndef CUDA_WHEEL_SYS_IOCTL_H
#define CUDA_WHEEL_SYS_IOCTL_H

extern "C" int ioctl(int, unsigned long, ...);

#endif
