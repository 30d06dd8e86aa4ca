#include <type_traits>
#include <limits>
#include <algorithm>
#include <utility>
#include <tuple>
#include <array>
#include <functional>
#include <numeric>
#include <bit>
#include <complex>
#include <optional>
#include <variant>
#include <span>
#include <chrono>
#include <ratio>
#include <atomic>
#include <initializer_list>
#include <iterator>
#include <concepts>
#include <ranges>
#include <new>
#include <numbers>
#include <cmath>
#include <cstdlib>
template<class T> using lim = std::numeric_limits<T>;
static_assert(std::is_same_v<std::remove_reference_t<int&>,int> && std::is_floating_point<float>::value && lim<float>::max()>3e38f && lim<int>::min()<0 && lim<float>::infinity()>lim<float>::max(),"");
template<class T, std::enable_if_t<std::is_integral_v<T>,int> =0> __device__ T twice(T t){return t*2;}
__host__ __device__ constexpr int total(std::initializer_list<int> l){int s=0; for(auto i:l) s+=i; return s;}
static_assert(total({1,2,3})==6 && std::numbers::pi>3.14 && std::numbers::pi_v<float> > 3.14f,"");
struct V{float x; __device__ V(float x):x(x){}};
template<int... I> struct seq{}; 
template<size_t... I> __device__ int sumseq(std::index_sequence<I...>){ return ((int)I+...+0);}
__global__ void k(float*x,int n,std::complex<float>*z,std::complex<double>*w){
 std::array<float,4> a{1,2,3,4}; auto t=std::make_tuple(1,2.0f); std::pair<int,float> p{1,2.f}; std::optional<int> o=3; std::variant<int,float> v=1.f; 
 auto [u,f]=t; auto [q,r]=p;
 x[0]=std::max(a[0],x[1])+std::min<float>(1,x[2])+std::clamp(n,0,5)+std::accumulate(a.begin(),a.end(),0.f)+u+f+q+r+*o+std::get<float>(v)+std::get<1>(t)+std::plus<int>{}(n,2)+std::gcd(n,6)+std::tuple_size<decltype(t)>::value+std::tuple_size_v<decltype(a)>;
 std::swap(x[3],x[4]); int i=std::exchange(n,3); int j=std::move(i); x[5]=twice(j)+sumseq(std::make_index_sequence<4>{})+std::popcount(7u)+std::countl_zero(8u)+std::bit_cast<float>(n);
 z[0]=std::exp(z[1])*std::sqrt(z[2])+std::pow(z[1],2.f)+std::conj(z[3])+std::polar(1.f,2.f)+z[4]*2.f; x[6]=std::abs(z[0])+std::norm(z[1])+z[0].real()+std::real(z[0])+std::arg(z[0]);
 w[0]=exp(w[1])+std::log(w[1]); z[6]=std::pow(z[1],z[2]);
 x[7]=std::sqrt(x[7])+std::exp(x[7])+std::abs(-1.5f)+std::abs(n)+std::pow(x[1],x[2])+std::pow(2,n)+std::abs(-2);
 std::span<float> s(x,4); for(auto& e:s) e+=1; std::fill(x,x+3,1.f); std::copy(x,x+3,x+4); std::move(x,x+3,x+8); std::transform(x,x+3,x,[](float e){return e*2;});
 new(x) V(3.f); auto it=std::lower_bound(x,x+8,2.f); x[9]=std::distance(x,it)+std::begin(a)[0]+(std::is_same<int,int>{}?1:0);
 std::atomic<int>*at=reinterpret_cast<std::atomic<int>*>(x+12); at->fetch_add(1,std::memory_order_relaxed);
 std::chrono::duration<float,std::milli> ms(3.f); x[10]=std::chrono::duration_cast<std::chrono::seconds>(std::chrono::milliseconds(5000)).count()+ms.count();
}
namespace user { using namespace std;
 __global__ void k(float*x,int n,complex<float>*z){ x[0]=sqrt(x[1])+abs(x[2])+max(x[1],x[2])+min(n,3)+pow(x[1],2)+isnan(x[3])+sqrt(n)+abs(n)+exp(x[1]); z[0]=exp(z[1])+sqrt(z[2])+pow(z[1],z[2]); x[4]=abs(z[3]); swap(x[0],x[1]); array<int,2> q{1,2}; x[5]=get<1>(q)+fmax(x[1],2.0); int64_t big=q[0]; size_t m=big; x[6]=m; }
}
