// <libgen.h> for host code: parts of paths.
#ifndef CUDA_WHEEL_LIBGEN_H
#define CUDA_WHEEL_LIBGEN_H

extern "C" {
char* basename(char*);
char* dirname(char*);
}

#endif
