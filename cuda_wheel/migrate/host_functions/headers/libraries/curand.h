#pragma once
typedef struct curandGenerator_st* curandGenerator_t;
