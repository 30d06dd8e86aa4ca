// <stdio.h> for NVRTC: the files of host code; NVRTC predeclares printf, size_t and NULL.
#ifndef CUDA_WHEEL_STDIO_H
#define CUDA_WHEEL_STDIO_H

#include "stdarg.h"

#define EOF (-1)
#define BUFSIZ 8192
#define FILENAME_MAX 4096
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2

typedef struct _IO_FILE FILE;
typedef struct cuda_wheel_fpos { long content[2]; } fpos_t;
#ifndef __ssize_t_defined
#define __ssize_t_defined
typedef long ssize_t;
#endif

extern "C" {
extern FILE* stdin;
extern FILE* stdout;
extern FILE* stderr;
#define stdin stdin
#define stdout stdout
#define stderr stderr
FILE* fopen(const char*, const char*);
FILE* freopen(const char*, const char*, FILE*);
FILE* fdopen(int, const char*);
FILE* popen(const char*, const char*);
FILE* tmpfile();
int pclose(FILE*);
int fclose(FILE*);
int fflush(FILE*);
int fileno(FILE*);
size_t fread(void*, size_t, size_t, FILE*);
size_t fwrite(const void*, size_t, size_t, FILE*);
int fprintf(FILE*, const char*, ...);
int sprintf(char*, const char*, ...);
int snprintf(char*, size_t, const char*, ...);
int asprintf(char**, const char*, ...);
int dprintf(int, const char*, ...);
int scanf(const char*, ...);
int fscanf(FILE*, const char*, ...);
int sscanf(const char*, const char*, ...);
int vprintf(const char*, va_list);
int vfprintf(FILE*, const char*, va_list);
int vsprintf(char*, const char*, va_list);
int vsnprintf(char*, size_t, const char*, va_list);
int vasprintf(char**, const char*, va_list);
int vscanf(const char*, va_list);
int vfscanf(FILE*, const char*, va_list);
int vsscanf(const char*, const char*, va_list);
int fgetc(FILE*);
int getc(FILE*);
int getchar();
int ungetc(int, FILE*);
char* fgets(char*, int, FILE*);
int fputc(int, FILE*);
int putc(int, FILE*);
int putchar(int);
int fputs(const char*, FILE*);
int puts(const char*);
ssize_t getline(char**, size_t*, FILE*);
int fseek(FILE*, long, int);
int fseeko(FILE*, long, int);
long ftell(FILE*);
long ftello(FILE*);
int fgetpos(FILE*, fpos_t*);
int fsetpos(FILE*, const fpos_t*);
void rewind(FILE*);
void clearerr(FILE*);
int feof(FILE*);
int ferror(FILE*);
void perror(const char*);
int remove(const char*);
int rename(const char*, const char*);
char* tmpnam(char*);
int setvbuf(FILE*, char*, int, size_t);
void setbuf(FILE*, char*);
}

#endif
