// kernels: cast<float, int>; cast<double, int>; cast<float, long long>; cast<double, long long>; negate_float; negate_double
// Nested macros that dispatch on types known at run time only, and kernels that macros define.
#include <cstdio>
#include <stdexcept>

enum class Type { f32, f64, i32, i64 };

#define DISPATCH_CASE(type, name, NAME, ...) \
    case type: {                             \
        using NAME = name;                   \
        __VA_ARGS__;                         \
        break;                               \
    }
#define DISPATCH_FLOATING(type, NAME, ...)                      \
    switch (type) {                                             \
        DISPATCH_CASE(Type::f32, float, NAME, __VA_ARGS__)      \
        DISPATCH_CASE(Type::f64, double, NAME, __VA_ARGS__)     \
    default: throw std::invalid_argument("no floating type");   \
    }
#define DISPATCH_INTEGRAL(type, NAME, ...)                      \
    switch (type) {                                             \
        DISPATCH_CASE(Type::i32, int, NAME, __VA_ARGS__)        \
        DISPATCH_CASE(Type::i64, long long, NAME, __VA_ARGS__)  \
    default: throw std::invalid_argument("no integral type");   \
    }

template <typename To, typename From> __global__ void cast(To* to, const From* from)
{
    to[threadIdx.x] = static_cast<To>(from[threadIdx.x]);
}

void cast_any(void* to, Type to_type, const void* from, Type from_type)
{
    DISPATCH_FLOATING(to_type, to_t, [&] {
        DISPATCH_INTEGRAL(from_type, from_t, [&] {
            cast<to_t, from_t><<<1, 32>>>(static_cast<to_t*>(to), static_cast<const from_t*>(from));
        }());
    }());
}

#define NEGATE(type) \
    extern "C" __global__ void negate_##type(type* x) { x[threadIdx.x] = -x[threadIdx.x]; }
NEGATE(float)
NEGATE(double)

#define LAUNCH_NEGATE(type) \
    void launch_negate(type* x) { negate_##type<<<1, 32>>>(x); }
LAUNCH_NEGATE(float)
LAUNCH_NEGATE(double)
