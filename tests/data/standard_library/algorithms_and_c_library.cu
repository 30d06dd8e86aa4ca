#include <algorithm>
#include <numeric>
#include <vector>
#include <string>
#include <map>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdint>
using namespace std;
static_assert(is_same_v<clock_t,long>);
template<class T> __global__ void kk(T*p){ }
constexpr int so(){ int a[]={5,2,8,1,9}; sort(a,a+5); int b[5]={}; copy(a,a+5,b); reverse(b,b+5); return b[0]*1000+a[0]*100+*lower_bound(a,a+5,5)*10+(int)count_if(a,a+5,[](int x){return x>2;}); }
#if __cplusplus>=202002L
static_assert(so()==9153);
constexpr int perm(){ int a[]={1,2,3}; int n=1; while(next_permutation(a,a+3)) ++n; int m=0; do ++m; while(prev_permutation(a,a+3)); return n*10+m; } static_assert(perm()/10==6);
constexpr int rot(){ int a[]={1,2,3,4,5}; rotate(a,a+2,a+5); stable_sort(a,a+5,greater<>()); nth_element(a,a+2,a+5); partition(a,a+5,[](int x){return x%2;}); return a[0]%2*10+is_sorted(a,a+1); } static_assert(rot()==11);
#endif
static_assert(std::max({1,5,3})==5 && std::min(2,1)==1 && clamp(5,1,3)==3 && gcd(12,18)==6 && lcm(4,6)==12);
void f(){ vector<float> v(10); auto s = accumulate(v.begin(), v.end(), 0.0); static_assert(is_same_v<decltype(s),double>); auto s1=accumulate(v.begin(),v.end(),0); static_assert(is_same_v<decltype(s1),int>); sort(v.begin(),v.end()); sort(v.begin(),v.end(),[](float a,float b){return a>b;}); for_each(v.begin(),v.end(),[](auto x){ kk<<<1,1>>>(&x); }); transform(v.begin(),v.end(),v.begin(),[](float x){return x*2;}); iota(v.begin(),v.end(),0); generate(v.begin(),v.end(),rand); fill(v.begin(),v.end(),1.f); auto m = *max_element(v.begin(),v.end()); static_assert(is_same_v<decltype(m),float>); auto it = find(v.begin(),v.end(),2.f); auto c = count(v.begin(),v.end(),2); static_assert(is_same_v<decltype(c),ptrdiff_t>); v.erase(remove_if(v.begin(),v.end(),[](float x){return x>0;}),v.end()); string q="abc"; transform(q.begin(),q.end(),q.begin(),::tolower); auto mm = max(1,2); unique(v.begin(),v.end()); copy(v.begin(),v.end(),back_inserter(v)); auto r = reduce(v.begin(),v.end()); static_assert(is_same_v<decltype(r),float>); auto ip=inner_product(v.begin(),v.end(),v.begin(),0.f); lower_bound(v.begin(),v.end(),1.f); auto [mn,mx]=minmax_element(v.begin(),v.end()); all_of(v.begin(),v.end(),[](float){return true;}); map<int,int> mp; auto e = max_element(mp.begin(),mp.end(),[](const auto&a,const auto&b){return a.second<b.second;});  const vector<int> cv{1}; accumulate(cv.begin(),cv.end(),1,multiplies<int>()); std::copy_n(v.data(),3,v.begin()); equal(v.begin(),v.end(),v.begin()); std::move(v.begin(),v.end(),v.begin()); partial_sum(v.begin(),v.end(),v.begin());
 FILE* fp = fopen("a","r"); if(!fp){ fprintf(stderr,"x %s\n",strerror(errno)); exit(EXIT_FAILURE);} fread(v.data(),4,1,fp); fclose(fp); char b[9]; snprintf(b,9,"%d",atoi("3")); srand(time(NULL)); double t=(double)clock()/CLOCKS_PER_SEC; memcpy(b,b,3); if(strcmp(b,"a")==0 && strstr(b,"c")) abort(); auto p = strchr("abc",'b'); static_assert(is_same_v<decltype(p),const char*>); std::qsort(b,9,1,[](const void*,const void*){return 0;}); signal(SIGINT,[](int){}); int* z=(int*)calloc(3,4); z=(int*)realloc(z,4); free(z); std::abs(3); getenv("A"); isdigit('a'); struct tm* l=localtime(nullptr); std::exit(0); (void)t;(void)l;
}
__global__ void k(int*o){ int a[4]={3,1,2,4}; sort(a,a+4); o[0]=a[0]+accumulate(a,a+4,0)+*max_element(a,a+4)+max(o[1],2)+min(o[1],5); std::swap(o[1],o[2]); memcpy(o,a,8); printf("x %d\n",o[0]); fill(a,a+4,2); o[3]=count(a,a+4,2); }
