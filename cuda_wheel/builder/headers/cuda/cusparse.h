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
cusparseStatus_t cusparseCreate(cusparseHandle_t*);
cusparseStatus_t cusparseCreateBsric02Info(bsric02Info_t*);
cusparseStatus_t cusparseCreateBsrilu02Info(bsrilu02Info_t*);
cusparseStatus_t cusparseCreateBsrsm2Info(bsrsm2Info_t*);
cusparseStatus_t cusparseCreateBsrsv2Info(bsrsv2Info_t*);
cusparseStatus_t cusparseCreateColorInfo(cusparseColorInfo_t*);
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t*);
cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t*);
cusparseStatus_t cusparseCreateCsru2csrInfo(csru2csrInfo_t*);
cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t*);
cusparseStatus_t cusparseCreatePruneInfo(pruneInfo_t*);
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
const char* cusparseGetErrorName(cusparseStatus_t);
const char* cusparseGetErrorString(cusparseStatus_t);
cusparseDiagType_t cusparseGetMatDiagType(cusparseMatDescr_t);
cusparseFillMode_t cusparseGetMatFillMode(cusparseMatDescr_t);
cusparseIndexBase_t cusparseGetMatIndexBase(cusparseMatDescr_t);
cusparseMatrixType_t cusparseGetMatType(cusparseMatDescr_t);
cusparseStatus_t cusparseLoggerForceDisable();
cusparseStatus_t cusparseLoggerOpenFile(const char*);
cusparseStatus_t cusparseLoggerSetCallback(cusparseLoggerCallback_t);
cusparseStatus_t cusparseLoggerSetLevel(int);
cusparseStatus_t cusparseLoggerSetMask(int);
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t*);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t);
cusparseStatus_t cusparseSpMMOp_destroyPlan(cusparseSpMMOpPlan_t);
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t*);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t);
cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t*);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t);
}
#include <cuda_wheel_detail/functions/cusparse.h>

#endif
