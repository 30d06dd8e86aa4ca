#include <cstdint>
#include <cinttypes>
#include <cstddef>
#include <climits>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cassert>
#include <ctime>
#include <cstdarg>
template<class A,class B> struct same{static const bool v=false;}; template<class A> struct same<A,A>{static const bool v=true;};
#define IS(e,...) static_assert(same<decltype(e),__VA_ARGS__>::v, #e " is not " #__VA_ARGS__)
static_assert(sizeof(std::int8_t)==1&&sizeof(std::uint16_t)==2&&sizeof(int32_t)==4&&sizeof(uint64_t)==8&&sizeof(intptr_t)==sizeof(void*),"");
static_assert(int64_t(-1)<0 && uint8_t(-1)>0 && INT8_MIN==-128 && UINT32_MAX==0xffffffffu && INT64_MAX==0x7fffffffffffffff && UINT64_MAX==~0ull && SIZE_MAX==~size_t(0),"");
IS(INT64_C(1),long); IS(UINT64_C(1),unsigned long); IS(INT64_MAX,long); IS(ULLONG_MAX,unsigned long long); IS(LONG_MAX,long); IS(ULONG_MAX, unsigned long); IS(UINT_MAX,unsigned); IS(INT_MIN,int);
#if INT64_C(5) != 5 || UINT64_MAX < 1 || INT_MAX != 2147483647 || LONG_MAX < INT_MAX || SIZE_MAX != UINT64_MAX
#error
#endif
static_assert(LONG_MAX==(long)(~0ul>>1)&&LONG_MIN==-LONG_MAX-1&&LLONG_MIN<0&&SHRT_MIN==(short)0x8000&&USHRT_MAX==65535&&CHAR_BIT==8&&CHAR_MIN==-128&&INT_MIN<0&&(int)(INT_MIN+INT_MAX)==-1,"");
static_assert(FLT_MAX>3.4e38f&&FLT_MIN>0&&FLT_TRUE_MIN>0&&FLT_TRUE_MIN<FLT_MIN&&1+FLT_EPSILON!=1&&1+FLT_EPSILON/2==1&&1.0+DBL_EPSILON!=1&&1.0+DBL_EPSILON/2==1&&DBL_MAX>1.79e308&&DBL_TRUE_MIN>0&&DBL_MIN/2/2>0&&LDBL_MAX>1e308,"");
static_assert(__builtin_bit_cast(unsigned,FLT_MAX)==0x7f7fffff&&__builtin_bit_cast(unsigned,FLT_MIN)==0x00800000&&__builtin_bit_cast(unsigned,FLT_TRUE_MIN)==1&&__builtin_bit_cast(unsigned,FLT_EPSILON)==0x34000000,"");
static_assert(__builtin_bit_cast(unsigned long long,DBL_MAX)==0x7fefffffffffffffull&&__builtin_bit_cast(unsigned long long,DBL_MIN)==0x0010000000000000ull&&__builtin_bit_cast(unsigned long long,DBL_TRUE_MIN)==1&&__builtin_bit_cast(unsigned long long,DBL_EPSILON)==0x3cb0000000000000ull,"");
struct S{int a; double b; char c[8]; struct {short x,y;} d;};
static_assert(offsetof(S,b)==8&&offsetof(S,c)==16&&offsetof(S,c[3])==19&&offsetof(S,d.y)==26,""); IS(offsetof(S,b),size_t);
template<class T> struct O{T t; int u;}; template<class T> __host__ __device__ constexpr size_t off(){return offsetof(O<T>,u);} static_assert(off<double>()==8,"");
static_assert(alignof(std::max_align_t)==16,""); static_assert(same<std::nullptr_t,decltype(nullptr)>::v,""); 
static_assert(std::to_integer<int>((std::byte{3}<<2)|std::byte{1})==13,"");
static_assert(M_PI>3.14159265358&&M_PI<3.1415926536,""); IS(INFINITY,float); IS(NAN,float); IS(HUGE_VAL,double);
static_assert(INFINITY>FLT_MAX && NAN!=NAN && HUGE_VAL>DBL_MAX && (float)HUGE_VAL==INFINITY,"");
__constant__ float table[2]={INFINITY,-INFINITY}; constexpr float ninf=-INFINITY;
__host__ __device__ float host_like(float x){ return x*M_PI+INFINITY; }
__host__ __device__ double unmarked(int i){ return sqrt(i)+std::pow(2,i)+std::abs(-1.5)+fmax(1.0f,2.0)+isnan(i); }
__device__ int rank=3, when=1, integer=2, mixed=3, math=5;
__device__ int uses(){ return rank+when+integer+mixed+math; }
__global__ void k(float* x,double* d,int i,short s,unsigned u,long l,long long ll,char*p){
 float f=x[0]; double e=d[0];
 IS(std::sqrt(f),float); IS(std::sqrt(e),double); IS(std::sqrt(i),double); IS(sqrt(u),double); IS(std::abs(f),float); IS(std::abs(e),double); IS(std::abs(i),int); IS(std::abs(l),long); IS(std::abs(ll),long long); IS(std::abs(s),int);
 IS(std::pow(f,f),float); IS(std::pow(f,e),double); IS(std::pow(i,i),double); IS(std::pow(f,2),double); IS(std::pow(e,2),double); IS(pow(f,s),double); IS(pow(f,u),double);IS(pow(i,f),double);IS(pow(2,e),double);
 IS(std::fmax(f,e),double); IS(fmin(i,i),double); IS(atan2(i,f),double); IS(fmod(f,2.0),double); IS(std::hypot(f,f),float); IS(std::fma(f,f,f),float); IS(std::copysign(f,e),double);
 IS(std::floor(i),double); IS(std::lround(i),long); IS(std::isnan(i),bool); IS(std::isfinite(ll),bool); IS(std::max_align_t(),std::max_align_t);
 IS(std::fpclassify(f),int); IS(std::isnormal(e),bool); IS(isgreater(f,e),bool); IS(std::isunordered(f,1),bool); IS(std::sinf(f),float); IS(std::lgamma(f),float); IS(std::log2(i),double); IS(std::exp(f),float); IS(std::round(f),float); IS(std::ilogb(i),int); IS(std::ldexp(f,i),float); IS(std::frexp(e,&i),double);
 IS(std::clock(),std::clock_t); IS(sizeof 1,std::size_t); IS(std::printf("x"),int); float_t ft=1; std::double_t dt=1;
 assert(f>0 && "positive"); assert((same<int,int>::v)); assert(same<int,float>::v||true);
 printf("%" PRId64 " %" PRIu32 " %" PRIx64 "\n", int64_t(1), uint32_t(2), uint64_t(3)); std::printf("%f %s\n", f, "hi");
 std::memcpy(p,x,16); memset(p,0,4); std::memset(p+4,1,8); void*q=malloc(8); std::free(q); 
 d[1]=std::sqrt(i)+std::pow(f,e)+fmax(f,e)+ft+dt+std::abs(i)+(std::isnormal(f)?1:0)+std::fpclassify(e)+isless(f,e)+EXIT_FAILURE+ninf+table[i&1]+floor(i)+(double)clock();
 if(f==INFINITY||isnan(f)||std::isinf(e)||std::signbit(f)) d[2]=NAN; d[3]=std::cos(M_PI*i); static_assert(EXIT_SUCCESS==0,"");
}
#undef NDEBUG
#define NDEBUG
#include <cassert>
__global__ void k2(int*x){ assert(undeclared==3); x[0]=1; }
#undef NDEBUG
#include <assert.h>
__global__ void k3(int*x){ assert(x[0]==3); }
__device__ int vsum(int n,...){ va_list a; va_start(a,n); int s=0; while(n--) s+=va_arg(a,int); va_end(a); return s; }
__global__ void k4(int*x){ x[0]=vsum(2,x[1],x[2]); }
