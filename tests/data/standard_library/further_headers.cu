#include <random>
#include <any>
#include <future>
#include <typeindex>
#include <ciso646>
#include <version>
#include <cfenv>
#include <execution>
#include <bitset>
#include <locale>
#include <source_location>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <atomic>
#include <iostream>
#include <unordered_map>
#include <cfloat>
#include <cwchar>
#include <csetjmp>
using namespace std;
template<class T> __global__ void kk(T*p){ }
static_assert(bitset<8>(5).count()==2 && (bitset<8>(5)<<1).to_ulong()==10);
static_assert(is_same_v<mt19937::result_type,unsigned long> && mt19937::max()==4294967295u);
void f(){ random_device rd; mt19937 gen(rd()); mt19937 g2{42}; uniform_real_distribution<float> d(0.f,1.f); auto x=d(gen); static_assert(is_same_v<decltype(x),float>); normal_distribution<> n{0,1}; auto y=n(gen); static_assert(is_same_v<decltype(y),double>); uniform_int_distribution<> ui(0,5); int i=ui(g2); default_random_engine e(3); vector<int> v; shuffle(v.begin(),v.end(),gen); gen.seed(3); auto dice=bind(ui,gen); dice(); bernoulli_distribution b(0.5); if(b(gen)) i=1;
 std::any a = 3; a = string("x"); int z=any_cast<int>(a); auto fu = async(launch::async, [](auto q){ kk<<<1,1>>>(&q); return 2.f; }, 3); auto r = fu.get(); static_assert(is_same_v<decltype(r),float>); promise<int> p; p.set_value(3); auto pf=p.get_future(); pf.wait(); packaged_task<int(int)> pt([](int x){return x;}); unordered_map<type_index,int> ti; ti[typeid(int)]=3; fesetround(FE_TONEAREST); sort(execution::par, v.begin(), v.end()); for_each(execution::par_unseq, v.begin(), v.end(), [](int& q){}); transform_reduce(execution::par, v.begin(), v.end(), 0, plus<>(), [](int a){return a;}); bitset<16> bs; bs[3]=1; bs.set(2); cout << bs; from_chars("a","b",i); namespace fs = std::filesystem; fs::path pa = "a"; pa = pa / "b" / string("c"); if (fs::exists(pa) && pa.extension()==".bin") for (auto& en : fs::directory_iterator(pa)) cout << en.path().string() << en.path(); ifstream in(pa); string ps = pa.string(); fs::create_directories("x"); cout << pa;
 atomic<int> at{0}; at++; at.fetch_add(1); at = 3; int q = at; static_assert(sizeof(at)==4); atomic<bool> ab(false); ab.store(true, memory_order_release); atomic<float*> ap; ap.load(); atomic_flag fl = ATOMIC_FLAG_INIT; fl.test_and_set(memory_order_acquire); static atomic<size_t> cnt(0); if (cnt.load() > 1) cnt += 2; atomic_int64_t ai; (void)q;(void)z;(void)y;
}
__global__ void k(int*o){ bitset<64> b(o[0]); b.set(3); o[1]=b.count(); }
