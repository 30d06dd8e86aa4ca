// <cusparse.h>: cuSPARSE's types and functions. Host code alone can call them.
#ifndef CUSPARSE_H_
#define CUSPARSE_H_

#include <cuComplex.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdint.h>

#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR (__CUDACC_VER_MAJOR__ < 13 ? 5 : 6)
#define CUSPARSE_VER_PATCH 0
#define CUSPARSE_VERSION (CUSPARSE_VER_MAJOR * 1000 + CUSPARSE_VER_MINOR * 100 + CUSPARSE_VER_PATCH)

typedef enum { CUSPARSE_ACTION_SYMBOLIC, CUSPARSE_ACTION_NUMERIC } cusparseAction_t;
typedef enum { CUSPARSE_COLOR_ALG0, CUSPARSE_COLOR_ALG1 } cusparseColorAlg_t;
typedef enum { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = CUSPARSE_CSR2CSC_ALG_DEFAULT
  } cusparseCsr2CscAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT } cusparseDenseToSparseAlg_t;
typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_DIAG_TYPE_UNIT } cusparseDiagType_t;
typedef enum { CUSPARSE_DIRECTION_ROW, CUSPARSE_DIRECTION_COLUMN } cusparseDirection_t;
typedef enum { CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER } cusparseFillMode_t;
typedef enum { CUSPARSE_FORMAT_CSR = 1, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO, CUSPARSE_FORMAT_BLOCKED_ELL = 5,
  CUSPARSE_FORMAT_BSR, CUSPARSE_FORMAT_SLICED_ELLPACK } cusparseFormat_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE } cusparseIndexBase_t;
typedef enum { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I } cusparseIndexType_t;
typedef enum { CUSPARSE_MATRIX_TYPE_GENERAL, CUSPARSE_MATRIX_TYPE_SYMMETRIC, CUSPARSE_MATRIX_TYPE_HERMITIAN,
  CUSPARSE_MATRIX_TYPE_TRIANGULAR } cusparseMatrixType_t;
typedef enum { CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE
  } cusparseOperation_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW } cusparseOrder_t;
typedef enum { CUSPARSE_POINTER_MODE_HOST, CUSPARSE_POINTER_MODE_DEVICE } cusparsePointerMode_t;
typedef enum { CUSPARSE_SDDMM_ALG_DEFAULT } cusparseSDDMMAlg_t;
typedef enum { CUSPARSE_SOLVE_POLICY_NO_LEVEL, CUSPARSE_SOLVE_POLICY_USE_LEVEL } cusparseSolvePolicy_t;
typedef enum { CUSPARSE_SPGEMM_DEFAULT, CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC, CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC,
  CUSPARSE_SPGEMM_ALG1, CUSPARSE_SPGEMM_ALG2, CUSPARSE_SPGEMM_ALG3 } cusparseSpGEMMAlg_t;
typedef enum { CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_COO_ALG1, CUSPARSE_SPMM_COO_ALG2, CUSPARSE_SPMM_COO_ALG3,
  CUSPARSE_SPMM_COO_ALG4 = 5, CUSPARSE_SPMM_CSR_ALG1 = 4, CUSPARSE_SPMM_CSR_ALG2 = 6, CUSPARSE_SPMM_CSR_ALG3 = 12,
  CUSPARSE_SPMM_BLOCKED_ELL_ALG1, CUSPARSE_SPMM_BSR_ALG1 } cusparseSpMMAlg_t;
typedef enum { CUSPARSE_SPMM_OP_ALG_DEFAULT } cusparseSpMMOpAlg_t;
typedef enum { CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMV_CSR_ALG1 = 2, CUSPARSE_SPMV_CSR_ALG2,
  CUSPARSE_SPMV_COO_ALG1 = 1, CUSPARSE_SPMV_COO_ALG2 = 4, CUSPARSE_SPMV_SELL_ALG1, CUSPARSE_SPMV_BSR_ALG1
  } cusparseSpMVAlg_t;
typedef enum { CUSPARSE_SPMAT_FILL_MODE, CUSPARSE_SPMAT_DIAG_TYPE } cusparseSpMatAttribute_t;
typedef enum { CUSPARSE_SPSM_ALG_DEFAULT } cusparseSpSMAlg_t;
typedef enum { CUSPARSE_SPSM_UPDATE_GENERAL, CUSPARSE_SPSM_UPDATE_DIAGONAL } cusparseSpSMUpdate_t;
typedef enum { CUSPARSE_SPSV_ALG_DEFAULT } cusparseSpSVAlg_t;
typedef enum { CUSPARSE_SPSV_UPDATE_GENERAL, CUSPARSE_SPSV_UPDATE_DIAGONAL } cusparseSpSVUpdate_t;
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_STATUS_SUCCESS, CUSPARSE_STATUS_NOT_INITIALIZED, CUSPARSE_STATUS_ALLOC_FAILED,
  CUSPARSE_STATUS_INVALID_VALUE, CUSPARSE_STATUS_ARCH_MISMATCH, CUSPARSE_STATUS_MAPPING_ERROR,
  CUSPARSE_STATUS_EXECUTION_FAILED, CUSPARSE_STATUS_INTERNAL_ERROR, CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
  CUSPARSE_STATUS_ZERO_PIVOT, CUSPARSE_STATUS_NOT_SUPPORTED, CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
  } cusparseStatus_t;
typedef struct bsric02Info* bsric02Info_t;
typedef struct bsrilu02Info* bsrilu02Info_t;
typedef struct bsrsm2Info* bsrsm2Info_t;
typedef struct bsrsv2Info* bsrsv2Info_t;
typedef struct csric02Info* csric02Info_t;
typedef struct csrilu02Info* csrilu02Info_t;
typedef struct csru2csrInfo* csru2csrInfo_t;
typedef struct cusparseColorInfo* cusparseColorInfo_t;
typedef const struct cusparseDnMatDescr* cusparseConstDnMatDescr_t;
typedef const struct cusparseDnVecDescr* cusparseConstDnVecDescr_t;
typedef const struct cusparseSpMatDescr* cusparseConstSpMatDescr_t;
typedef const struct cusparseSpVecDescr* cusparseConstSpVecDescr_t;
typedef struct cusparseDnMatDescr* cusparseDnMatDescr_t;
typedef struct cusparseDnVecDescr* cusparseDnVecDescr_t;
typedef struct cusparseContext* cusparseHandle_t;
typedef void (*cusparseLoggerCallback_t)(int, const char*, const char*);
typedef struct cusparseMatDescr* cusparseMatDescr_t;
typedef struct cusparseSpGEMMDescr* cusparseSpGEMMDescr_t;
typedef struct cusparseSpMMOpPlan* cusparseSpMMOpPlan_t;
typedef struct cusparseSpMatDescr* cusparseSpMatDescr_t;
typedef struct cusparseSpSMDescr* cusparseSpSMDescr_t;
typedef struct cusparseSpSVDescr* cusparseSpSVDescr_t;
typedef struct cusparseSpVecDescr* cusparseSpVecDescr_t;
typedef struct pruneInfo* pruneInfo_t;

extern "C" {
cusparseStatus_t cusparseAxpby(cusparseHandle_t, const void*, cusparseConstSpVecDescr_t, const void*,
    cusparseDnVecDescr_t);
cusparseStatus_t cusparseBlockedEllGet(cusparseSpMatDescr_t, int64_t*, int64_t*, int64_t*, int64_t*, void**, void**,
    cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseBsrSetStridedBatch(cusparseSpMatDescr_t, int, int64_t, int64_t, int64_t);
cusparseStatus_t cusparseCbsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, cusparseMatDescr_t, cuComplex*, int*, int*);
cusparseStatus_t cusparseCbsric02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, cuComplex*,
    const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsric02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsric02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuComplex*, const int*, const int*, int, bsric02Info_t, int*);
cusparseStatus_t cusparseCbsrilu02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, cuComplex*,
    const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsrilu02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuComplex*, const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsrilu02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuComplex*, const int*, const int*, int, bsrilu02Info_t, int*);
cusparseStatus_t cusparseCbsrilu02_numericBoost(cusparseHandle_t, bsrilu02Info_t, int, double*, cuComplex*);
cusparseStatus_t cusparseCbsrmm(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, cusparseOperation_t, int,
    int, int, int, const cuComplex*, cusparseMatDescr_t, const cuComplex*, const int*, const int*, int,
    const cuComplex*, int, const cuComplex*, cuComplex*, int);
cusparseStatus_t cusparseCbsrmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int,
    const cuComplex*, cusparseMatDescr_t, const cuComplex*, const int*, const int*, int, const cuComplex*,
    const cuComplex*, cuComplex*);
cusparseStatus_t cusparseCbsrsm2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, const cuComplex*, const int*, const int*, int,
    bsrsm2Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsrsm2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, cuComplex*, const int*, const int*, int, bsrsm2Info_t,
    int*);
cusparseStatus_t cusparseCbsrsm2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, const cuComplex*, cusparseMatDescr_t, const cuComplex*, const int*,
    const int*, int, bsrsm2Info_t, const cuComplex*, int, cuComplex*, int, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsrsv2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, const cuComplex*, const int*, const int*, int, bsrsv2Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsrsv2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, cuComplex*, const int*, const int*, int, bsrsv2Info_t, int*);
cusparseStatus_t cusparseCbsrsv2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    const cuComplex*, cusparseMatDescr_t, const cuComplex*, const int*, const int*, int, bsrsv2Info_t,
    const cuComplex*, cuComplex*, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCbsrxmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int, int,
    const cuComplex*, cusparseMatDescr_t, const cuComplex*, const int*, const int*, const int*, const int*, int,
    const cuComplex*, const cuComplex*, cuComplex*);
cusparseStatus_t cusparseCcsr2bsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, cusparseMatDescr_t, cuComplex*, int*, int*);
cusparseStatus_t cusparseCcsr2csr_compress(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, int, const int*, cuComplex*, int*, int*, cuComplex);
cusparseStatus_t cusparseCcsr2csru(cusparseHandle_t, int, int, int, cusparseMatDescr_t, cuComplex*, const int*, int*,
    csru2csrInfo_t, void*);
cusparseStatus_t cusparseCcsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, cusparseMatDescr_t, cuComplex*, int*, int*, int, int, void*);
cusparseStatus_t cusparseCcsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, int, int*);
cusparseStatus_t cusparseCcsrcolor(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuComplex*, const int*,
    const int*, const float*, int*, int*, int*, cusparseColorInfo_t);
cusparseStatus_t cusparseCcsrgeam2(cusparseHandle_t, int, int, const cuComplex*, cusparseMatDescr_t, int,
    const cuComplex*, const int*, const int*, const cuComplex*, cusparseMatDescr_t, int, const cuComplex*, const int*,
    const int*, cusparseMatDescr_t, cuComplex*, int*, int*, void*);
cusparseStatus_t cusparseCcsrgeam2_bufferSizeExt(cusparseHandle_t, int, int, const cuComplex*, cusparseMatDescr_t,
    int, const cuComplex*, const int*, const int*, const cuComplex*, cusparseMatDescr_t, int, const cuComplex*,
    const int*, const int*, cusparseMatDescr_t, const cuComplex*, const int*, const int*, size_t*);
cusparseStatus_t cusparseCcsric02(cusparseHandle_t, int, int, cusparseMatDescr_t, cuComplex*, const int*, const int*,
    csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCcsric02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCcsric02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, cuComplex*, const int*,
    const int*, csric02Info_t, int*);
cusparseStatus_t cusparseCcsrilu02(cusparseHandle_t, int, int, cusparseMatDescr_t, cuComplex*, const int*, const int*,
    csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCcsrilu02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseCcsrilu02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, cuComplex*, const int*,
    const int*, csrilu02Info_t, int*);
cusparseStatus_t cusparseCcsrilu02_numericBoost(cusparseHandle_t, csrilu02Info_t, int, double*, cuComplex*);
cusparseStatus_t cusparseCcsru2csr(cusparseHandle_t, int, int, int, cusparseMatDescr_t, cuComplex*, const int*, int*,
    csru2csrInfo_t, void*);
cusparseStatus_t cusparseCcsru2csr_bufferSizeExt(cusparseHandle_t, int, int, int, cuComplex*, const int*, int*,
    csru2csrInfo_t, size_t*);
cusparseStatus_t cusparseCgebsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, int, cusparseMatDescr_t, cuComplex*, int*, int*);
cusparseStatus_t cusparseCgebsr2gebsc(cusparseHandle_t, int, int, int, const cuComplex*, const int*, const int*, int,
    int, cuComplex*, int*, int*, cusparseAction_t, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseCgebsr2gebsc_bufferSize(cusparseHandle_t, int, int, int, const cuComplex*, const int*,
    const int*, int, int, int*);
cusparseStatus_t cusparseCgebsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, int, cusparseMatDescr_t, cuComplex*, int*, int*, int, int, void*);
cusparseStatus_t cusparseCgebsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, int,
    cusparseMatDescr_t, const cuComplex*, const int*, const int*, int, int, int, int, int*);
cusparseStatus_t cusparseCgemvi(cusparseHandle_t, cusparseOperation_t, int, int, const cuComplex*, const cuComplex*,
    int, int, const cuComplex*, const int*, const cuComplex*, cuComplex*, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseCgemvi_bufferSize(cusparseHandle_t, cusparseOperation_t, int, int, int, int*);
cusparseStatus_t cusparseCgpsvInterleavedBatch(cusparseHandle_t, int, int, cuComplex*, cuComplex*, cuComplex*,
    cuComplex*, cuComplex*, cuComplex*, int, void*);
cusparseStatus_t cusparseCgpsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const cuComplex*,
    const cuComplex*, const cuComplex*, const cuComplex*, const cuComplex*, const cuComplex*, int, size_t*);
cusparseStatus_t cusparseCgtsv2(cusparseHandle_t, int, int, const cuComplex*, const cuComplex*, const cuComplex*,
    cuComplex*, int, void*);
cusparseStatus_t cusparseCgtsv2StridedBatch(cusparseHandle_t, int, const cuComplex*, const cuComplex*,
    const cuComplex*, cuComplex*, int, int, void*);
cusparseStatus_t cusparseCgtsv2StridedBatch_bufferSizeExt(cusparseHandle_t, int, const cuComplex*, const cuComplex*,
    const cuComplex*, const cuComplex*, int, int, size_t*);
cusparseStatus_t cusparseCgtsv2_bufferSizeExt(cusparseHandle_t, int, int, const cuComplex*, const cuComplex*,
    const cuComplex*, const cuComplex*, int, size_t*);
cusparseStatus_t cusparseCgtsv2_nopivot(cusparseHandle_t, int, int, const cuComplex*, const cuComplex*,
    const cuComplex*, cuComplex*, int, void*);
cusparseStatus_t cusparseCgtsv2_nopivot_bufferSizeExt(cusparseHandle_t, int, int, const cuComplex*, const cuComplex*,
    const cuComplex*, const cuComplex*, int, size_t*);
cusparseStatus_t cusparseCgtsvInterleavedBatch(cusparseHandle_t, int, int, cuComplex*, cuComplex*, cuComplex*,
    cuComplex*, int, void*);
cusparseStatus_t cusparseCgtsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const cuComplex*,
    const cuComplex*, const cuComplex*, const cuComplex*, int, size_t*);
cusparseStatus_t cusparseCnnz(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const cuComplex*,
    int, int*, int*);
cusparseStatus_t cusparseCnnz_compress(cusparseHandle_t, int, cusparseMatDescr_t, const cuComplex*, const int*, int*,
    int*, cuComplex);
cusparseStatus_t cusparseConstBlockedEllGet(cusparseConstSpMatDescr_t, int64_t*, int64_t*, int64_t*, int64_t*,
    const void**, const void**, cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseConstCooGet(cusparseConstSpMatDescr_t, int64_t*, int64_t*, int64_t*, const void**,
    const void**, const void**, cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseConstCscGet(cusparseConstSpMatDescr_t, int64_t*, int64_t*, int64_t*, const void**,
    const void**, const void**, cusparseIndexType_t*, cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseConstCsrGet(cusparseConstSpMatDescr_t, int64_t*, int64_t*, int64_t*, const void**,
    const void**, const void**, cusparseIndexType_t*, cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseConstDnMatGet(cusparseConstDnMatDescr_t, int64_t*, int64_t*, int64_t*, const void**,
    cudaDataType*, cusparseOrder_t*);
cusparseStatus_t cusparseConstDnMatGetValues(cusparseConstDnMatDescr_t, const void**);
cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t, int64_t*, const void**, cudaDataType*);
cusparseStatus_t cusparseConstDnVecGetValues(cusparseConstDnVecDescr_t, const void**);
cusparseStatus_t cusparseConstSpMatGetValues(cusparseConstSpMatDescr_t, const void**);
cusparseStatus_t cusparseConstSpVecGet(cusparseConstSpVecDescr_t, int64_t*, int64_t*, const void**, const void**,
    cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseConstSpVecGetValues(cusparseConstSpVecDescr_t, const void**);
cusparseStatus_t cusparseCooGet(cusparseSpMatDescr_t, int64_t*, int64_t*, int64_t*, void**, void**, void**,
    cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t, void*, void*, void*);
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t, int, int64_t);
cusparseStatus_t cusparseCreate(cusparseHandle_t*);
cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, void*, void*,
    cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, int64_t, void*, void*,
    void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType, cusparseOrder_t);
cusparseStatus_t cusparseCreateBsric02Info(bsric02Info_t*);
cusparseStatus_t cusparseCreateBsrilu02Info(bsrilu02Info_t*);
cusparseStatus_t cusparseCreateBsrsm2Info(bsrsm2Info_t*);
cusparseStatus_t cusparseCreateBsrsv2Info(bsrsv2Info_t*);
cusparseStatus_t cusparseCreateColorInfo(cusparseColorInfo_t*);
cusparseStatus_t cusparseCreateConstBlockedEll(cusparseConstSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t,
    const void*, const void*, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateConstBsr(cusparseConstSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, int64_t,
    const void*, const void*, const void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
    cudaDataType, cusparseOrder_t);
cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t*, int64_t, int64_t, int64_t, const void*,
    const void*, const void*, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateConstCsc(cusparseConstSpMatDescr_t*, int64_t, int64_t, int64_t, const void*,
    const void*, const void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t*, int64_t, int64_t, int64_t, const void*,
    const void*, const void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t*, int64_t, int64_t, int64_t, const void*,
    cudaDataType, cusparseOrder_t);
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t*, int64_t, const void*, cudaDataType);
cusparseStatus_t cusparseCreateConstSlicedEll(cusparseConstSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, int64_t,
    const void*, const void*, const void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
    cudaDataType);
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t*, int64_t, int64_t, const void*, const void*,
    cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, void*, void*, void*,
    cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, void*, void*, void*,
    cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, void*, void*, void*,
    cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t*);
cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t*);
cusparseStatus_t cusparseCreateCsru2csrInfo(csru2csrInfo_t*);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t*, int64_t, int64_t, int64_t, void*, cudaDataType,
    cusparseOrder_t);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t*, int64_t, void*, cudaDataType);
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t, int, int*);
cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t*);
cusparseStatus_t cusparseCreatePruneInfo(pruneInfo_t*);
cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, int64_t, void*,
    void*, void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t*, int64_t, int64_t, void*, void*, cusparseIndexType_t,
    cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCscGet(cusparseSpMatDescr_t, int64_t*, int64_t*, int64_t*, void**, void**, void**,
    cusparseIndexType_t*, cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t, void*, void*, void*);
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t, int, int, int, const void*, const int*, const int*, void*, int*,
    int*, cudaDataType, cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t, void*);
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t, int, int, int, const void*, const int*, const int*,
    void*, int*, int*, cudaDataType, cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t, size_t*);
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t, int64_t*, int64_t*, int64_t*, void**, void**, void**,
    cusparseIndexType_t*, cusparseIndexType_t*, cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t, void*, void*, void*);
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t, int, int64_t, int64_t);
cusparseStatus_t cusparseDbsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, int, cusparseMatDescr_t, double*, int*, int*);
cusparseStatus_t cusparseDbsric02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, double*,
    const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsric02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsric02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    double*, const int*, const int*, int, bsric02Info_t, int*);
cusparseStatus_t cusparseDbsrilu02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, double*,
    const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsrilu02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    double*, const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsrilu02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    double*, const int*, const int*, int, bsrilu02Info_t, int*);
cusparseStatus_t cusparseDbsrilu02_numericBoost(cusparseHandle_t, bsrilu02Info_t, int, double*, double*);
cusparseStatus_t cusparseDbsrmm(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, cusparseOperation_t, int,
    int, int, int, const double*, cusparseMatDescr_t, const double*, const int*, const int*, int, const double*, int,
    const double*, double*, int);
cusparseStatus_t cusparseDbsrmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int,
    const double*, cusparseMatDescr_t, const double*, const int*, const int*, int, const double*, const double*,
    double*);
cusparseStatus_t cusparseDbsrsm2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, const double*, const int*, const int*, int, bsrsm2Info_t,
    cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsrsm2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, double*, const int*, const int*, int, bsrsm2Info_t, int*);
cusparseStatus_t cusparseDbsrsm2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, const double*, cusparseMatDescr_t, const double*, const int*, const int*, int,
    bsrsm2Info_t, const double*, int, double*, int, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsrsv2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, const double*, const int*, const int*, int, bsrsv2Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsrsv2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, double*, const int*, const int*, int, bsrsv2Info_t, int*);
cusparseStatus_t cusparseDbsrsv2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    const double*, cusparseMatDescr_t, const double*, const int*, const int*, int, bsrsv2Info_t, const double*,
    double*, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDbsrxmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int, int,
    const double*, cusparseMatDescr_t, const double*, const int*, const int*, const int*, const int*, int,
    const double*, const double*, double*);
cusparseStatus_t cusparseDcsr2bsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, int, cusparseMatDescr_t, double*, int*, int*);
cusparseStatus_t cusparseDcsr2csr_compress(cusparseHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, int, const int*, double*, int*, int*, double);
cusparseStatus_t cusparseDcsr2csru(cusparseHandle_t, int, int, int, cusparseMatDescr_t, double*, const int*, int*,
    csru2csrInfo_t, void*);
cusparseStatus_t cusparseDcsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, cusparseMatDescr_t, double*, int*, int*, int, int, void*);
cusparseStatus_t cusparseDcsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, int, int, int*);
cusparseStatus_t cusparseDcsrcolor(cusparseHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, const double*, int*, int*, int*, cusparseColorInfo_t);
cusparseStatus_t cusparseDcsrgeam2(cusparseHandle_t, int, int, const double*, cusparseMatDescr_t, int, const double*,
    const int*, const int*, const double*, cusparseMatDescr_t, int, const double*, const int*, const int*,
    cusparseMatDescr_t, double*, int*, int*, void*);
cusparseStatus_t cusparseDcsrgeam2_bufferSizeExt(cusparseHandle_t, int, int, const double*, cusparseMatDescr_t, int,
    const double*, const int*, const int*, const double*, cusparseMatDescr_t, int, const double*, const int*,
    const int*, cusparseMatDescr_t, const double*, const int*, const int*, size_t*);
cusparseStatus_t cusparseDcsric02(cusparseHandle_t, int, int, cusparseMatDescr_t, double*, const int*, const int*,
    csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDcsric02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDcsric02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, double*, const int*,
    const int*, csric02Info_t, int*);
cusparseStatus_t cusparseDcsrilu02(cusparseHandle_t, int, int, cusparseMatDescr_t, double*, const int*, const int*,
    csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDcsrilu02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseDcsrilu02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, double*, const int*,
    const int*, csrilu02Info_t, int*);
cusparseStatus_t cusparseDcsrilu02_numericBoost(cusparseHandle_t, csrilu02Info_t, int, double*, double*);
cusparseStatus_t cusparseDcsru2csr(cusparseHandle_t, int, int, int, cusparseMatDescr_t, double*, const int*, int*,
    csru2csrInfo_t, void*);
cusparseStatus_t cusparseDcsru2csr_bufferSizeExt(cusparseHandle_t, int, int, int, double*, const int*, int*,
    csru2csrInfo_t, size_t*);
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
    cusparseDenseToSparseAlg_t, void*);
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
    cusparseDenseToSparseAlg_t, size_t*);
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
    cusparseDenseToSparseAlg_t, void*);
cusparseStatus_t cusparseDestroy(cusparseHandle_t);
cusparseStatus_t cusparseDestroyBsric02Info(bsric02Info_t);
cusparseStatus_t cusparseDestroyBsrilu02Info(bsrilu02Info_t);
cusparseStatus_t cusparseDestroyBsrsm2Info(bsrsm2Info_t);
cusparseStatus_t cusparseDestroyBsrsv2Info(bsrsv2Info_t);
cusparseStatus_t cusparseDestroyColorInfo(cusparseColorInfo_t);
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t);
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t);
cusparseStatus_t cusparseDestroyCsru2csrInfo(csru2csrInfo_t);
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t);
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t);
cusparseStatus_t cusparseDestroyPruneInfo(pruneInfo_t);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t);
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t);
cusparseStatus_t cusparseDgebsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, int, int, cusparseMatDescr_t, double*, int*, int*);
cusparseStatus_t cusparseDgebsr2gebsc(cusparseHandle_t, int, int, int, const double*, const int*, const int*, int,
    int, double*, int*, int*, cusparseAction_t, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseDgebsr2gebsc_bufferSize(cusparseHandle_t, int, int, int, const double*, const int*,
    const int*, int, int, int*);
cusparseStatus_t cusparseDgebsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, int, int, cusparseMatDescr_t, double*, int*, int*, int, int, void*);
cusparseStatus_t cusparseDgebsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, int,
    cusparseMatDescr_t, const double*, const int*, const int*, int, int, int, int, int*);
cusparseStatus_t cusparseDgemvi(cusparseHandle_t, cusparseOperation_t, int, int, const double*, const double*, int,
    int, const double*, const int*, const double*, double*, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseDgemvi_bufferSize(cusparseHandle_t, cusparseOperation_t, int, int, int, int*);
cusparseStatus_t cusparseDgpsvInterleavedBatch(cusparseHandle_t, int, int, double*, double*, double*, double*,
    double*, double*, int, void*);
cusparseStatus_t cusparseDgpsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const double*, const double*,
    const double*, const double*, const double*, const double*, int, size_t*);
cusparseStatus_t cusparseDgtsv2(cusparseHandle_t, int, int, const double*, const double*, const double*, double*, int,
    void*);
cusparseStatus_t cusparseDgtsv2StridedBatch(cusparseHandle_t, int, const double*, const double*, const double*,
    double*, int, int, void*);
cusparseStatus_t cusparseDgtsv2StridedBatch_bufferSizeExt(cusparseHandle_t, int, const double*, const double*,
    const double*, const double*, int, int, size_t*);
cusparseStatus_t cusparseDgtsv2_bufferSizeExt(cusparseHandle_t, int, int, const double*, const double*, const double*,
    const double*, int, size_t*);
cusparseStatus_t cusparseDgtsv2_nopivot(cusparseHandle_t, int, int, const double*, const double*, const double*,
    double*, int, void*);
cusparseStatus_t cusparseDgtsv2_nopivot_bufferSizeExt(cusparseHandle_t, int, int, const double*, const double*,
    const double*, const double*, int, size_t*);
cusparseStatus_t cusparseDgtsvInterleavedBatch(cusparseHandle_t, int, int, double*, double*, double*, double*, int,
    void*);
cusparseStatus_t cusparseDgtsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const double*, const double*,
    const double*, const double*, int, size_t*);
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t, int64_t*, int64_t*, int64_t*, void**, cudaDataType*,
    cusparseOrder_t*);
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t, int*, int64_t*);
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t, void**);
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t, int, int64_t);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t, void*);
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t, int64_t*, void**, cudaDataType*);
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t, void**);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t, void*);
cusparseStatus_t cusparseDnnz(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const double*, int,
    int*, int*);
cusparseStatus_t cusparseDnnz_compress(cusparseHandle_t, int, cusparseMatDescr_t, const double*, const int*, int*,
    int*, double);
cusparseStatus_t cusparseDpruneCsr2csr(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, const double*, cusparseMatDescr_t, double*, const int*, int*, void*);
cusparseStatus_t cusparseDpruneCsr2csrByPercentage(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, float, cusparseMatDescr_t, double*, const int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseDpruneCsr2csrByPercentage_bufferSizeExt(cusparseHandle_t, int, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, float, cusparseMatDescr_t, const double*, const int*, const int*,
    pruneInfo_t, size_t*);
cusparseStatus_t cusparseDpruneCsr2csrNnz(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, const double*, cusparseMatDescr_t, int*, int*, void*);
cusparseStatus_t cusparseDpruneCsr2csrNnzByPercentage(cusparseHandle_t, int, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, float, cusparseMatDescr_t, int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseDpruneCsr2csr_bufferSizeExt(cusparseHandle_t, int, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, const double*, cusparseMatDescr_t, const double*, const int*, const int*,
    size_t*);
cusparseStatus_t cusparseDpruneDense2csr(cusparseHandle_t, int, int, const double*, int, const double*,
    cusparseMatDescr_t, double*, const int*, int*, void*);
cusparseStatus_t cusparseDpruneDense2csrByPercentage(cusparseHandle_t, int, int, const double*, int, float,
    cusparseMatDescr_t, double*, const int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseDpruneDense2csrByPercentage_bufferSizeExt(cusparseHandle_t, int, int, const double*, int,
    float, cusparseMatDescr_t, const double*, const int*, const int*, pruneInfo_t, size_t*);
cusparseStatus_t cusparseDpruneDense2csrNnz(cusparseHandle_t, int, int, const double*, int, const double*,
    cusparseMatDescr_t, int*, int*, void*);
cusparseStatus_t cusparseDpruneDense2csrNnzByPercentage(cusparseHandle_t, int, int, const double*, int, float,
    cusparseMatDescr_t, int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseDpruneDense2csr_bufferSizeExt(cusparseHandle_t, int, int, const double*, int, const double*,
    cusparseMatDescr_t, const double*, const int*, const int*, size_t*);
cusparseStatus_t cusparseGather(cusparseHandle_t, cusparseConstDnVecDescr_t, cusparseSpVecDescr_t);
const char* cusparseGetErrorName(cusparseStatus_t);
const char* cusparseGetErrorString(cusparseStatus_t);
cusparseDiagType_t cusparseGetMatDiagType(cusparseMatDescr_t);
cusparseFillMode_t cusparseGetMatFillMode(cusparseMatDescr_t);
cusparseIndexBase_t cusparseGetMatIndexBase(cusparseMatDescr_t);
cusparseMatrixType_t cusparseGetMatType(cusparseMatDescr_t);
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t, cusparsePointerMode_t*);
cusparseStatus_t cusparseGetProperty(libraryPropertyType, int*);
cusparseStatus_t cusparseGetStream(cusparseHandle_t, cudaStream_t*);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int*);
cusparseStatus_t cusparseLoggerForceDisable();
cusparseStatus_t cusparseLoggerOpenFile(const char*);
cusparseStatus_t cusparseLoggerSetCallback(cusparseLoggerCallback_t);
cusparseStatus_t cusparseLoggerSetLevel(int);
cusparseStatus_t cusparseLoggerSetMask(int);
cusparseStatus_t cusparseRot(cusparseHandle_t, const void*, const void*, cusparseSpVecDescr_t, cusparseDnVecDescr_t);
cusparseStatus_t cusparseSDDMM(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
    cusparseSDDMMAlg_t, void*);
cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
    cusparseSDDMMAlg_t, size_t*);
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
    cusparseSDDMMAlg_t, void*);
cusparseStatus_t cusparseSbsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, int, cusparseMatDescr_t, float*, int*, int*);
cusparseStatus_t cusparseSbsric02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, float*,
    const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsric02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsric02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    float*, const int*, const int*, int, bsric02Info_t, int*);
cusparseStatus_t cusparseSbsrilu02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, float*,
    const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsrilu02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    float*, const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsrilu02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    float*, const int*, const int*, int, bsrilu02Info_t, int*);
cusparseStatus_t cusparseSbsrilu02_numericBoost(cusparseHandle_t, bsrilu02Info_t, int, double*, float*);
cusparseStatus_t cusparseSbsrmm(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, cusparseOperation_t, int,
    int, int, int, const float*, cusparseMatDescr_t, const float*, const int*, const int*, int, const float*, int,
    const float*, float*, int);
cusparseStatus_t cusparseSbsrmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int,
    const float*, cusparseMatDescr_t, const float*, const int*, const int*, int, const float*, const float*, float*);
cusparseStatus_t cusparseSbsrsm2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, const float*, const int*, const int*, int, bsrsm2Info_t,
    cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsrsm2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, float*, const int*, const int*, int, bsrsm2Info_t, int*);
cusparseStatus_t cusparseSbsrsm2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, const float*, cusparseMatDescr_t, const float*, const int*, const int*, int,
    bsrsm2Info_t, const float*, int, float*, int, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsrsv2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, const float*, const int*, const int*, int, bsrsv2Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsrsv2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, float*, const int*, const int*, int, bsrsv2Info_t, int*);
cusparseStatus_t cusparseSbsrsv2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    const float*, cusparseMatDescr_t, const float*, const int*, const int*, int, bsrsv2Info_t, const float*, float*,
    cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseSbsrxmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int, int,
    const float*, cusparseMatDescr_t, const float*, const int*, const int*, const int*, const int*, int, const float*,
    const float*, float*);
cusparseStatus_t cusparseScatter(cusparseHandle_t, cusparseConstSpVecDescr_t, cusparseDnVecDescr_t);
cusparseStatus_t cusparseScsr2bsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, int, cusparseMatDescr_t, float*, int*, int*);
cusparseStatus_t cusparseScsr2csr_compress(cusparseHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, int, const int*, float*, int*, int*, float);
cusparseStatus_t cusparseScsr2csru(cusparseHandle_t, int, int, int, cusparseMatDescr_t, float*, const int*, int*,
    csru2csrInfo_t, void*);
cusparseStatus_t cusparseScsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, cusparseMatDescr_t, float*, int*, int*, int, int, void*);
cusparseStatus_t cusparseScsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, int, int, int*);
cusparseStatus_t cusparseScsrcolor(cusparseHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, int*, int*, int*, cusparseColorInfo_t);
cusparseStatus_t cusparseScsrgeam2(cusparseHandle_t, int, int, const float*, cusparseMatDescr_t, int, const float*,
    const int*, const int*, const float*, cusparseMatDescr_t, int, const float*, const int*, const int*,
    cusparseMatDescr_t, float*, int*, int*, void*);
cusparseStatus_t cusparseScsrgeam2_bufferSizeExt(cusparseHandle_t, int, int, const float*, cusparseMatDescr_t, int,
    const float*, const int*, const int*, const float*, cusparseMatDescr_t, int, const float*, const int*, const int*,
    cusparseMatDescr_t, const float*, const int*, const int*, size_t*);
cusparseStatus_t cusparseScsric02(cusparseHandle_t, int, int, cusparseMatDescr_t, float*, const int*, const int*,
    csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseScsric02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseScsric02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, float*, const int*,
    const int*, csric02Info_t, int*);
cusparseStatus_t cusparseScsrilu02(cusparseHandle_t, int, int, cusparseMatDescr_t, float*, const int*, const int*,
    csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseScsrilu02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseScsrilu02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, float*, const int*,
    const int*, csrilu02Info_t, int*);
cusparseStatus_t cusparseScsrilu02_numericBoost(cusparseHandle_t, csrilu02Info_t, int, double*, float*);
cusparseStatus_t cusparseScsru2csr(cusparseHandle_t, int, int, int, cusparseMatDescr_t, float*, const int*, int*,
    csru2csrInfo_t, void*);
cusparseStatus_t cusparseScsru2csr_bufferSizeExt(cusparseHandle_t, int, int, int, float*, const int*, int*,
    csru2csrInfo_t, size_t*);
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t, cusparseDiagType_t);
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t, cusparseFillMode_t);
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t, cusparseIndexBase_t);
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t, cusparseMatrixType_t);
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t, cusparsePointerMode_t);
cusparseStatus_t cusparseSetStream(cusparseHandle_t, cudaStream_t);
cusparseStatus_t cusparseSgebsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, int, int, cusparseMatDescr_t, float*, int*, int*);
cusparseStatus_t cusparseSgebsr2gebsc(cusparseHandle_t, int, int, int, const float*, const int*, const int*, int, int,
    float*, int*, int*, cusparseAction_t, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseSgebsr2gebsc_bufferSize(cusparseHandle_t, int, int, int, const float*, const int*,
    const int*, int, int, int*);
cusparseStatus_t cusparseSgebsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, int, int, cusparseMatDescr_t, float*, int*, int*, int, int, void*);
cusparseStatus_t cusparseSgebsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, int,
    cusparseMatDescr_t, const float*, const int*, const int*, int, int, int, int, int*);
cusparseStatus_t cusparseSgemvi(cusparseHandle_t, cusparseOperation_t, int, int, const float*, const float*, int, int,
    const float*, const int*, const float*, float*, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseSgemvi_bufferSize(cusparseHandle_t, cusparseOperation_t, int, int, int, int*);
cusparseStatus_t cusparseSgpsvInterleavedBatch(cusparseHandle_t, int, int, float*, float*, float*, float*, float*,
    float*, int, void*);
cusparseStatus_t cusparseSgpsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const float*, const float*,
    const float*, const float*, const float*, const float*, int, size_t*);
cusparseStatus_t cusparseSgtsv2(cusparseHandle_t, int, int, const float*, const float*, const float*, float*, int,
    void*);
cusparseStatus_t cusparseSgtsv2StridedBatch(cusparseHandle_t, int, const float*, const float*, const float*, float*,
    int, int, void*);
cusparseStatus_t cusparseSgtsv2StridedBatch_bufferSizeExt(cusparseHandle_t, int, const float*, const float*,
    const float*, const float*, int, int, size_t*);
cusparseStatus_t cusparseSgtsv2_bufferSizeExt(cusparseHandle_t, int, int, const float*, const float*, const float*,
    const float*, int, size_t*);
cusparseStatus_t cusparseSgtsv2_nopivot(cusparseHandle_t, int, int, const float*, const float*, const float*, float*,
    int, void*);
cusparseStatus_t cusparseSgtsv2_nopivot_bufferSizeExt(cusparseHandle_t, int, int, const float*, const float*,
    const float*, const float*, int, size_t*);
cusparseStatus_t cusparseSgtsvInterleavedBatch(cusparseHandle_t, int, int, float*, float*, float*, float*, int,
    void*);
cusparseStatus_t cusparseSgtsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const float*, const float*,
    const float*, const float*, int, size_t*);
cusparseStatus_t cusparseSnnz(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const float*, int,
    int*, int*);
cusparseStatus_t cusparseSnnz_compress(cusparseHandle_t, int, cusparseMatDescr_t, const float*, const int*, int*,
    int*, float);
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
    cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t, size_t*, void*);
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
    cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t);
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t*);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t);
cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
    const void*, cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*, cusparseSpMatDescr_t,
    cudaDataType, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t, float, size_t*, void*, size_t*);
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t, int64_t*);
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
    const void*, cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*, cusparseSpMatDescr_t,
    cudaDataType, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t, size_t*, void*);
cusparseStatus_t cusparseSpGEMMreuse_compute(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*, cusparseSpMatDescr_t, cudaDataType,
    cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t);
cusparseStatus_t cusparseSpGEMMreuse_copy(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, cusparseSpMatDescr_t, cusparseSpGEMMAlg_t,
    cusparseSpGEMMDescr_t, size_t*, void*);
cusparseStatus_t cusparseSpGEMMreuse_nnz(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, cusparseSpMatDescr_t, cusparseSpGEMMAlg_t,
    cusparseSpGEMMDescr_t, size_t*, void*, size_t*, void*, size_t*, void*);
cusparseStatus_t cusparseSpGEMMreuse_workEstimation(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, cusparseSpMatDescr_t, cusparseSpGEMMAlg_t,
    cusparseSpGEMMDescr_t, size_t*, void*);
cusparseStatus_t cusparseSpMM(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*, cusparseDnMatDescr_t, cudaDataType,
    cusparseSpMMAlg_t, void*);
cusparseStatus_t cusparseSpMMOp(cusparseSpMMOpPlan_t, void*);
cusparseStatus_t cusparseSpMMOp_createPlan(cusparseHandle_t, cusparseSpMMOpPlan_t*, cusparseOperation_t,
    cusparseOperation_t, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType,
    cusparseSpMMOpAlg_t, const void*, size_t, const void*, size_t, const void*, size_t, size_t*);
cusparseStatus_t cusparseSpMMOp_destroyPlan(cusparseSpMMOpPlan_t);
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*, cusparseDnMatDescr_t, cudaDataType,
    cusparseSpMMAlg_t, size_t*);
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*, cusparseDnMatDescr_t, cudaDataType,
    cusparseSpMMAlg_t, void*);
cusparseStatus_t cusparseSpMV(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, const void*, cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void*);
cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void*, cusparseDnVecDescr_t, cudaDataType,
    cusparseSpMVAlg_t, size_t*);
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void*, cusparseDnVecDescr_t, cudaDataType,
    cusparseSpMVAlg_t, void*);
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t, cusparseSpMatAttribute_t, void*, size_t);
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t, cusparseFormat_t*);
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t, cusparseIndexBase_t*);
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t, int64_t*, int64_t*, int64_t*);
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t, int*);
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t, void**);
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t, cusparseSpMatAttribute_t, void*, size_t);
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t, void*);
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
    cusparseSpSMDescr_t, void*);
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
    cusparseSpSMDescr_t, size_t*);
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t*);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t);
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
    cusparseSpSMDescr_t);
cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t, cusparseSpSMDescr_t, void*, cusparseSpSMUpdate_t);
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, void*);
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
    cusparseSpSVDescr_t, size_t*);
cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t*);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t);
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t);
cusparseStatus_t cusparseSpSV_updateMatrix(cusparseHandle_t, cusparseSpSVDescr_t, void*, cusparseSpSVUpdate_t);
cusparseStatus_t cusparseSpVV(cusparseHandle_t, cusparseOperation_t, cusparseConstSpVecDescr_t,
    cusparseConstDnVecDescr_t, void*, cudaDataType, void*);
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseConstSpVecDescr_t,
    cusparseConstDnVecDescr_t, const void*, cudaDataType, size_t*);
cusparseStatus_t cusparseSpVecGet(cusparseSpVecDescr_t, int64_t*, int64_t*, void**, void**, cusparseIndexType_t*,
    cusparseIndexBase_t*, cudaDataType*);
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t, cusparseIndexBase_t*);
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t, void**);
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t, void*);
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t, cusparseConstSpMatDescr_t, cusparseDnMatDescr_t,
    cusparseSparseToDenseAlg_t, void*);
cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t, cusparseConstSpMatDescr_t, cusparseDnMatDescr_t,
    cusparseSparseToDenseAlg_t, size_t*);
cusparseStatus_t cusparseSpruneCsr2csr(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, cusparseMatDescr_t, float*, const int*, int*, void*);
cusparseStatus_t cusparseSpruneCsr2csrByPercentage(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, float, cusparseMatDescr_t, float*, const int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseSpruneCsr2csrByPercentage_bufferSizeExt(cusparseHandle_t, int, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, float, cusparseMatDescr_t, const float*, const int*, const int*,
    pruneInfo_t, size_t*);
cusparseStatus_t cusparseSpruneCsr2csrNnz(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, const float*, cusparseMatDescr_t, int*, int*, void*);
cusparseStatus_t cusparseSpruneCsr2csrNnzByPercentage(cusparseHandle_t, int, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, float, cusparseMatDescr_t, int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseSpruneCsr2csr_bufferSizeExt(cusparseHandle_t, int, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, const float*, cusparseMatDescr_t, const float*, const int*, const int*,
    size_t*);
cusparseStatus_t cusparseSpruneDense2csr(cusparseHandle_t, int, int, const float*, int, const float*,
    cusparseMatDescr_t, float*, const int*, int*, void*);
cusparseStatus_t cusparseSpruneDense2csrByPercentage(cusparseHandle_t, int, int, const float*, int, float,
    cusparseMatDescr_t, float*, const int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseSpruneDense2csrByPercentage_bufferSizeExt(cusparseHandle_t, int, int, const float*, int,
    float, cusparseMatDescr_t, const float*, const int*, const int*, pruneInfo_t, size_t*);
cusparseStatus_t cusparseSpruneDense2csrNnz(cusparseHandle_t, int, int, const float*, int, const float*,
    cusparseMatDescr_t, int*, int*, void*);
cusparseStatus_t cusparseSpruneDense2csrNnzByPercentage(cusparseHandle_t, int, int, const float*, int, float,
    cusparseMatDescr_t, int*, int*, pruneInfo_t, void*);
cusparseStatus_t cusparseSpruneDense2csr_bufferSizeExt(cusparseHandle_t, int, int, const float*, int, const float*,
    cusparseMatDescr_t, const float*, const int*, const int*, size_t*);
cusparseStatus_t cusparseXbsric02_zeroPivot(cusparseHandle_t, bsric02Info_t, int*);
cusparseStatus_t cusparseXbsrilu02_zeroPivot(cusparseHandle_t, bsrilu02Info_t, int*);
cusparseStatus_t cusparseXbsrsm2_zeroPivot(cusparseHandle_t, bsrsm2Info_t, int*);
cusparseStatus_t cusparseXbsrsv2_zeroPivot(cusparseHandle_t, bsrsv2Info_t, int*);
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t, const int*, int, int, int*, cusparseIndexBase_t);
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t, int, int, int, int*, int*, int*, void*);
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t, int, int, int, int*, int*, int*, void*);
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t, int, int, int, const int*, const int*, size_t*);
cusparseStatus_t cusparseXcscsort(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const int*, int*, int*, void*);
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t, int, int, int, const int*, const int*, size_t*);
cusparseStatus_t cusparseXcsr2bsrNnz(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t, const int*,
    const int*, int, cusparseMatDescr_t, int*, int*);
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t, const int*, int, int, int*, cusparseIndexBase_t);
cusparseStatus_t cusparseXcsr2gebsrNnz(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const int*, const int*, cusparseMatDescr_t, int*, int, int, int*, void*);
cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t, int, int, cusparseMatDescr_t, int, const int*, const int*,
    cusparseMatDescr_t, int, const int*, const int*, cusparseMatDescr_t, int*, int*, void*);
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t, csric02Info_t, int*);
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t, csrilu02Info_t, int*);
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t, int, int, int, cusparseMatDescr_t, const int*, int*, int*, void*);
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t, int, int, int, const int*, const int*, size_t*);
cusparseStatus_t cusparseXgebsr2gebsrNnz(cusparseHandle_t, cusparseDirection_t, int, int, int, cusparseMatDescr_t,
    const int*, const int*, int, int, cusparseMatDescr_t, int*, int, int, int*, void*);
cusparseStatus_t cusparseZbsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, cusparseMatDescr_t, cuDoubleComplex*, int*, int*);
cusparseStatus_t cusparseZbsric02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuDoubleComplex*, const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsric02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, bsric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsric02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuDoubleComplex*, const int*, const int*, int, bsric02Info_t, int*);
cusparseStatus_t cusparseZbsrilu02(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuDoubleComplex*, const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsrilu02_analysis(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuDoubleComplex*, const int*, const int*, int, bsrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsrilu02_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    cuDoubleComplex*, const int*, const int*, int, bsrilu02Info_t, int*);
cusparseStatus_t cusparseZbsrilu02_numericBoost(cusparseHandle_t, bsrilu02Info_t, int, double*, cuDoubleComplex*);
cusparseStatus_t cusparseZbsrmm(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, cusparseOperation_t, int,
    int, int, int, const cuDoubleComplex*, cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, int,
    const cuDoubleComplex*, int, const cuDoubleComplex*, cuDoubleComplex*, int);
cusparseStatus_t cusparseZbsrmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int,
    const cuDoubleComplex*, cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, int,
    const cuDoubleComplex*, const cuDoubleComplex*, cuDoubleComplex*);
cusparseStatus_t cusparseZbsrsm2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, int,
    bsrsm2Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsrsm2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, cusparseMatDescr_t, cuDoubleComplex*, const int*, const int*, int,
    bsrsm2Info_t, int*);
cusparseStatus_t cusparseZbsrsm2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t,
    cusparseOperation_t, int, int, int, const cuDoubleComplex*, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, int, bsrsm2Info_t, const cuDoubleComplex*, int, cuDoubleComplex*, int,
    cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsrsv2_analysis(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, int, bsrsv2Info_t, cusparseSolvePolicy_t,
    void*);
cusparseStatus_t cusparseZbsrsv2_bufferSize(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    cusparseMatDescr_t, cuDoubleComplex*, const int*, const int*, int, bsrsv2Info_t, int*);
cusparseStatus_t cusparseZbsrsv2_solve(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int,
    const cuDoubleComplex*, cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, int, bsrsv2Info_t,
    const cuDoubleComplex*, cuDoubleComplex*, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZbsrxmv(cusparseHandle_t, cusparseDirection_t, cusparseOperation_t, int, int, int, int,
    const cuDoubleComplex*, cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, const int*,
    const int*, int, const cuDoubleComplex*, const cuDoubleComplex*, cuDoubleComplex*);
cusparseStatus_t cusparseZcsr2bsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, cusparseMatDescr_t, cuDoubleComplex*, int*, int*);
cusparseStatus_t cusparseZcsr2csr_compress(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, int, const int*, cuDoubleComplex*, int*, int*, cuDoubleComplex);
cusparseStatus_t cusparseZcsr2csru(cusparseHandle_t, int, int, int, cusparseMatDescr_t, cuDoubleComplex*, const int*,
    int*, csru2csrInfo_t, void*);
cusparseStatus_t cusparseZcsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, cusparseMatDescr_t, cuDoubleComplex*, int*, int*, int, int,
    void*);
cusparseStatus_t cusparseZcsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, int, int*);
cusparseStatus_t cusparseZcsrcolor(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*, const int*,
    const int*, const double*, int*, int*, int*, cusparseColorInfo_t);
cusparseStatus_t cusparseZcsrgeam2(cusparseHandle_t, int, int, const cuDoubleComplex*, cusparseMatDescr_t, int,
    const cuDoubleComplex*, const int*, const int*, const cuDoubleComplex*, cusparseMatDescr_t, int,
    const cuDoubleComplex*, const int*, const int*, cusparseMatDescr_t, cuDoubleComplex*, int*, int*, void*);
cusparseStatus_t cusparseZcsrgeam2_bufferSizeExt(cusparseHandle_t, int, int, const cuDoubleComplex*,
    cusparseMatDescr_t, int, const cuDoubleComplex*, const int*, const int*, const cuDoubleComplex*,
    cusparseMatDescr_t, int, const cuDoubleComplex*, const int*, const int*, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, size_t*);
cusparseStatus_t cusparseZcsric02(cusparseHandle_t, int, int, cusparseMatDescr_t, cuDoubleComplex*, const int*,
    const int*, csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZcsric02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, csric02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZcsric02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, cuDoubleComplex*,
    const int*, const int*, csric02Info_t, int*);
cusparseStatus_t cusparseZcsrilu02(cusparseHandle_t, int, int, cusparseMatDescr_t, cuDoubleComplex*, const int*,
    const int*, csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZcsrilu02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, csrilu02Info_t, cusparseSolvePolicy_t, void*);
cusparseStatus_t cusparseZcsrilu02_bufferSize(cusparseHandle_t, int, int, cusparseMatDescr_t, cuDoubleComplex*,
    const int*, const int*, csrilu02Info_t, int*);
cusparseStatus_t cusparseZcsrilu02_numericBoost(cusparseHandle_t, csrilu02Info_t, int, double*, cuDoubleComplex*);
cusparseStatus_t cusparseZcsru2csr(cusparseHandle_t, int, int, int, cusparseMatDescr_t, cuDoubleComplex*, const int*,
    int*, csru2csrInfo_t, void*);
cusparseStatus_t cusparseZcsru2csr_bufferSizeExt(cusparseHandle_t, int, int, int, cuDoubleComplex*, const int*, int*,
    csru2csrInfo_t, size_t*);
cusparseStatus_t cusparseZgebsr2csr(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, int, cusparseMatDescr_t, cuDoubleComplex*, int*, int*);
cusparseStatus_t cusparseZgebsr2gebsc(cusparseHandle_t, int, int, int, const cuDoubleComplex*, const int*, const int*,
    int, int, cuDoubleComplex*, int*, int*, cusparseAction_t, cusparseIndexBase_t, void*);
cusparseStatus_t cusparseZgebsr2gebsc_bufferSize(cusparseHandle_t, int, int, int, const cuDoubleComplex*, const int*,
    const int*, int, int, int*);
cusparseStatus_t cusparseZgebsr2gebsr(cusparseHandle_t, cusparseDirection_t, int, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, int, cusparseMatDescr_t, cuDoubleComplex*, int*, int*, int,
    int, void*);
cusparseStatus_t cusparseZgebsr2gebsr_bufferSize(cusparseHandle_t, cusparseDirection_t, int, int, int,
    cusparseMatDescr_t, const cuDoubleComplex*, const int*, const int*, int, int, int, int, int*);
cusparseStatus_t cusparseZgemvi(cusparseHandle_t, cusparseOperation_t, int, int, const cuDoubleComplex*,
    const cuDoubleComplex*, int, int, const cuDoubleComplex*, const int*, const cuDoubleComplex*, cuDoubleComplex*,
    cusparseIndexBase_t, void*);
cusparseStatus_t cusparseZgemvi_bufferSize(cusparseHandle_t, cusparseOperation_t, int, int, int, int*);
cusparseStatus_t cusparseZgpsvInterleavedBatch(cusparseHandle_t, int, int, cuDoubleComplex*, cuDoubleComplex*,
    cuDoubleComplex*, cuDoubleComplex*, cuDoubleComplex*, cuDoubleComplex*, int, void*);
cusparseStatus_t cusparseZgpsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const cuDoubleComplex*,
    const cuDoubleComplex*, const cuDoubleComplex*, const cuDoubleComplex*, const cuDoubleComplex*,
    const cuDoubleComplex*, int, size_t*);
cusparseStatus_t cusparseZgtsv2(cusparseHandle_t, int, int, const cuDoubleComplex*, const cuDoubleComplex*,
    const cuDoubleComplex*, cuDoubleComplex*, int, void*);
cusparseStatus_t cusparseZgtsv2StridedBatch(cusparseHandle_t, int, const cuDoubleComplex*, const cuDoubleComplex*,
    const cuDoubleComplex*, cuDoubleComplex*, int, int, void*);
cusparseStatus_t cusparseZgtsv2StridedBatch_bufferSizeExt(cusparseHandle_t, int, const cuDoubleComplex*,
    const cuDoubleComplex*, const cuDoubleComplex*, const cuDoubleComplex*, int, int, size_t*);
cusparseStatus_t cusparseZgtsv2_bufferSizeExt(cusparseHandle_t, int, int, const cuDoubleComplex*,
    const cuDoubleComplex*, const cuDoubleComplex*, const cuDoubleComplex*, int, size_t*);
cusparseStatus_t cusparseZgtsv2_nopivot(cusparseHandle_t, int, int, const cuDoubleComplex*, const cuDoubleComplex*,
    const cuDoubleComplex*, cuDoubleComplex*, int, void*);
cusparseStatus_t cusparseZgtsv2_nopivot_bufferSizeExt(cusparseHandle_t, int, int, const cuDoubleComplex*,
    const cuDoubleComplex*, const cuDoubleComplex*, const cuDoubleComplex*, int, size_t*);
cusparseStatus_t cusparseZgtsvInterleavedBatch(cusparseHandle_t, int, int, cuDoubleComplex*, cuDoubleComplex*,
    cuDoubleComplex*, cuDoubleComplex*, int, void*);
cusparseStatus_t cusparseZgtsvInterleavedBatch_bufferSizeExt(cusparseHandle_t, int, int, const cuDoubleComplex*,
    const cuDoubleComplex*, const cuDoubleComplex*, const cuDoubleComplex*, int, size_t*);
cusparseStatus_t cusparseZnnz(cusparseHandle_t, cusparseDirection_t, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, int, int*, int*);
cusparseStatus_t cusparseZnnz_compress(cusparseHandle_t, int, cusparseMatDescr_t, const cuDoubleComplex*, const int*,
    int*, int*, cuDoubleComplex);
}

#endif
