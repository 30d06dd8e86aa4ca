#include <tuple>
#include <utility>
using namespace std;
static_assert(is_same_v<decltype(make_tuple(1,2.f,"a")),tuple<int,float,const char*>>);
constexpr tuple<int,double> t{1,2.5};
static_assert(get<0>(t)==1 && get<double>(t)==2.5);
static_assert(sizeof(tuple<char,int,char>)==12);
static_assert(is_same_v<decltype(tuple_cat(make_tuple(1),make_pair(2,'c'),tuple<>())),tuple<int,int,char>>);
constexpr auto c=tuple_cat(make_tuple(1),make_pair(2,'c'),tuple<>());
static_assert(get<1>(c)==2 && get<2>(c)=='c');
constexpr int f(){ auto [a,b]=make_pair(3,4); auto [x,y,z]=make_tuple(1,2,3); return a*b+x+y+z; }
static_assert(f()==18);
static_assert(apply([](int a,double b){return a+b;},t)==3.5);
pair p{1,2.f}; static_assert(is_same_v<decltype(p),pair<int,float>>);
tuple q{1,2.f}; static_assert(is_same_v<decltype(q),tuple<int,float>>);
pair<const int,float> pc(1,2.f); 
void g(){ int a; float b; tie(a,b)=make_pair(1,2.f); tie(a,ignore)=make_tuple(1,2.f); tuple<int,float> u; u=q; swap(u,q); bool l=u<q; pair<int,float> e; e=p; tuple<int&,float> rr(a,b); tuple<pair<int,int>> tp(make_pair(1,2)); tuple<tuple<int>> tt(make_tuple(1)); tuple<> z; auto w=pair<int*,int>{};}
__device__ pair<int,float> dv(int i){ return {i,2.f}; }
__global__ void k(int*o, tuple<int,char> a, pair<int,int> b){ auto [x,y]=dv(3); int m; tie(m,ignore)=make_tuple(4,5); o[0]=x+y+m+get<1>(a)+b.second; o[1]=apply([](auto... v){return (v+...);},make_tuple(1,2,3)); pair<int,int> s(piecewise_construct,make_tuple(1),make_tuple(2)); o[2]=s.first;}
static_assert(index_sequence_for<int,int,int>::size()==3);
static_assert(is_same_v<tuple_element_t<0,const pair<int,int>>,const int>);
