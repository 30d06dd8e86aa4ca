#include <optional>
#include <vector>
#include <string>
using namespace std;
constexpr optional<int> c{3}; static_assert(*c==3 && c==3 && c!=nullopt && c.value()==3 && c.value_or(2)==3);
static_assert(is_trivially_copyable_v<optional<int>> && !is_trivially_copyable_v<optional<string>>);
static_assert(sizeof(optional<int>)==8 && sizeof(optional<double>)==16);
struct NC { NC(NC&&)=default; NC(const NC&)=delete; };
static_assert(!is_copy_constructible_v<optional<NC>> && is_move_constructible_v<optional<NC>>);
optional<vector<int>> g(optional<string> s = nullopt, optional<double> d = {}) { if (s) return vector<int>{1}; if (s == "abc" || d.has_value()) return {}; s = "x"; s = nullopt; s.emplace("a"); auto o = make_optional(3); static_assert(is_same_v<decltype(o),optional<int>>); o = 4; optional<long> l = o; l=o; optional q=2.f; optional<const char*> cc; s=string(s.value()); return nullopt; }
void h(){ g("abc", 2); g(string("a")); optional<int> a,b; a=b; if (a<b) swap(a,b); a.reset(); string s = *optional<string>("a"); }
__device__ optional<int> find(int x){ if(x>2) return x; return nullopt; }
__global__ void k(int*o){ o[0]=find(o[1]).value_or(-1); if (auto f = find(3)) o[2]=*f; optional<float> z; z=2.f; o[3]=z.value(); }
