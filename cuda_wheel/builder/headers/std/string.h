// <string.h> for NVRTC: the functions of host code; NVRTC predeclares memcpy, memset, size_t and NULL.
#ifndef CUDA_WHEEL_STRING_H
#define CUDA_WHEEL_STRING_H

extern "C" {
void* memmove(void*, const void*, size_t);
int memcmp(const void*, const void*, size_t);
char* strcpy(char*, const char*);
char* strncpy(char*, const char*, size_t);
char* strcat(char*, const char*);
char* strncat(char*, const char*, size_t);
int strcmp(const char*, const char*);
int strncmp(const char*, const char*, size_t);
int strcoll(const char*, const char*);
size_t strlen(const char*);
size_t strnlen(const char*, size_t);
size_t strspn(const char*, const char*);
size_t strcspn(const char*, const char*);
char* strtok(char*, const char*);
char* strtok_r(char*, const char*, char**);
char* strdup(const char*);
char* strndup(const char*, size_t);
char* strerror(int);
char* strsignal(int);
}
// C++ has two of each: the result is const if the argument is.
void* memchr(void*, int, size_t);
const void* memchr(const void*, int, size_t);
char* strchr(char*, int);
const char* strchr(const char*, int);
char* strrchr(char*, int);
const char* strrchr(const char*, int);
char* strstr(char*, const char*);
const char* strstr(const char*, const char*);
char* strpbrk(char*, const char*);
const char* strpbrk(const char*, const char*);

#endif
