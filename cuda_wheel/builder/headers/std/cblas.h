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
#define CUDA_WHEEL_BLAS(_T, p)                                                                                                          \
  _T cblas_##p##dot(int, const _T*, int, const _T*, int);                                                                               \
  _T cblas_##p##nrm2(int, const _T*, int);                                                                                              \
  _T cblas_##p##asum(int, const _T*, int);                                                                                              \
  size_t cblas_i##p##amax(int, const _T*, int);                                                                                         \
  void cblas_##p##swap(int, _T*, int, _T*, int);                                                                                        \
  void cblas_##p##copy(int, const _T*, int, _T*, int);                                                                                  \
  void cblas_##p##axpy(int, _T, const _T*, int, _T*, int);                                                                              \
  void cblas_##p##axpby(int, _T, const _T*, int, _T, _T*, int);                                                                         \
  void cblas_##p##scal(int, _T, _T*, int);                                                                                              \
  void cblas_##p##ger(CBLAS_ORDER, int, int, _T, const _T*, int, const _T*, int, _T*, int);                                             \
  void cblas_##p##gemv(CBLAS_ORDER, CBLAS_TRANSPOSE, int, int, _T, const _T*, int, const _T*, int, _T, _T*, int);                       \
  void cblas_##p##gemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, _T, const _T*, int, const _T*, int, _T, _T*, int); \
  void cblas_##p##symm(CBLAS_ORDER, CBLAS_SIDE, CBLAS_UPLO, int, int, _T, const _T*, int, const _T*, int, _T, _T*, int);                \
  void cblas_##p##syrk(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE, int, int, _T, const _T*, int, _T, _T*, int);                           \
  void cblas_##p##trsm(CBLAS_ORDER, CBLAS_SIDE, CBLAS_UPLO, CBLAS_TRANSPOSE, CBLAS_DIAG, int, int, _T, const _T*, int, _T*, int);
extern "C" {
CUDA_WHEEL_BLAS(float, s)
CUDA_WHEEL_BLAS(double, d)
}
#undef CUDA_WHEEL_BLAS

#endif
