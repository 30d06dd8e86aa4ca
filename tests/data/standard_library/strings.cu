#include <string>
#include <vector>
using namespace std;
static_assert(string_view("abc").find("c")==2 && "ab"sv.size()==2 && string_view("a")<"b");
string g="hello"; std::string kk[]={"a","b"};
string f(int n, const char* p){
 string s = "a"; s += 'c'; s += "x"; s = s + "y" + to_string(n) + 'c'; auto t = "q" + s; static_assert(is_same_v<decltype(t),string>);
 if (s == "abc" || "abc" != s || s < t) s.append(3,'c'); string u(p); string v(10,' '); string w(s.begin(), s.end()); s.substr(1).c_str();
 for (char& c : s) c = 1; size_t i = s.find('c'); if (i == string::npos) s.erase(i); string_view sv = s; string x(sv); s.insert(0,"a"); vector<string> vs{"a","b"}; vs.push_back("c"); string y{"abc"}; string z = {}; s.replace(0,1,"b"); s = sv; bool b = sv == s; b = s == sv; (void)b; string e = u"x"? "a":"b"; s.compare(0,2,"ab"); s.resize(3); stoi(s); s[0]='a'; s.front(); static_assert(sizeof(string)==32); if (s.rfind("a",0)==0) s.data()[0]='c'; s.compare(t);
 return "x" + std::string(p) + s; }
__global__ void k(){}
