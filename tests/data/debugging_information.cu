
namespace ns { enum class Mode : short { A, B }; struct Base { int tag; };
template <class T, int N> struct Params : Base {
    T a[N]; const float* __restrict__ p; Mode m; bool flag; static int counter; int& r; char c; unsigned long long n;
    union { int i; float f; }; struct { double q[2][3]; } inner;
}; }
struct Tail { double d; char c; };
struct Tail2 : Tail { char c2; };
enum Neg { M = -1, N = 2 };
enum class U8 : unsigned char { A = 200 };
enum Big { BB = 0xFFFFFFFF };
struct E { Neg n; U8 u; Big b; };
struct alignas(32) Al { int a; };
class Priv { int x; public: int y; protected: float z; static const int q = 3; };
struct A1 { struct { int a; union { int b; float c; }; }; int d; };
typedef struct { float x, y; } Anon;
struct V { virtual __device__ void f() {} int a; };
struct Bits { int a : 3; int b : 5; };
struct LastBit { int a; unsigned b : 31; };
struct Dup1 { int a; };
struct Dup2 : Dup1 { int a; };
struct Empty {};
struct W { __int128 i; };
struct NU { [[no_unique_address]] Empty e; int a; };
struct Deep { int m[2][3]; Tail t[2]; const Tail* const volatile p; unsigned char u; int (*g)(int); Empty none; };
union Either { int i; float f[2]; };
struct HasVirtual : virtual Tail { int z; };
struct Long { char a[200]; short s; signed char b; };
typedef float real;
template <class T> __global__ void k(ns::Params<T, 3> params, Tail2 tail, E e, Al al, int n) {}
template __global__ void k<float>(ns::Params<float, 3>, Tail2, E, Al, int);
__global__ void more(Priv priv, A1 a1, const Anon anon, const __grid_constant__ Tail tail, Tail (&r)[2], Long l) {}
__global__ void absent(V v, Bits bits, Dup2 dup, Empty, W wide, NU nu, LastBit last, HasVirtual h) {}
extern "C" __global__ void c(float x, const real* __restrict__ y, E e, real *const * pp, Tail* t, Neg neg, void* v,
    const volatile float* const cv, Either either, Deep deep, const Tail* const* q, unsigned char b, const void* w) {}
