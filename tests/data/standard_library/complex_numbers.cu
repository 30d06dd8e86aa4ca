#include <complex>
#include <vector>
#include <iostream>
using namespace std;
template<class T> __global__ void kk(T*p){ p[0]=p[1]*p[2]+conj(p[3]); }
static_assert(sizeof(complex<float>)==8 && is_trivially_copyable_v<complex<double>>);
void f(){ vector<complex<float>> v(3); v[0]=complex<float>(1,2); v[1]=2.f*v[0]; v[2]=v[0]/v[1]; auto a=abs(v[0]); static_assert(is_same_v<decltype(a),float>); cout<<v[0]; kk<<<1,1>>>(v.data()); complex<double> d=v[0]; d=exp(d)*sqrt(d)+pow(d,2)+1.0; d+=v[0]; using namespace complex_literals; d=3.0i; auto n=norm(v[0]); auto s=std::sqrt(2.0)+std::abs(-1)+std::pow(2.f,3); static_assert(is_same_v<decltype(std::abs(-1)),int>); polar(1.f,2.f); bool b = d==1.0; (void)b;(void)n;(void)s; real(d); arg(d); std::real(3.0); v[0]*=v[1]; complex<float> z; z.real(3); z={1,2}; }
__global__ void k(complex<float>*p){ p[0]+=p[1]*2.f; p[2]=abs(p[1]); }
