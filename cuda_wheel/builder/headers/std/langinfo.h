// <langinfo.h> for host code: facts about the locale.
#ifndef CUDA_WHEEL_LANGINFO_H
#define CUDA_WHEEL_LANGINFO_H

typedef int nl_item;

extern "C" {
char* nl_langinfo(nl_item);
}

#define CODESET 14

#endif
