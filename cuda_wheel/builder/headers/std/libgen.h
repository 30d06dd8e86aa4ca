// <libgen.h> for host code: the parts of a path.
#ifndef CUDA_WHEEL_LIBGEN_H
#define CUDA_WHEEL_LIBGEN_H

extern "C" {
char* dirname(char*);
char* basename(char*);
}

#endif
