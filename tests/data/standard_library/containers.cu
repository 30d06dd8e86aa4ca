#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <list>
#include <memory>
#include <vector>
#include <deque>
#include <queue>
#include <stack>
#include <array>
#include <string>
#include <forward_list>
using namespace std;
constexpr array<int,3> a3{{1,2,3}}; static_assert(a3[1]==2 && a3.size()==3 && get<2>(a3)==3 && a3==array<int,3>{1,2,3}); array ad{1,2}; static_assert(is_same_v<decltype(ad),array<int,2>>);
struct Key{int a; bool operator==(const Key&)const; bool operator<(const Key&) const;}; namespace std { template<> struct hash<Key>{ size_t operator()(const Key&) const; }; }
void f(){
 map<string,int> m{{"a",1},{"b",2}}; m["c"]=3; m.insert({"d",4}); m.insert(make_pair("e",5)); m.emplace("f",6); for(auto& [k,v]: m) v=k.size(); for (const auto& kv: m) (void)kv.second; auto it=m.find("a"); if(it!=m.end()) it->second=1; m.erase(it); m.count("a"); m.at("b"); map<int,string> n; n[1]="x"; auto r=n.insert({1,"a"}); if(r.second) r.first->second="b"; auto [i,ok]=n.emplace(2,"b"); n.try_emplace(3,"c"); n.insert_or_assign(4,"q"); static_assert(sizeof(m)==48);
 unordered_map<Key,vector<float>> um; um[Key{1}].push_back(2.f); for(auto& kv: um) kv.second.clear(); um.reserve(3); static_assert(sizeof(um)==56); unordered_map<string,unique_ptr<int>> up; up.emplace("a",nullptr); up["b"]=nullptr;
 set<int> s{1,2,3}; s.insert(4); for(int x: s) (void)x; s.count(3); set<int> s2(s.begin(),s.end()); unordered_set<string> us; us.insert("a"); if(us.find("b")==us.end()) us.erase("a"); multimap<int,int> mm; mm.insert({1,2}); auto er=mm.equal_range(1); for(auto i=er.first;i!=er.second;++i) (void)i->first;
 list<int> l{1,2}; l.push_back(3); l.sort(); l.sort([](int a,int b){return a<b;}); l.remove_if([](auto x){return x>1;}); deque<float> d; d.push_front(1); d[0]=2; for(auto x: d) (void)x; queue<pair<int,int>> q; q.push({1,2}); q.emplace(3,4); q.front().first; q.pop(); stack<int> st; st.push(1); st.top(); priority_queue<int,vector<int>,greater<int>> pq; pq.push(1); pq.top(); bool e = m==m && s<s; (void)e; map<pair<int,int>,int,less<>> ml; forward_list<int> fl; fl.push_front(2); const map<string,int>& cm=m; auto ci=cm.begin(); ci->second; cm.at("a"); map<string,map<int,Key>> nested; nested["a"][1].a=2; static_assert(sizeof(d)==80 && sizeof(l)==24); swap(m,m); map<int,float> mf = {{1,2.f},{3,4}}; static_assert(is_same_v<decltype(mf.begin()->second),float>);
}
__global__ void k(int*o, array<float,4> v){ array<int,3> w{3,4,5}; for(auto x: w) o[0]+=x; auto [x,y,z]=w; o[1]=x+y*z+v.size(); o[2]=v[1]; w.fill(2); o[3]=w.back(); }
