#pragma once
#define CUDA_WHEEL_NO_CUSOLVER
typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef int cusolverStatus_t;
