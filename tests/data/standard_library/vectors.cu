#include <vector>
#include <concepts>
using namespace std;
template<class T> __global__ void kk(T*p, size_t n){ p[0]=n; }
template<class T> struct Big { T t; virtual void run(){ kk<<<1,1>>>((T*)nullptr,1); } Big(){} };
void f(){
 vector<float> v(10); vector w{1,2,3}; vector<bool> b(5,true); vector<vector<int>> vv; vv.push_back({1,2}); vv.emplace_back(3,4);
 static_assert(is_same_v<decltype(w),vector<int>>); auto n=v.size(); static_assert(is_same_v<decltype(n),size_t>);
 for(auto& x: v) x=1; for(auto x: b) { (void)x; } v.insert(v.end(), w.begin(), w.end()); v.erase(v.begin());
 kk<<<1,1>>>(v.data(), v.size()); vector<int> c(w.begin(), w.end()); vector z(v.begin(), v.end()); static_assert(is_same_v<decltype(z),vector<float>>); bool e = v==z; v=z; std::swap(v,z); vector<int> q={1,2}; q.assign(3,4); q.assign(w.begin(),w.end()); vector<int> r = {}; (void)e;
 static_assert(sizeof(v)==24 && sizeof(b)==40); v.at(0)=v.front(); sizeof(decltype(v.rbegin()));
 vector<Big<double>> bb(3);
}
__global__ void k(){}
