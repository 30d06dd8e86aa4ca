// <termios.h> for host code: terminals.
#ifndef CUDA_WHEEL_TERMIOS_H
#define CUDA_WHEEL_TERMIOS_H

struct termios {
  unsigned int c_iflag, c_oflag, c_cflag, c_lflag;
  unsigned char c_line, c_cc[32];
  unsigned int c_ispeed, c_ospeed;
};

extern "C" {
int tcgetattr(int, termios*);
int tcsetattr(int, int, const termios*);
}

#define ICANON 2
#define ECHO 8
#define TCSANOW 0
#define TCSAFLUSH 2
#define VTIME 5
#define VMIN 6

#endif
