#include <memory>
#include <functional>
#include <stdexcept>
#include <vector>
#include <string>
using namespace std;
template<class T> __global__ void kk(T*p){ }
struct Base{ virtual ~Base(){} virtual void go()=0; };
template<class T> struct D : Base { D(int){} void go() override { kk<T><<<1,1>>>(nullptr); } };
struct Del{ void operator()(float*p) const {} };
int add(int a,float b){return a;}
struct W{ int m(int x){return x;} int f; };
void f(){
 unique_ptr<Base> p = make_unique<D<int>>(3); p->go(); shared_ptr<Base> s = make_shared<D<char>>(1); s=make_shared<D<long>>(2); unique_ptr<float,Del> q(nullptr); unique_ptr<float[]> a(new float[3]); a[0]=1; auto b=make_unique<float[]>(4); static_assert(is_same_v<decltype(b.get()),float*>); static_assert(sizeof(p)==8 && sizeof(q)==8&&sizeof(s)==16);
 if(p) p.reset(); if (s!=nullptr && p==nullptr) {} weak_ptr<Base> w=s; auto l=w.lock(); vector<unique_ptr<Base>> v; v.push_back(std::move(p)); v.emplace_back(new D<short>(1));
 auto del=[](float*x){}; unique_ptr<float,decltype(del)> z(nullptr,del); unique_ptr<float, void(*)(float*)> y(nullptr, [](float*){}); shared_ptr<float> sf((float*)nullptr,[](float*){}); static_assert(sizeof(y)==16); shared_ptr<void> sv((void*)nullptr,[](void*p){});
 function<int(int,float)> fn = add; fn = [](int a, float b){ return a; }; function<void(int)> g=[](auto x){ kk<decltype(x)><<<1,1>>>(nullptr); }; g(1); if(fn) fn(1,2.f); function<int(W*,int)> mf=&W::m; auto bd=bind(add,placeholders::_1,2.f); static_assert(is_same_v<decltype(bd(1)),int>); W o; auto bm=bind(&W::m,&o,placeholders::_1); bm(2); invoke(&W::f,o); function h=[](int a){return 1.0;}; static_assert(is_same_v<decltype(h),function<double(int)>>); static_assert(sizeof(h)==32); function<function<int(int)>(int)> ff = [](int x){ return [](int y){return y;};};
 try { throw runtime_error("a"+string("b")); } catch (const exception& e) { auto wh=e.what(); } catch (...) { throw; } throw std::invalid_argument("x"); shared_ptr<const Base> cs=s; auto dp=dynamic_pointer_cast<Base>(s); auto fnn=function<bool(const string&)>([](const string& s){return s.empty();}); vector<function<void()>> jobs; jobs.push_back([]{}); jobs.emplace_back([]{ kk<double><<<1,1>>>(nullptr); }); void (*fp)(int)=nullptr; function<void(int)> e(fp); reference_wrapper<int> rw=ref(*new int(3)); int x=rw; nothrow;
}
struct Sh: enable_shared_from_this<Sh> { shared_ptr<Sh> g(){ return shared_from_this(); } };
__global__ void k(int* o){ o[0]=plus<int>()(1,2)+less<>()(3,4); auto n=not_fn([](int a){return a>0;}); o[1]=n(3); o[2]=invoke([](int a){return a*2;},o[3]);}
