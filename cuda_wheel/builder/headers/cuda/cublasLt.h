// <cublasLt.h>: cuBLASLt's types and functions. Host code alone can call them.
#ifndef CUBLASLT_H_
#define CUBLASLT_H_

#include <cublas_api.h>

typedef struct { uint64_t data[8]; } cublasLtMatrixLayoutOpaque_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
typedef struct { uint64_t data[32]; } cublasLtMatmulDescOpaque_t;
typedef struct { uint64_t data[8]; } cublasLtMatrixTransformDescOpaque_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulPreferenceOpaque_t;
typedef struct { uint64_t data[8]; } cublasLtEmulationDescOpaque_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;
typedef uint64_t cublasLtNumericalImplFlags_t;

typedef enum { CUBLASLT_BATCH_MODE_STRIDED, CUBLASLT_BATCH_MODE_POINTER_ARRAY } cublasLtBatchMode_t;
typedef enum { CUBLASLT_CLUSTER_SHAPE_AUTO, CUBLASLT_CLUSTER_SHAPE_1x1x1 = 2, CUBLASLT_CLUSTER_SHAPE_2x1x1,
  CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1, CUBLASLT_CLUSTER_SHAPE_2x2x1,
  CUBLASLT_CLUSTER_SHAPE_4x2x1, CUBLASLT_CLUSTER_SHAPE_1x4x1, CUBLASLT_CLUSTER_SHAPE_2x4x1,
  CUBLASLT_CLUSTER_SHAPE_4x4x1, CUBLASLT_CLUSTER_SHAPE_8x1x1, CUBLASLT_CLUSTER_SHAPE_1x8x1,
  CUBLASLT_CLUSTER_SHAPE_8x2x1, CUBLASLT_CLUSTER_SHAPE_2x8x1, CUBLASLT_CLUSTER_SHAPE_16x1x1,
  CUBLASLT_CLUSTER_SHAPE_1x16x1, CUBLASLT_CLUSTER_SHAPE_3x1x1, CUBLASLT_CLUSTER_SHAPE_5x1x1,
  CUBLASLT_CLUSTER_SHAPE_6x1x1, CUBLASLT_CLUSTER_SHAPE_7x1x1, CUBLASLT_CLUSTER_SHAPE_9x1x1,
  CUBLASLT_CLUSTER_SHAPE_10x1x1, CUBLASLT_CLUSTER_SHAPE_11x1x1, CUBLASLT_CLUSTER_SHAPE_12x1x1,
  CUBLASLT_CLUSTER_SHAPE_13x1x1, CUBLASLT_CLUSTER_SHAPE_14x1x1, CUBLASLT_CLUSTER_SHAPE_15x1x1,
  CUBLASLT_CLUSTER_SHAPE_3x2x1, CUBLASLT_CLUSTER_SHAPE_5x2x1, CUBLASLT_CLUSTER_SHAPE_6x2x1,
  CUBLASLT_CLUSTER_SHAPE_7x2x1, CUBLASLT_CLUSTER_SHAPE_1x3x1, CUBLASLT_CLUSTER_SHAPE_2x3x1,
  CUBLASLT_CLUSTER_SHAPE_3x3x1, CUBLASLT_CLUSTER_SHAPE_4x3x1, CUBLASLT_CLUSTER_SHAPE_5x3x1,
  CUBLASLT_CLUSTER_SHAPE_3x4x1, CUBLASLT_CLUSTER_SHAPE_1x5x1, CUBLASLT_CLUSTER_SHAPE_2x5x1,
  CUBLASLT_CLUSTER_SHAPE_3x5x1, CUBLASLT_CLUSTER_SHAPE_1x6x1, CUBLASLT_CLUSTER_SHAPE_2x6x1,
  CUBLASLT_CLUSTER_SHAPE_1x7x1, CUBLASLT_CLUSTER_SHAPE_2x7x1, CUBLASLT_CLUSTER_SHAPE_1x9x1,
  CUBLASLT_CLUSTER_SHAPE_1x10x1, CUBLASLT_CLUSTER_SHAPE_1x11x1, CUBLASLT_CLUSTER_SHAPE_1x12x1,
  CUBLASLT_CLUSTER_SHAPE_1x13x1, CUBLASLT_CLUSTER_SHAPE_1x14x1, CUBLASLT_CLUSTER_SHAPE_1x15x1,
  CUBLASLT_CLUSTER_SHAPE_END } cublasLtClusterShape_t;
typedef enum { CUBLASLT_EMULATION_DESC_STRATEGY, CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT,
  CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_CONTROL, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MAX_MANTISSA_BIT_COUNT,
  CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET,
  CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER } cublasLtEmulationDescAttributes_t;
typedef enum { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_AUX = 130,
  CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_RELU_BIAS = 6, CUBLASLT_EPILOGUE_RELU_AUX_BIAS = 134,
  CUBLASLT_EPILOGUE_DRELU = 136, CUBLASLT_EPILOGUE_DRELU_BGRAD = 152, CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_AUX = 160, CUBLASLT_EPILOGUE_GELU_BIAS = 36, CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
  CUBLASLT_EPILOGUE_DGELU = 192, CUBLASLT_EPILOGUE_DGELU_BGRAD = 208, CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512 } cublasLtEpilogue_t;
typedef enum { CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK,
  CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT,
  CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, CUBLASLT_ALGO_CAP_UPLO_SUPPORT, CUBLASLT_ALGO_CAP_TILE_IDS,
  CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER = 10,
  CUBLASLT_ALGO_CAP_POINTER_MODE_MASK, CUBLASLT_ALGO_CAP_EPILOGUE_MASK, CUBLASLT_ALGO_CAP_STAGES_IDS,
  CUBLASLT_ALGO_CAP_LD_NEGATIVE, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES,
  CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, CUBLASLT_ALGO_CAP_ATOMIC_SYNC,
  CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT, CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT
  } cublasLtMatmulAlgoCapAttributes_t;
typedef enum { CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
  CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
  CUBLASLT_ALGO_CONFIG_STAGES_ID, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID
  } cublasLtMatmulAlgoConfigAttributes_t;
typedef enum { CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUBLASLT_MATMUL_DESC_POINTER_MODE,
  CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSC,
  CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
  CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
  CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET,
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_NUM_CHUNKS_D_ROWS,
  CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_NUM_CHUNKS_D_COLS, CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_IN_COUNTERS_POINTER,
  CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_OUT_COUNTERS_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
  CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_DESC_C_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_SCALE_MODE,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR } cublasLtMatmulDescAttributes_t;
typedef enum { CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED, CUBLASLT_MATMUL_INNER_SHAPE_MMA884,
  CUBLASLT_MATMUL_INNER_SHAPE_MMA1684, CUBLASLT_MATMUL_INNER_SHAPE_MMA1688, CUBLASLT_MATMUL_INNER_SHAPE_MMA16816,
  CUBLASLT_MATMUL_INNER_SHAPE_END } cublasLtMatmulInnerShape_t;
typedef enum { CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
  CUBLASLT_MATMUL_MATRIX_SCALE_END } cublasLtMatmulMatrixScale_t;
typedef enum { CUBLASLT_MATMUL_PREF_SEARCH_MODE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT,
  CUBLASLT_MATMUL_PREF_IMPL_MASK = 12 } cublasLtMatmulPreferenceAttributes_t;
typedef enum { CUBLASLT_SEARCH_BEST_FIT, CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID, CUBLASLT_SEARCH_RESERVED_02,
  CUBLASLT_SEARCH_RESERVED_03, CUBLASLT_SEARCH_RESERVED_04, CUBLASLT_SEARCH_RESERVED_05, CUBLASLT_SEARCH_RESERVED_06,
  CUBLASLT_SEARCH_RESERVED_07, CUBLASLT_SEARCH_RESERVED_08, CUBLASLT_SEARCH_RESERVED_09 } cublasLtMatmulSearch_t;
typedef enum { CUBLASLT_MATMUL_STAGES_UNDEFINED, CUBLASLT_MATMUL_STAGES_16x1, CUBLASLT_MATMUL_STAGES_16x2,
  CUBLASLT_MATMUL_STAGES_16x3, CUBLASLT_MATMUL_STAGES_16x4, CUBLASLT_MATMUL_STAGES_16x5, CUBLASLT_MATMUL_STAGES_16x6,
  CUBLASLT_MATMUL_STAGES_32x1, CUBLASLT_MATMUL_STAGES_32x2, CUBLASLT_MATMUL_STAGES_32x3, CUBLASLT_MATMUL_STAGES_32x4,
  CUBLASLT_MATMUL_STAGES_32x5, CUBLASLT_MATMUL_STAGES_32x6, CUBLASLT_MATMUL_STAGES_64x1, CUBLASLT_MATMUL_STAGES_64x2,
  CUBLASLT_MATMUL_STAGES_64x3, CUBLASLT_MATMUL_STAGES_64x4, CUBLASLT_MATMUL_STAGES_64x5, CUBLASLT_MATMUL_STAGES_64x6,
  CUBLASLT_MATMUL_STAGES_128x1, CUBLASLT_MATMUL_STAGES_128x2, CUBLASLT_MATMUL_STAGES_128x3,
  CUBLASLT_MATMUL_STAGES_128x4, CUBLASLT_MATMUL_STAGES_128x5, CUBLASLT_MATMUL_STAGES_128x6,
  CUBLASLT_MATMUL_STAGES_32x10, CUBLASLT_MATMUL_STAGES_8x4, CUBLASLT_MATMUL_STAGES_16x10, CUBLASLT_MATMUL_STAGES_8x5,
  CUBLASLT_MATMUL_STAGES_8x3 = 31, CUBLASLT_MATMUL_STAGES_8xAUTO, CUBLASLT_MATMUL_STAGES_16xAUTO,
  CUBLASLT_MATMUL_STAGES_32xAUTO, CUBLASLT_MATMUL_STAGES_64xAUTO, CUBLASLT_MATMUL_STAGES_128xAUTO,
  CUBLASLT_MATMUL_STAGES_256xAUTO, CUBLASLT_MATMUL_STAGES_END, CUBLASLT_MATMUL_STAGES_768xAUTO = 38
  } cublasLtMatmulStages_t;
typedef enum { CUBLASLT_MATMUL_TILE_UNDEFINED, CUBLASLT_MATMUL_TILE_8x8, CUBLASLT_MATMUL_TILE_8x16,
  CUBLASLT_MATMUL_TILE_16x8, CUBLASLT_MATMUL_TILE_8x32, CUBLASLT_MATMUL_TILE_16x16, CUBLASLT_MATMUL_TILE_32x8,
  CUBLASLT_MATMUL_TILE_8x64, CUBLASLT_MATMUL_TILE_16x32, CUBLASLT_MATMUL_TILE_32x16, CUBLASLT_MATMUL_TILE_64x8,
  CUBLASLT_MATMUL_TILE_32x32, CUBLASLT_MATMUL_TILE_32x64, CUBLASLT_MATMUL_TILE_64x32, CUBLASLT_MATMUL_TILE_32x128,
  CUBLASLT_MATMUL_TILE_64x64, CUBLASLT_MATMUL_TILE_128x32, CUBLASLT_MATMUL_TILE_64x128, CUBLASLT_MATMUL_TILE_128x64,
  CUBLASLT_MATMUL_TILE_64x256, CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_MATMUL_TILE_256x64, CUBLASLT_MATMUL_TILE_64x512,
  CUBLASLT_MATMUL_TILE_128x256, CUBLASLT_MATMUL_TILE_256x128, CUBLASLT_MATMUL_TILE_512x64, CUBLASLT_MATMUL_TILE_64x96,
  CUBLASLT_MATMUL_TILE_96x64, CUBLASLT_MATMUL_TILE_96x128, CUBLASLT_MATMUL_TILE_128x160, CUBLASLT_MATMUL_TILE_160x128,
  CUBLASLT_MATMUL_TILE_192x128, CUBLASLT_MATMUL_TILE_128x192, CUBLASLT_MATMUL_TILE_128x96,
  CUBLASLT_MATMUL_TILE_32x256, CUBLASLT_MATMUL_TILE_256x32 } cublasLtMatmulTile_t;
typedef enum { CUBLASLT_MATRIX_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_MATRIX_LAYOUT_ROWS,
  CUBLASLT_MATRIX_LAYOUT_COLS, CUBLASLT_MATRIX_LAYOUT_LD, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE
  } cublasLtMatrixLayoutAttribute_t;
typedef enum { CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE,
  CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB
  } cublasLtMatrixTransformDescAttributes_t;
typedef enum { CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_COL32, CUBLASLT_ORDER_COL4_4R2_8C,
  CUBLASLT_ORDER_COL32_2R_4R4 } cublasLtOrder_t;
typedef enum { CUBLASLT_POINTER_MODE_MASK_HOST = 1, CUBLASLT_POINTER_MODE_MASK_DEVICE,
  CUBLASLT_POINTER_MODE_MASK_DEVICE_VECTOR = 4, CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_ZERO = 8,
  CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_HOST = 16 } cublasLtPointerModeMask_t;
typedef enum { CUBLASLT_POINTER_MODE_HOST, CUBLASLT_POINTER_MODE_DEVICE, CUBLASLT_POINTER_MODE_DEVICE_VECTOR,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST
  } cublasLtPointerMode_t;
typedef enum { CUBLASLT_REDUCTION_SCHEME_NONE, CUBLASLT_REDUCTION_SCHEME_INPLACE,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
  CUBLASLT_REDUCTION_SCHEME_MASK = 7 } cublasLtReductionScheme_t;
typedef cublasLtEmulationDescOpaque_t* cublasLtEmulationDesc_t;
typedef struct cublasLtContext* cublasLtHandle_t;
typedef void (*cublasLtLoggerCallback_t)(int, const char*, const char*);
typedef cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;
typedef cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;
typedef cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;
typedef cublasLtMatrixTransformDescOpaque_t* cublasLtMatrixTransformDesc_t;

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t*);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t);
cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t*);
cublasStatus_t cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t);
cublasStatus_t cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t, void*,
    size_t, size_t*);
cublasStatus_t cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t,
    const void*, size_t);
size_t cublasLtGetCudartVersion();
cublasStatus_t cublasLtGetProperty(libraryPropertyType, int*);
const char* cublasLtGetStatusName(cublasStatus_t);
const char* cublasLtGetStatusString(cublasStatus_t);
size_t cublasLtGetVersion();
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t*);
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t);
cublasStatus_t cublasLtLoggerForceDisable();
cublasStatus_t cublasLtLoggerOpenFile(const char*);
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t);
cublasStatus_t cublasLtLoggerSetLevel(int);
cublasStatus_t cublasLtLoggerSetMask(int);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
    cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t,
    void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t);
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoCapAttributes_t,
    void*, size_t, size_t*);
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*,
    cublasLtMatmulHeuristicResult_t*);
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t,
    void*, size_t, size_t*);
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t,
    const void*, size_t);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t*, int*);
cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
    cudaDataType_t, cudaDataType_t, cudaDataType_t, int, int*, int*);
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
    cudaDataType_t, cudaDataType_t, cudaDataType_t, int, cublasLtMatmulAlgo_t*);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t);
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, void*, size_t,
    size_t*);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*,
    size_t);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t*);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t);
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
    void*, size_t, size_t*);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
    const void*, size_t);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t*, cudaDataType, uint64_t, uint64_t, int64_t);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t);
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, void*,
    size_t, size_t*);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*,
    size_t);
cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t, cublasLtMatrixTransformDesc_t, const void*, const void*,
    cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t,
    cudaStream_t);
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t*, cudaDataType);
cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t);
cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t,
    cublasLtMatrixTransformDescAttributes_t, void*, size_t, size_t*);
cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t,
    cublasLtMatrixTransformDescAttributes_t, const void*, size_t);
cublasStatus_t cublasLtEmulationDescInit(cublasLtEmulationDesc_t);
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t, cublasComputeType_t, cudaDataType_t);
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t);
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t, cudaDataType, uint64_t, uint64_t, int64_t);
cublasStatus_t cublasLtMatrixTransformDescInit(cublasLtMatrixTransformDesc_t, cudaDataType);
}

#endif
