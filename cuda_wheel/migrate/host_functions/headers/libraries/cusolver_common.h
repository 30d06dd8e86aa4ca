#pragma once
typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef int cusolverStatus_t;
