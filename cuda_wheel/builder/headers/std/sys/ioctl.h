// <sys/ioctl.h> for host code: control of devices.
#ifndef CUDA_WHEEL_SYS_IOCTL_H
#define CUDA_WHEEL_SYS_IOCTL_H

extern "C" {
int ioctl(int, unsigned long, ...);
}

struct winsize {
  unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

#define TIOCGWINSZ 0x5413
#define FIONREAD 0x541B

#endif
