#include <variant>
#include <span>
#include <bit>
#include <string>
#include <vector>
using namespace std;
template<class T> __global__ void kk(T*p){ }
using V=variant<int,float,string>;
static_assert(sizeof(variant<int,float>)==8 && sizeof(V)==40 && is_trivially_copyable_v<variant<int,float>>);
constexpr variant<int,float> cv{2.f}; static_assert(cv.index()==1 && get<float>(cv)==2.f && get_if<int>(&cv)==nullptr && holds_alternative<float>(cv));
static_assert(visit([](auto x){return (int)sizeof(x);},variant<char,int>(3))==4);
void f(){ V v = 1; v = 2.f; v = "abc"; v=string("x"); V w(v); w=v; visit([](auto&& x){ using T=decay_t<decltype(x)>; kk<<<1,1>>>((T*)nullptr); }, v); variant<monostate,vector<int>> m; m = vector<int>{1}; if (auto p=get_if<1>(&m)) p->size(); v.emplace<0>(3); bool b = v==w; (void)b; auto r = visit([](auto& a, auto& c)->double{ return 1; }, v, w); static_assert(is_same_v<decltype(r),double>); struct Vis{ int operator()(int){return 1;} int operator()(float){return 2;} int operator()(const string&){return 3;} }; visit(Vis{}, v);
#if __cplusplus>=202002L
 vector<float> vf; span<float> s(vf); span<const float> sc = vf; int arr[3]; span sa(arr); static_assert(is_same_v<decltype(sa),span<int,3>>); for(auto x: s) (void)x; span sv(vf); static_assert(is_same_v<decltype(sv),span<float>>); s.subspan(1).size(); static_assert(popcount(7u)==3 && bit_width(8u)==4 && countl_zero((unsigned char)1)==7 && countr_zero(8u)==3 && rotl(0x80000001u,1)==3 && bit_ceil(5u)==8 && bit_floor(5u)==4 && countr_zero(0u)==32 && countl_zero(0ull)==64 && rotr(3u,1)==0x80000001u);
#endif
}
__global__ void k(int*o){ variant<int,float> v=o[0]; if(o[1]) v=2.5f; o[2]=visit([](auto x){return (int)(x*2);},v);
#if __cplusplus>=202002L
 o[3]=popcount((unsigned)o[4])+bit_cast<int>(1.f); span<int,4> s(o,4); o[5]=s[1];
#endif
}
