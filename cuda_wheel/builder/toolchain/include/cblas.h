// <cblas.h> for host code: the C interface of BLAS, whose enumerations are in signatures.
#ifndef CUDA_WHEEL_CBLAS_H
#define CUDA_WHEEL_CBLAS_H

#include <stddef.h>

typedef int CBLAS_INT;
enum CBLAS_LAYOUT { CblasRowMajor = 101, CblasColMajor = 102 };
typedef CBLAS_LAYOUT CBLAS_ORDER;
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113, CblasConjNoTrans = 114 };
enum CBLAS_UPLO { CblasUpper = 121, CblasLower = 122 };
enum CBLAS_DIAG { CblasNonUnit = 131, CblasUnit = 132 };
enum CBLAS_SIDE { CblasLeft = 141, CblasRight = 142 };

// A function of a type, for float and double
#define CUDA_WHEEL_BLAS(T, p)                                                                                              \
  T cblas_##p##dot(int, const T*, int, const T*, int);                                                                     \
  T cblas_##p##nrm2(int, const T*, int);                                                                                   \
  T cblas_##p##asum(int, const T*, int);                                                                                   \
  size_t cblas_i##p##amax(int, const T*, int);                                                                             \
  void cblas_##p##swap(int, T*, int, T*, int);                                                                             \
  void cblas_##p##copy(int, const T*, int, T*, int);                                                                       \
  void cblas_##p##axpy(int, T, const T*, int, T*, int);                                                                    \
  void cblas_##p##axpby(int, T, const T*, int, T, T*, int);                                                                \
  void cblas_##p##scal(int, T, T*, int);                                                                                   \
  void cblas_##p##ger(CBLAS_ORDER, int, int, T, const T*, int, const T*, int, T*, int);                                    \
  void cblas_##p##gemv(CBLAS_ORDER, CBLAS_TRANSPOSE, int, int, T, const T*, int, const T*, int, T, T*, int);               \
  void cblas_##p##gemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, T, const T*, int, const T*, int, T, T*, int); \
  void cblas_##p##symm(CBLAS_ORDER, CBLAS_SIDE, CBLAS_UPLO, int, int, T, const T*, int, const T*, int, T, T*, int);        \
  void cblas_##p##syrk(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE, int, int, T, const T*, int, T, T*, int);                  \
  void cblas_##p##trsm(CBLAS_ORDER, CBLAS_SIDE, CBLAS_UPLO, CBLAS_TRANSPOSE, CBLAS_DIAG, int, int, T, const T*, int, T*, int);
extern "C" {
CUDA_WHEEL_BLAS(float, s)
CUDA_WHEEL_BLAS(double, d)
}
#undef CUDA_WHEEL_BLAS

#endif
