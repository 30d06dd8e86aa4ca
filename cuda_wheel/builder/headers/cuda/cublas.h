// <cublas.h>: cuBLAS's first interface, without a handle: starting, memory, and the functions that old code calls most.
// As in the library, it cannot be included together with <cublas_v2.h>.
#ifndef CUBLAS_H_
#define CUBLAS_H_

#ifdef CUBLAS_V2_H_
#error "<cublas.h> and <cublas_v2.h> cannot be included together"
#endif

#include <cublas_api.h>

#define CUBLAS_STATUS cublasStatus
typedef cublasStatus_t cublasStatus;

extern "C" {
cublasStatus cublasInit(void);
cublasStatus cublasShutdown(void);
cublasStatus cublasGetError(void);
cublasStatus cublasAlloc(int n, int elemSize, void** devicePtr);
cublasStatus cublasFree(void* devicePtr);
cublasStatus cublasSetKernelStream(cudaStream_t);

#define CUDA_WHEEL_CUBLAS_REAL(letter, type)                 \
  int cublasI##letter##amax(int n, const type* x, int incx); \
  int cublasI##letter##amin(int n, const type* x, int incx);
CUDA_WHEEL_CUBLAS_REAL(s, float)
CUDA_WHEEL_CUBLAS_REAL(d, double)
CUDA_WHEEL_CUBLAS_REAL(c, cuComplex)
CUDA_WHEEL_CUBLAS_REAL(z, cuDoubleComplex)
#undef CUDA_WHEEL_CUBLAS_REAL

#define CUDA_WHEEL_CUBLAS_ALL(prefix, type)                                                                 \
  void prefix##axpy(int n, type alpha, const type* x, int incx, type* y, int incy);                         \
  void prefix##copy(int n, const type* x, int incx, type* y, int incy);                                     \
  void prefix##scal(int n, type alpha, type* x, int incx);                                                  \
  void prefix##swap(int n, type* x, int incx, type* y, int incy);                                           \
  void prefix##gemv(char trans, int m, int n, type alpha, const type* _A, int lda, const type* x, int incx, \
      type beta, type* y, int incy);                                                                        \
  void prefix##gemm(char transa, char transb, int m, int n, int k, type alpha, const type* _A, int lda,     \
      const type* _B, int ldb, type beta, type* _C, int ldc);                                               \
  void prefix##syrk(char uplo, char trans, int n, int k, type alpha, const type* _A, int lda, type beta,    \
      type* _C, int ldc);                                                                                   \
  void prefix##trsm(char side, char uplo, char transa, char diag, int m, int n, type alpha, const type* _A, \
      int lda, type* _B, int ldb);                                                                          \
  void prefix##trsv(char uplo, char trans, char diag, int n, const type* _A, int lda, type* x, int incx);
CUDA_WHEEL_CUBLAS_ALL(cublasS, float)
CUDA_WHEEL_CUBLAS_ALL(cublasD, double)
CUDA_WHEEL_CUBLAS_ALL(cublasC, cuComplex)
CUDA_WHEEL_CUBLAS_ALL(cublasZ, cuDoubleComplex)
#undef CUDA_WHEEL_CUBLAS_ALL

float cublasSdot(int n, const float* x, int incx, const float* y, int incy);
double cublasDdot(int n, const double* x, int incx, const double* y, int incy);
float cublasSnrm2(int n, const float* x, int incx);
double cublasDnrm2(int n, const double* x, int incx);
float cublasSasum(int n, const float* x, int incx);
double cublasDasum(int n, const double* x, int incx);
void cublasSger(int m, int n, float alpha, const float* x, int incx, const float* y, int incy, float* _A, int lda);
void cublasDger(int m, int n, double alpha, const double* x, int incx, const double* y, int incy, double* _A, int lda);
}

#endif
