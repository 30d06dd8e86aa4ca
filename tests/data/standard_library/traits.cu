#include <type_traits>
using namespace std;
struct A{int f(int); int g(); int m; void operator()(int) noexcept;}; struct B:A{};
static_assert(is_same_v<common_type_t<int,float,double>,double>);
static_assert(is_same_v<invoke_result_t<int(A::*)(int),A&,int>,int>);
static_assert(is_same_v<invoke_result_t<int(A::*)(),A*>,int>);
static_assert(is_same_v<invoke_result_t<int A::*,B&>,int&>);
static_assert(is_invocable_v<A,int> && !is_invocable_v<A,A>);
static_assert(is_nothrow_invocable_v<A,int>);
static_assert(is_same_v<make_unsigned_t<const char>,const unsigned char>);
static_assert(is_same_v<make_signed_t<unsigned long>,long>);
static_assert(is_convertible_v<B*,A*> && is_swappable_v<A>);
static_assert(is_same_v<decay_t<int(&)[3]>,int*>);
static_assert(is_same_v<decay_t<int(int)>,int(*)(int)>);
static_assert(extent_v<int[3][4],1> ==4 && rank_v<int[3][4]> ==2);
static_assert(is_same_v<add_pointer_t<int&>,int*> && is_same_v<add_lvalue_reference_t<void>,void>);
static_assert(is_unsigned_v<unsigned> && is_signed_v<double> && !is_signed_v<A>);
static_assert(is_member_function_pointer_v<int(A::*)()> && is_member_object_pointer_v<int A::*>);
static_assert(sizeof(aligned_storage_t<24>)==32 && alignof(aligned_storage_t<24,8>)==8);
#if __cplusplus>=202002L
static_assert(is_same_v<common_reference_t<int&,const int&>,const int&>);
static_assert(is_same_v<common_reference_t<int&,int&&>,const int&>);
#endif
struct H{}; namespace std { template<> struct is_floating_point<H>:true_type{}; template<> struct common_type<H,int>{typedef H type;}; }
static_assert(is_floating_point_v<H> && is_same_v<common_type_t<H&,int>,H>);
__global__ void k(){}
